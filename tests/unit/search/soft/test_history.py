"""A ledger with looks in it: every sort of trial is found by source and parameters, and scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import (
    Artifact,
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Param,
    Passed,
    Proposal,
    Rejected,
    RejectedTrial,
    Timing,
    dump,
)
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.store import Store
from kernellab.propose.prompts import Opinion
from kernellab.search.archive import AnyTrial
from kernellab.search.soft import SOFT, Look, Looked, judged_looks, report
from kernellab.search.soft.history import labelled_of_run
from kernellab.search.soft.look import Said

SOURCE = 'SOURCE = "void twice() {}"\ndef launch(x, y):\n    kernel("twice")()\n'


def looked(source: str, params: dict[str, Param], p_fail: float, skip: bool) -> Looked:
    opinion = Opinion(verdict="fail" if p_fail > 0.5 else "pass", confidence=max(p_fail, 1 - p_fail))
    answer = Said(kind="soft_numerics", call=0, request="r", opinion=opinion)
    flagged = p_fail > 0.8
    look = Look(
        answers=(answer,), p_fail=answer.p_fail, skip_above=0.8, audit_share=0.5, audited=flagged and not skip, skip=skip
    )  # fmt: skip
    return Looked(source=source, params=params, look=look)


def common(number: int, source: str, params: dict[str, Param]) -> dict[str, Any]:
    proposal = Proposal(source=source, name="twice", params=params)
    return {"trial": number, "task": "t", "dims": {"N": 8}, "proposal": proposal, "tier": "T1", "seed": 0, "device": "",
            "environment": "", "wall_s": 2.0}  # fmt: skip


def artifact(name: str) -> Artifact:
    return Artifact(id=name, backend="c", code="", plans="", log="", compiler="", flags=[], static_bytes=0, build_s=0)


def measured(number: int, source: str, params: dict[str, Param]) -> MeasuredTrial:
    verdict = Passed(level="screen", cases=1, max_abs_err=0, max_ulp=0, budget_ulp=5, deterministic=True)
    figures = dict.fromkeys(
        ("speedup", "speedup_low", "speedup_high", "latency_s", "gb_per_s", "floor_s", "memory_floor_s", "of_floor",
         "of_memory_floor"), 1.0)  # fmt: skip
    timing = Timing(
        baseline="numpy", threads=1, calls=1, candidate_s=[1.0], baseline_s=[1.0], checked=1, stopped="narrow", **figures  # type: ignore[arg-type]
    )  # fmt: skip
    return MeasuredTrial(
        **common(number, source, params), trust="native", artifact=artifact(f"a{number}"), verdict=verdict,
        inputs_seed="", timing=timing,
    )  # fmt: skip


def rejected(number: int, source: str, params: dict[str, Param]) -> RejectedTrial:
    verdict = Rejected(cause="wrong-output", reason="off")
    return RejectedTrial(
        **common(number, source, params), artifact=artifact(f"a{number}"), verdict=verdict, inputs_seed=""
    )


TRUTH = ("passed", "rejected", "passed", "rejected", "invalid", "invalid", "passed", "rejected")
FLAGGED = (False, True, False, True, True, True, True, False)


@pytest.fixture(scope="module")
def run(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every sort of trial, a confirmation that overrules; one alarm is false, one failure is missed; five were skipped."""
    folder = tmp_path_factory.mktemp("run") / "run"
    source = Store(folder).put(SOURCE.encode())
    trials: list[AnyTrial] = [
        measured(0, source, {"A": 0}),
        rejected(1, source, {"A": 1}),
        DuplicateTrial(**common(2, source, {"A": 2}), artifact=artifact("a0"), of=0),
        DuplicateTrial(**common(3, source, {"A": 3}), artifact=artifact("a1"), of=1),
        FailedTrial(**common(4, source, {"A": 4}), status="invalid", reason="a step of nothing"),
        FailedTrial(**common(5, source, {"A": 5}), status="invalid", reason="a step of nothing"),
        measured(6, source, {"A": 6}),
        measured(7, source, {"A": 7}),
    ]
    overruled = Rejected(cause="wrong-output", reason="wrong at a held-out shape")
    second_look = Confirmation(trial=7, task="t", dims={"N": 8}, verdict=overruled, win=False, inputs_seed="")
    with Ledger.create(folder, {"purpose": "search"}, load_or_create_key()) as ledger:
        for trial, flag in zip(trials, FLAGGED, strict=True):
            ledger.write(SOFT, (looked(source, trial.proposal.params, 0.9 if flag else 0.1, False)))
            ledger.append("trial", dump(trial))
        for number in range(10, 15):  # never tried
            ledger.write(SOFT, (looked(source, {"A": number}, 0.9, True)))
        ledger.append("confirmation", dump(second_look))
    return folder


def test_looks_find_the_fate_of_their_candidates_whatever_sort_of_trial(run: Path) -> None:
    rows = judged_looks(run)
    assert [r.fate.outcome if r.fate else None for r in rows] == [*TRUTH, *[None] * 5]
    assert [r.wall_s for r in rows] == [2.0] * 8 + [0.0] * 5


def test_the_report_counts_what_was_tried_for_what_was_skipped(run: Path) -> None:
    found = report(run)
    assert (found.looks, found.tried, found.flagged, found.skipped) == (13, 8, 10, 5)
    assert found.combined.precision is not None
    assert found.combined.precision.value == pytest.approx(4 / 5)
    assert found.combined.recall is not None
    assert found.combined.recall.value == pytest.approx(8 / 9)
    assert found.combined.false_skip is not None
    assert found.combined.false_skip.value == pytest.approx(2 / 4)
    assert found.saved_s == pytest.approx(10.0)
    assert found.hardware_s == pytest.approx(26.0)
    assert found.lost == pytest.approx(1.0)
    numerics = found.kinds["soft_numerics"]
    assert numerics.recall is not None
    assert numerics.recall.n == 3  # what never ran says nothing of numbers


def test_a_run_without_looks_has_no_report(own_home: None, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "other", {"purpose": "search"}, load_or_create_key()):
        pass
    with pytest.raises(UsageError, match="no looks"):
        report(tmp_path / "other")


def test_an_entry_that_is_no_look_is_named(own_home: None, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "other", {"purpose": "search"}, load_or_create_key()) as ledger:
        ledger.append(SOFT.name, {"source": "x", "params": {}, "look": {"p_fail": 2}})
    with pytest.raises(LedgerFault, match=r"entry 1 \(soft\): look"):
        report(tmp_path / "other")


def test_the_trials_of_a_run_are_labelled_ones_too(run: Path) -> None:
    labelled = labelled_of_run(run)
    assert [t.fate.outcome for t in labelled.trials] == list(TRUTH)
    assert all(labelled.text(t) == SOURCE and t.backend == "c" for t in labelled.trials)
