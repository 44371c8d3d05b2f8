from __future__ import annotations

from typing import Any

from kernellab.core.records import (
    Artifact,
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Passed,
    Proposal,
    Rejected,
    RejectedTrial,
    Timing,
    UntimedTrial,
)
from kernellab.search.archive import Archive
from kernellab.tasks.spec import Dims

SMALL, LARGE = {"M": 64, "N": 64}, {"M": 4096, "N": 4096}
PASSED = Passed(level="screen", cases=1, max_abs_err=0, max_ulp=0, budget_ulp=5, deterministic=True)


def artifact(name: str) -> Artifact:
    return Artifact(id=name, backend="c", code="", plans="", log="", compiler="", flags=[], static_bytes=0, build_s=0)


def common(number: int, dims: Dims, task: str = "t") -> dict[str, Any]:
    proposal = Proposal(source="", name=f"r{number}", params={"A": number})
    return {
        "trial": number,
        "task": task,
        "dims": dims,
        "proposal": proposal,
        "tier": "T1",
        "seed": 0,
        "device": "",
        "environment": "",
    }


def measured(
    number: int, speedup: float, dims: Dims = LARGE, name: str = "", low: float | None = None, task: str = "t"
) -> MeasuredTrial:
    timing = Timing(
        baseline="numpy",
        threads=1,
        calls=1,
        candidate_s=[1.0],
        baseline_s=[speedup],
        speedup=speedup,
        speedup_low=speedup - 0.1 if low is None else low,
        speedup_high=speedup + 0.1,
        latency_s=1,
        gb_per_s=1,
        floor_s=1,
        memory_floor_s=1,
        of_floor=1,
        of_memory_floor=1,
        checked=1,
        stopped="budget",
    )
    return MeasuredTrial(
        **common(number, dims, task),
        trust="native",
        artifact=artifact(name or f"c{number}"),
        verdict=PASSED,
        inputs_seed="",
        timing=timing,
    )


def rejected(number: int, name: str, dims: Dims = LARGE) -> RejectedTrial:
    return RejectedTrial(
        **common(number, dims), artifact=artifact(name), verdict=Rejected(cause="crash", reason=""), inputs_seed=""
    )


def failed(number: int, dims: Dims = LARGE) -> FailedTrial:
    return FailedTrial(**common(number, dims), status="invalid", reason="no")


def test_an_empty_archive_has_no_incumbent_no_twin_and_nothing_near() -> None:
    archive = Archive()
    assert archive.incumbent("t", LARGE) == 0.0
    assert archive.known("t", LARGE) == {}


def test_the_incumbent_is_the_lower_bound_of_the_best_at_this_shape() -> None:
    archive = Archive(
        [
            measured(0, 2.0, low=1.9),
            measured(1, 3.0, low=2.5),
            measured(2, 9.0, SMALL),
            failed(3),
            measured(4, 8.0, task="u"),
        ]
    )
    assert archive.incumbent("t", LARGE) == 2.5


def test_measured_trials_come_best_first() -> None:
    archive = Archive([measured(0, 1.0), failed(1), measured(2, 3.0), measured(3, 2.0), measured(4, 5.0, SMALL)])
    assert [t.trial for t in archive.measured("t", LARGE)] == [2, 3, 0]


def test_a_twin_has_the_same_artifact_at_the_same_shape() -> None:
    archive = Archive([measured(0, 1.0, SMALL, "same"), failed(1), rejected(2, "same"), measured(3, 1.0, name="same")])
    assert archive.known("t", LARGE) == {"same": 2}
    assert archive.known("u", LARGE) == {}


def test_a_duplicate_is_nobodys_twin() -> None:
    archive = Archive([DuplicateTrial(**common(0, LARGE), artifact=artifact("x"), of=0)])
    assert archive.known("t", LARGE) == {}


def test_the_outcome_of_a_duplicate_is_that_of_the_trial_it_equals() -> None:
    archive = Archive([measured(0, 1.0), DuplicateTrial(**common(1, LARGE), artifact=artifact("x"), of=0)])
    assert [archive.settled(trial).trial for trial in archive.trials] == [0, 0]


def test_confirmations_are_found_by_shape() -> None:
    confirmation = Confirmation(trial=0, task="t", dims=LARGE, verdict=PASSED, win=False, inputs_seed="")
    archive = Archive(confirmations=[confirmation])
    assert archive.confirmed("t", LARGE) == [confirmation]
    assert archive.confirmed("t", SMALL) == []


def test_the_best_is_confirmed_whatever_it_is_and_then_those_that_win_by_their_own_figures() -> None:
    slow = [measured(n, speedup, low=low) for n, (speedup, low) in enumerate([(0.9, 0.8), (1.005, 0.99), (1.0, 0.95)])]
    assert [t.trial for t in Archive(slow).to_confirm("t", LARGE, 3, 1.01)] == [1]
    fast = [
        measured(n, speedup, low=low)
        for n, (speedup, low) in enumerate([(1.4, 1.2), (1.009, 1.0), (1.1, 1.1), (2, 1.9)])
    ]
    assert [t.trial for t in Archive(fast).to_confirm("t", LARGE, 3, 1.01)] == [3, 0, 2]
    assert [t.trial for t in Archive(fast).to_confirm("t", LARGE, 2, 1.01)] == [3, 0]
    untimed = UntimedTrial(**common(4, LARGE), artifact=artifact("u"), verdict=PASSED, inputs_seed="", reason="busy")
    assert [t.trial for t in Archive([*slow, untimed]).to_confirm("t", LARGE, 3, 1.01)] == [1, 4]
    assert Archive([]).to_confirm("t", LARGE, 3, 1.01) == []


def test_where_all_were_refused_the_best_of_another_text_follows() -> None:
    texts = ["fast", "fast", "slow", "slow", "wrong"]
    trials = [measured(number, 3.0 - number / 2) for number in range(5)]
    named = [
        t.model_copy(update={"proposal": t.proposal.model_copy(update={"source": x})})
        for t, x in zip(trials, texts, strict=True)
    ]
    archive = Archive(list(named))
    assert [t.trial for t in archive.instead("t", LARGE, [0])] == [2]
    assert [t.trial for t in archive.instead("t", LARGE, [0, 2])] == [4]
    assert archive.instead("t", LARGE, [0, 2, 4]) == []
