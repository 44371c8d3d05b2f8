"""Forward and backward scored together: by hand-made rows, and in a suite that is really run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.suite.conftest import SETTINGS
from tests.unit.suite.problems import write

from kernellab.suite.audit import audit_suite
from kernellab.suite.conduct import SuiteRequest, resume_suite, run_suite
from kernellab.suite.pairs import pair_score
from kernellab.suite.rows import TaskScore
from kernellab.suite.score import score, score_suite
from kernellab.suite.tables import SCORE_HEAD, TASK_HEAD, as_csv, page, score_rows, summary, task_rows
from kernellab.tasks.suites.finding import find_suite
from kernellab.tasks.suites.pairs import with_backward


def row(
    name: str, seconds: float | None, outcome: str = "better", ends: tuple[float, ...] = (), **facts: object
) -> TaskScore:
    low, middle, high = ends or (None, None, None)
    return TaskScore(
        task=name, operators="norm", is_a="ok", outcome=outcome, reason="", shape="64x32", baseline="torch", speedup=middle,
        speedup_low=low, speedup_high=high, baseline_s=seconds, **facts,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_pair_is_the_sum_of_both_times_and_its_ends_are_those_of_both_together() -> None:
    found = pair_score(row("f", 1.0, ends=(1.5, 2.0, 2.5)), row("b", 3.0, ends=(1.0, 1.5, 2.0)))
    assert found.baseline_s == 4.0
    assert found.kernel_s == pytest.approx(1.0 / 2.0 + 3.0 / 1.5)
    assert found.speedup == pytest.approx(4.0 / 2.5)
    assert found.speedup_low == pytest.approx(4.0 / (1.0 / 1.5 + 3.0 / 1.0))
    assert found.speedup_high == pytest.approx(4.0 / (1.0 / 2.5 + 3.0 / 2.0))
    assert found.faster_than(1.0)
    assert not found.faster_than(1.5)


def test_a_direction_without_a_win_goes_on_with_its_baseline() -> None:
    slower = row("b", 3.0, "nothing-better", ends=(0.2, 0.3, 0.4))
    found = pair_score(row("f", 1.0, ends=(1.5, 2.0, 2.5)), slower)
    assert found.speedup == pytest.approx(4.0 / 3.5)
    assert found.counted == found.speedup
    neither = pair_score(row("f", 1.0, "busy", ends=(5.0, 6.0, 7.0)), slower)
    assert (neither.speedup, neither.won, neither.counted) == (1.0, False, 1.0)
    assert not neither.faster_than(0.5)


def test_eager_and_ceiling_are_of_both_directions_or_not_said() -> None:
    known = {"eager_s": 2.0, "floor_s": 0.5}
    found = pair_score(row("f", 1.0, "no-candidates", **known), row("b", 3.0, "no-candidates", **known))
    assert found.over_eager == pytest.approx(4.0 / 4.0)
    assert found.of_ceiling == pytest.approx(1.0 / 4.0)
    half = pair_score(row("f", 1.0, "no-candidates", **known), row("b", 3.0, "no-candidates"))
    assert (half.over_eager, half.of_ceiling) == (None, None)


def test_what_is_not_of_the_same_thing_has_a_reason_and_no_figure() -> None:
    forward = row("f", 1.0, ends=(1.5, 2.0, 2.5))
    refused = pair_score(forward, row("b", None, "refused"))
    assert (refused.speedup, refused.reason) == (None, "b is refused")
    other = TaskScore("b", "norm", "ok", "better", "", shape="65x32", baseline_s=1.0)
    assert pair_score(forward, other).reason == "timed at different shapes: 64x32 and 65x32"
    assert score("forward+backward", [p for p in (refused,) if not p.reason]).tasks == 0


@pytest.mark.heavy
def test_a_suite_with_pairs_times_both_at_one_shape_and_reports_them(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    problems = write(tmp_path / "tiny", "1_scaled")
    folder = tmp_path / "ran"
    suite = with_backward(find_suite(path=str(problems)))
    asked = SuiteRequest(SETTINGS, pairs=True)
    outcome = run_suite(suite, asked, folder)
    assert [t.task for t in outcome.tasks] == ["1_scaled", "1_scaled-backward"]
    assert {t.outcome for t in outcome.tasks} <= {"better", "nothing-better", "busy"}  # kernels are generated for both
    assert audit_suite(folder).ok
    found = score_suite(folder)
    (pair,) = found.pairs
    forward, backward = found.row("1_scaled"), found.row("1_scaled-backward")
    assert forward is not None
    assert backward is not None
    assert pair.reason == ""
    assert pair.shape == forward.shape == backward.shape
    assert forward.baseline_s is not None
    assert backward.baseline_s is not None
    assert pair.baseline_s == pytest.approx(forward.baseline_s + backward.baseline_s)
    gains = [r.speedup if r.outcome == "better" and r.speedup else 1.0 for r in (forward, backward)]
    seconds = forward.baseline_s / gains[0] + backward.baseline_s / gains[1]
    assert pair.speedup == pytest.approx(pair.baseline_s / seconds)
    assert "1_scaled + backward,pointwise,pair," in as_csv(TASK_HEAD, task_rows(found))
    assert score_rows(found)[-1][:2] == ["forward+backward", "1"]
    assert len(score_rows(found)[-1]) == len(SCORE_HEAD)
    assert "1_scaled + backward" in page("a page", found)
    assert any(line.startswith("pair:") for line in summary(found))
    assert resume_suite(folder).root == outcome.root, "the same tasks are found again"
