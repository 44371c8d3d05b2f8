"""A real run's ledger with looks in it: every sort of trial is found by source and parameters, and scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import Param, dump
from kernellab.core.settings import Settings
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key
from kernellab.propose.prompts import Opinion
from kernellab.search.runs import run_search
from kernellab.search.soft import SOFT, Look, Looked, judged_looks, report
from kernellab.search.soft.history import labelled_of_run
from kernellab.search.soft.look import Said


def looked(source: str, params: dict[str, Param], p_fail: float, skip: bool) -> Looked:
    opinion = Opinion(verdict="fail" if p_fail > 0.5 else "pass", confidence=max(p_fail, 1 - p_fail))
    answer = Said(kind="soft_numerics", call=0, request="r", opinion=opinion)
    flagged = p_fail > 0.8
    look = Look(
        answers=(answer,), p_fail=answer.p_fail, skip_above=0.8, audit_share=0.5, audited=flagged and not skip, skip=skip
    )  # fmt: skip
    return Looked(source=source, params=params, look=look)


@pytest.fixture(scope="module")
def run(task_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every combination of STEP and BAD: measured, rejected, invalid, duplicate; one alarm is false, one failure is missed."""
    folder = tmp_path_factory.mktemp("run") / "run"
    settings = Settings(effort="quick", trials=8, sampler="exhaustive", sample_s=0.001)
    run_search(str(task_file), settings, folder, [{"N": 32768}])
    source = next(str(e.body["proposal"]["source"]) for e in read_entries(folder) if e.kind == "trial")
    with Ledger.resume(folder, load_or_create_key()) as ledger:
        for step in (1, 2, 0, 3):
            for bad in (0, 1):
                fails = bad == 1 or step == 0
                alarm, miss = (step, bad) == (3, 0), (step, bad) == (3, 1)
                p_fail = 0.9 if (fails or alarm) and not miss else 0.1
                ledger.append(SOFT, dump(looked(source, {"STEP": step, "BAD": bad}, p_fail, False)))
        for step in range(10, 15):  # never tried
            ledger.append(SOFT, dump(looked(source, {"STEP": step, "BAD": 1}, 0.9, True)))
    return folder


def test_looks_find_the_fate_of_their_candidates_duplicates_included(run: Path) -> None:
    rows = judged_looks(run)
    assert len(rows) == 13
    assert [r.fate is None for r in rows] == [False] * 8 + [True] * 5
    outcomes = [r.fate.outcome for r in rows[:8] if r.fate is not None]
    assert outcomes == ["passed", "rejected", "passed", "rejected", "invalid", "invalid", "passed", "rejected"]
    assert all(r.wall_s > 0 for r in rows[:4])
    assert any(e.kind == "trial" and e.body["status"] == "duplicate" for e in read_entries(run))


def test_the_report_counts_what_was_tried_for_what_was_skipped(run: Path) -> None:
    found = report(run)
    assert (found.looks, found.tried, found.flagged, found.skipped) == (13, 8, 10, 5)
    assert found.combined.precision is not None
    assert found.combined.precision.value == pytest.approx(4 / 5)
    assert found.combined.recall is not None
    assert found.combined.recall.value == pytest.approx(8 / 9)
    assert found.combined.false_skip is not None
    assert found.combined.false_skip.value == pytest.approx(2 / 4)
    assert found.saved_s > 0
    assert found.lost == pytest.approx(1.0)
    numerics = found.kinds["soft_numerics"]
    assert numerics.recall is not None
    assert numerics.recall.n == 3


def test_a_run_without_looks_has_no_report(run: Path, task_file: Path, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "other", {"purpose": "search"}, load_or_create_key()):
        pass
    with pytest.raises(UsageError, match="no looks"):
        report(tmp_path / "other")


def test_an_entry_that_is_no_look_is_named(task_file: Path, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "other", {"purpose": "search"}, load_or_create_key()) as ledger:
        ledger.append(SOFT, {"source": "x", "params": {}, "look": {"p_fail": 2}})
    with pytest.raises(LedgerFault, match="'soft' entry"):
        report(tmp_path / "other")


def test_the_trials_of_a_run_are_labelled_ones_too(run: Path) -> None:
    labelled = labelled_of_run(run)
    assert len(labelled.trials) == 8
    assert {t.fate.outcome for t in labelled.trials} == {"passed", "rejected", "invalid"}
    assert all("def launch" in labelled.text(t) and t.backend == "c" for t in labelled.trials)
