"""Scores by hand-made rows, and of a suite that was really run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import LedgerFault
from kernellab.suite.conduct import SuiteOutcome
from kernellab.suite.rows import TaskScore
from kernellab.suite.score import geomean, score, score_suite


def row(outcome: str = "better", speedup: float | None = 2.0, low: float = 1.6, **facts: object) -> TaskScore:
    high = None if speedup is None else speedup * 1.2
    return TaskScore(
        task="t", operators="norm", is_a="ok", outcome=outcome, reason="", speedup=speedup,
        speedup_low=low if speedup is not None else None, speedup_high=high, **facts,  # type: ignore[arg-type]
    )  # fmt: skip


def test_fast_p_goes_by_the_lower_end_and_by_wins_alone() -> None:
    rows = [row(low=2.01), row(low=1.99), row(low=1.5), row("nothing-better", low=3.0), row("no-candidates", None)]
    found = score("all", rows)
    assert found.fast == {"fast_1": 3, "fast_1.5": 2, "fast_2": 1}
    assert (found.tasks, found.verified) == (5, 4)


def test_what_has_no_win_counts_as_one_in_the_mean() -> None:
    rows = [row(speedup=4.0), row("nothing-better", 0.25), row("nothing-verified", None), row("busy", 9.0)]
    assert score("all", rows).geomean.value == pytest.approx(4 ** (1 / 4))


def test_the_interval_of_the_mean_is_the_same_every_time_and_shrinks_with_more_tasks() -> None:
    few, many = geomean([1.0, 2.0, 4.0]), geomean([1.0, 2.0, 4.0] * 30)
    assert geomean([1.0, 2.0, 4.0]) == few
    assert few.value == pytest.approx(2.0)
    assert few.low <= 1.26 < 2.0 < 3.1 <= few.high
    assert many.high - many.low < 0.5 * (few.high - few.low)
    assert geomean([]).value == 1.0


def test_eager_and_ceiling_are_counted_where_they_are_known() -> None:
    found = score("all", [row(over_eager=1.2, of_ceiling=0.95), row(over_eager=0.9, of_ceiling=0.94), row()])
    assert (found.over_eager, found.at_ceiling) == (1, 1)


def test_a_real_suite_has_its_figures_from_the_runs(ran: SuiteOutcome) -> None:
    found = score_suite(ran.folder)
    assert [r.task for r in found.rows] == ["1_scaled", "2_sorted", "4_missing", "6_again"]
    scaled, ordered = found.row("1_scaled"), found.row("2_sorted")
    assert scaled is not None
    assert ordered is not None
    assert scaled.verified == (scaled.outcome != "busy" or scaled.speedup is not None)
    assert (ordered.verified, ordered.baseline, ordered.ran) == (False, "torch", True)
    assert ordered.of_ceiling is not None
    assert (found.whole.tasks, [g.name for g in found.groups]) == (2, ["pointwise", "sort"])
    assert found.ended
    if scaled.speedup_low is not None:  # eager torch is the only baseline here
        assert scaled.over_eager == pytest.approx(scaled.speedup_low)


def test_no_figure_of_a_changed_suite(copied: Path) -> None:
    path = copied / "runs" / "1_scaled" / "heads.jsonl"
    path.write_bytes(path.read_bytes()[:-3])
    path = copied / "runs" / "2_sorted" / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"fastest":"torch"', b'"fastest":"tortch"'))
    with pytest.raises(LedgerFault, match="does not pass its audit"):
        score_suite(copied)
