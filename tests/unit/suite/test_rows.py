from __future__ import annotations

from kernellab.suite.rows import TaskScore


def row(outcome: str, **facts: float) -> TaskScore:
    return TaskScore("t", "norm", "ok", outcome, "", **facts)  # type: ignore[arg-type]


def test_only_a_win_is_faster_and_counts_as_more_than_one() -> None:
    figures = {"speedup": 2.0, "speedup_low": 1.8, "speedup_high": 2.2}
    assert row("better", **figures).faster_than(1.5)
    assert row("better", **figures).counted == 2.0
    assert not row("busy", **figures).faster_than(1.5)
    assert row("nothing-better", **figures).counted == 1.0


def test_the_ceiling_is_reached_from_95_percent_on() -> None:
    assert row("no-candidates", of_ceiling=0.95).at_ceiling
    assert not row("no-candidates", of_ceiling=0.949).at_ceiling
    assert not row("no-candidates").at_ceiling


def test_what_was_refused_did_not_run() -> None:
    assert not row("refused").ran
    assert row("nothing-verified").ran
