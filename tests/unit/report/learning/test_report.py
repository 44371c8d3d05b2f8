"""Stages and exams from real ledgers: every figure is the ledger's, and what fails its audit is not counted."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded import CUBES
from tests.support.resign import Bodies, resigned
from tests.support.rewards import JudgedRun, exam_of, judged_run, retold, trained, trained_on, untrained
from typer.testing import CliRunner

from kernellab.cli.learn import learn
from kernellab.core.errors import UsageError
from kernellab.learn.lm.model import weights_of
from kernellab.learn.lm.trained import parent_of
from kernellab.ledger.reward_records import REWARD
from kernellab.ledger.run import Run
from kernellab.report.learning.gathered import LearningReport, gather
from kernellab.report.learning.page import data, page

pytestmark = pytest.mark.backend_c


@pytest.fixture(scope="module")
def run(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> JudgedRun:
    return judged_run(tmp_path_factory)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stages")


@pytest.fixture(scope="module")
def stages(run: JudgedRun, place: Path) -> list[Path]:
    """The whole pipeline, as its folders record it; not in its order."""
    base = untrained(place / "base")
    taught = trained(place / "taught", base, "sft", lessons=12)
    rewards = [retold(run.folder, place / f"rewards-{n}", {f"new-{name}": run.ids[name] for name in names})
               for n, names in enumerate([("wrong", "honest", "cheat", "also"), ("squared",)])]  # fmt: skip
    one = trained_on(place / "one", taught, rewards[0])
    source = {"folder": "there", "root": "r00t", "replies": 3, "left_out": {"masked": 2}}
    distilled = trained(place / "distilled", taught, "distil", lessons=3, specialists=[{"ledgers": [source]}])
    whole = trained(place / "whole", distilled, parent=parent_of(distilled), rewards=str(rewards[1]),
                    rewards_run=Run(rewards[1]).first.run)  # fmt: skip
    return [whole, distilled, one, taught, base]


def _exam(run: JudgedRun, target: Path, names: Sequence[str], **exam: Any) -> Path:
    return retold(run.folder, target, {f"exam-{n}": run.ids[name] for n, name in enumerate(names)}, exam_of(**exam))


@pytest.fixture(scope="module")
def exams(run: JudgedRun, stages: list[Path], place: Path) -> list[Path]:
    """The base got one of two cubes right and no square; the last stage both."""
    before = _exam(run, place / "before", ["also", "wrong", "unbuilt", "unbuilt"], record="",
                   weights=weights_of(stages[-1]))  # fmt: skip
    after = _exam(run, place / "after", ["honest", "honest", "squared", "unbuilt"], record=parent_of(stages[0]))
    return [before, after]


@pytest.fixture(scope="module")
def report(stages: list[Path], exams: list[Path]) -> LearningReport:
    return gather([*exams, *stages])


def _rewards(run: JudgedRun) -> dict[str, float]:
    given = {record.sample: record.reward for record in Run(run.folder).records(REWARD)}
    return {name: given[sample] or 0.0 for name, sample in run.ids.items()}


@pytest.mark.heavy(of="learning report")
def test_stages_stand_in_their_order_with_what_was_judged(report: LearningReport, run: JudgedRun) -> None:
    assert [stage.kind for stage in report.stages] == ["base", "SFT", "specialist", "distilled", "generalist"]
    assert report.left_out == []
    judged = report.stages[2].judged
    assert judged is not None
    reward = _rewards(run)
    assert (judged.whole.samples, judged.whole.right, judged.whole.masked) == (4, 0.5, 0.0)
    assert judged.whole.reward == pytest.approx((reward["honest"] + reward["also"]) / 4)
    assert [share.reward for share in judged.curve] == [0.0, reward["honest"], 0.0, reward["also"]]
    assert judged.root == Run(report.stages[2].folder.parent / "rewards-0").root
    assert report.stages[1].losses == [(1, 4.0), (2, 3.0), (3, 2.0), (4, 1.0)]


@pytest.mark.heavy(of="learning report")
def test_an_exam_is_what_its_ledger_says_over_tasks(report: LearningReport, run: JudgedRun) -> None:
    before, after = report.exams
    reward = _rewards(run)
    assert before.result.reward is not None
    assert after.result.reward is not None
    assert (before.result.right.value, after.result.right.value) == (0.25, 0.75)
    assert before.result.reward.value == pytest.approx(reward["also"] / 4)
    assert after.result.reward.value == pytest.approx((reward["honest"] + reward["squared"] / 2) / 2)
    assert (before.result.tasks, before.result.places, before.masked) == (2, 2, 0.0)
    assert (before.result.right.low, before.result.right.high) == (0.0, 0.5)


@pytest.mark.heavy(of="learning report")
def test_exams_of_the_same_tasks_are_compared(report: LearningReport) -> None:
    (found,) = report.compared
    before, after = ([task.reward or 0.0 for task in exam.tasks.values()] for exam in report.exams)
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(statistics.fmean(after) / statistics.fmean(before))
    assert found.ratio.low == pytest.approx(after[0] / before[0]), "cubes alone are drawn one time in four"
    assert found.ratio.high == float("inf"), "squares alone, too: there the first got nothing"
    assert data(report)["compared"][0]["ratio"]["high"] is None
    assert found.remarks == ()


@pytest.mark.heavy(of="learning report")
def test_the_page_names_models_roots_and_figures(report: LearningReport, exams: list[Path], stages: list[Path]) -> None:
    text = page(report)
    for exam, model in zip(exams, (f"base {stages[-1]}", f"generalist {stages[0]}"), strict=True):
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {exam} ") and Run(exam).root in line]
        assert f"| {model} | 2 | 2 | 4 |" in row
    assert "| samples judged, up to | right | mean reward | masked |" in text
    assert "| step | 1 | 2 | 3 | 4 |\n| --- | --- | --- | --- | --- |\n| loss | 4 | 3 | 2 | 1 |" in text
    assert "| there | `r00t` | 3 | 2 masked |" in text
    assert "Not counted" not in text
    json.dumps(data(report), allow_nan=False)


def test_what_fails_its_audit_is_named_and_not_counted(
    run: JudgedRun, stages: list[Path], exams: list[Path], tmp_path: Path
) -> None:
    def richer(entries: Bodies) -> None:
        next(body for kind, body in entries if kind == "reward" and body["reward"])["reward"] = 99.0

    forged = resigned(exams[0], tmp_path / "forged", richer)
    paid = resigned(stages[2].parent / "rewards-0", tmp_path / "paid", richer)
    liar = trained_on(tmp_path / "liar", stages[-1], paid)
    found = gather([liar, forged, exams[1]])
    assert [(stage.kind, stage.judged) for stage in found.stages] == [("specialist", None)]
    assert [exam.folder for exam in found.exams] == [exams[1]]
    assert found.compared == []
    assert len(found.left_out) == 2
    assert all("does not pass the audit: " in why for why in found.left_out)
    assert f"- {found.left_out[0]}" in page(found)
    assert "| not counted |" in page(found)
    assert "99.0" not in json.dumps(data(found)["stages"])


def test_what_is_not_there_or_not_theirs_is_named(stages: list[Path], exams: list[Path], tmp_path: Path) -> None:
    lost = trained(tmp_path / "lost", stages[-1], rewards=str(tmp_path / "gone"), rewards_run="0")
    other = trained(tmp_path / "other", stages[-1], rewards=str(exams[0]), rewards_run="0")
    begun = untrained(tmp_path / "begun")
    (begun / "checkpoint-7").mkdir()
    (begun / "checkpoint-7" / "trainer_state.json").write_text("{}")
    found = gather([lost, other, begun, stages[2].parent / "rewards-1", CUBES])
    told = "\n".join(found.left_out)
    assert "gone, and not among what was given" in told
    assert "are not the rewards that it was trained on" in told
    assert "begun holds a training that was stopped at step 7" in told
    assert "rewards-1 holds no exam, and none of the models given was trained on it" in told
    assert "holds a run of another kind, no rewards" in told
    assert [stage.judged for stage in found.stages] == [None, None]


def test_a_record_that_does_not_say_what_was_taught_is_told(stages: list[Path], tmp_path: Path) -> None:
    odd = trained(tmp_path / "odd", stages[-1], "distil", specialists=[{"ledgers": "none"}])
    with pytest.raises(UsageError, match="odd does not say what it was taught"):
        page(gather([odd]))


def test_rewards_that_were_moved_are_found_among_what_is_given(stages: list[Path], tmp_path: Path) -> None:
    ledger = stages[2].parent / "rewards-0"
    moved = trained(tmp_path / "moved", stages[-1], rewards="gone", rewards_run=Run(ledger).first.run)
    found = gather([moved, ledger])
    assert found.stages[0].judged is not None
    assert found.left_out == []


def test_an_exam_of_other_tasks_or_draws_is_not_taken_for_the_same(
    run: JudgedRun, exams: list[Path], tmp_path: Path
) -> None:
    def one_task(entries: Bodies) -> None:
        plan = next(body for kind, body in entries if kind == "reward-plan")
        plan["tasks"] = plan["tasks"][:1]

    fewer = resigned(_exam(run, tmp_path / "cubes", ["honest"], record=""), tmp_path / "fewer", one_task)
    cold = _exam(run, tmp_path / "cold", ["wrong", "squared"], record="", temperature=0.0)
    nothing = _exam(run, tmp_path / "nothing", ["wrong"], record="", model="somebody")
    found = gather([nothing, cold, fewer, exams[0]])
    assert [one.second.folder for one in found.compared] == [cold, exams[0]]
    assert all(one.ratio is None and "there is no ratio" in one.remarks[0] for one in found.compared)
    assert "the replies were drawn in different ways" in found.compared[0].remarks
    assert "1 tasks have no reward in one of them" in found.compared[0].remarks
    assert "somebody (its folder is not among these)" in page(found)
    assert "| 1 | 1 | 1 | 0.000 | 0.000 |" in page(found), "one task has no interval"


@pytest.mark.parametrize(
    ("given", "words"),
    [("empty", "holds neither a model nor rewards"), ("absent", "holds neither a model nor rewards"),
     (str(CUBES), "there is nothing to report: .*no rewards")],
)  # fmt: skip
def test_what_is_nothing_to_tell_of_is_refused(given: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=words):
        gather([tmp_path / given])


@pytest.mark.heavy(of="learning report")
def test_the_command_prints_the_page_or_writes_it(report: LearningReport, exams: list[Path], tmp_path: Path) -> None:
    told = CliRunner().invoke(learn, ["report", *map(str, exams)], catch_exceptions=False)
    assert told.stdout == page(gather(exams))
    out = tmp_path / "page.md"
    written = CliRunner().invoke(learn, ["report", *map(str, exams), "--out", str(out)], catch_exceptions=False)
    assert written.stdout == f"wrote {out}: 0 stages, 2 exams, 0 not counted\n"
    assert out.read_text() == told.stdout
    with pytest.raises(UsageError, match="is no name for a page"):
        CliRunner().invoke(learn, ["report", str(exams[0]), "--out", "page.svg"], catch_exceptions=False)
