"""What a shape's search came to: which confirmation is published, and the words where none is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.recorded import calibration

from kernellab.core.records import Confirmation, Passed, Rejected
from kernellab.ledger.records import AnyResult, Published, Unpublished
from kernellab.search.result import best_facts, best_name, plain, summarise

from .memory.specimens import failed, measured, rejected, timing

FACTS = {"task": "cube", "dims": {"N": 8}, "dtype": "float32", "threads": 1}
PASSED = Passed(level="full", cases=9, max_abs_err=0.25, max_ulp=1.5, budget_ulp=5.0, deterministic=True)
WRONG = Rejected(cause="wrong-output", reason="y: 3 of 9 elements wrong")


def confirmed(trial: int, speedup: float, win: bool = True, **changes: Any) -> Confirmation:
    found = timing(speedup, 0.02, **changes)
    return Confirmation(
        trial=trial, task="cube", dims={"N": 8}, verdict=PASSED, timing=found, win=win, inputs_seed="00"
    )


def refused(trial: int, **changes: Any) -> Confirmation:
    values = {"trial": trial, "task": "cube", "dims": {"N": 8}, "verdict": WRONG, "win": False, "inputs_seed": "00"}
    return Confirmation.model_validate({**values, **changes})


def summary(*confirmations: Confirmation, trials: Any = (), **changes: Any) -> AnyResult:
    return summarise("cube N=8", FACTS, list(trials), confirmations, calibration(**changes), 1.01)


def test_the_win_with_the_best_lower_bound_is_published_with_its_figures() -> None:
    best = confirmed(5, 2.0)
    found = summary(confirmed(3, 1.5), best, confirmed(7, 1.8), refused(8))
    assert isinstance(found, Published)
    assert (found.status, found.trial, found.win, found.baseline) == ("better", 5, True, "torch")
    assert best.timing is not None
    assert (found.speedup, found.speedup_low, found.latency_s) == (
        best.timing.speedup, best.timing.speedup_low, best.timing.latency_s,
    )  # fmt: skip
    assert (found.max_abs_err, found.max_ulp) == (0.25, 1.5)
    low, high = best.timing.speedup_low, best.timing.speedup_high
    assert found.reason == f"cube N=8: trial 5 beats the fastest baseline: 2.000x of torch [{low:.3f}, {high:.3f}]"
    assert plain(found)["status"] == "better"


def test_a_win_comes_before_a_higher_bound_that_is_none() -> None:
    found = summary(confirmed(1, 3.0, win=False, disturbed=True), confirmed(2, 1.2))
    assert (found.status, found.trial) == ("better", 2)


def test_what_beats_nothing_says_so() -> None:
    found = summary(confirmed(4, 0.9, win=False))
    assert found.status == "nothing-better"
    assert "trial 4 does not beat the fastest baseline: 0.900x of torch [" in found.reason


@pytest.mark.parametrize(("dropped", "share"), [([[1, 2], [3, 4], [5, 6]], "3 of 14"), ([], "all 11")])
def test_figures_of_a_busy_machine_are_seen_and_not_claimed(dropped: list[list[int]], share: str) -> None:
    found = summary(confirmed(4, 2.0, win=False, disturbed=True, dropped=dropped))
    assert found.status == "busy"
    assert found.reason.startswith("cube N=8: the machine was too busy to tell how fast it is: trial 4 is right, ")
    assert f"; {share} pairs were disturbed; end what else runs here, or let --wait wait for it" in found.reason


def test_right_and_never_timed_is_busy_too() -> None:
    found = summary(refused(1), refused(2, verdict=PASSED, busy="no quiet moment"))
    assert isinstance(found, Unpublished)
    assert (found.status, found.trial) == ("busy", None)
    assert found.reason == (
        "cube N=8: right, but nothing can be said of the speed: no quiet moment; "
        "end what else runs here, or let --wait wait for it"
    )


@pytest.mark.parametrize(
    ("confirmations", "trials", "why"),
    [
        ([refused(1)], [failed(0)], "wrong-output: y: 3 of 9 elements wrong"),
        ([], [rejected(0), failed(1, "no such intrinsic")], "build-failed: no such intrinsic"),
        ([], [failed(0), rejected(1)], "wrong-output: y: 3 of 9 elements wrong"),
        ([], [failed(0), measured(1, 2.0)], "build-failed: no such intrinsic"),
        ([], [], "nothing was tried"),
    ],
)
def test_the_last_refusal_speaks_for_the_others(confirmations: Any, trials: Any, why: str) -> None:
    found = summary(*confirmations, trials=trials)
    assert (found.status, found.reason) == ("nothing-verified", f"cube N=8: no candidate passed: {why}")


def test_the_files_of_a_winner_are_named_after_its_shape() -> None:
    assert best_name({"M": 4, "N": 8}) == "best-M4-N8"
    trial = measured(0, 2.0, params={"ROWS": 2})
    assert best_facts(trial, {"speedup": 2.0}) == {"params": {"ROWS": 2}, "flags": [], "speedup": 2.0}
