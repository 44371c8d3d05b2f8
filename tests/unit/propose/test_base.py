from __future__ import annotations

import dataclasses

import pytest
from tests.support.outcomes import timed
from tests.unit.search.memory.specimens import artifact, common, failed, measured, rejected

from kernellab.build.base import Candidate
from kernellab.core.records import Rejected, UntimedTrial
from kernellab.propose.base import Idea, Listed, TrialOutcome, up_to

IDEA = Idea(Candidate("text", "name"), {"A": 1}, "because")
OTHER = dataclasses.replace(IDEA, params={"A": 2})


def test_an_idea_comes_from_a_recipe_unless_said_otherwise_and_is_frozen() -> None:
    assert IDEA.origin == "recipe"
    with pytest.raises(dataclasses.FrozenInstanceError):
        IDEA.why = "other"  # type: ignore[misc]


def test_a_list_of_ideas_comes_in_order_and_what_is_on_record_is_left_out() -> None:
    plan = Listed([IDEA, OTHER, dataclasses.replace(IDEA, params={"A": 3})])
    plan.tell([timed(dataclasses.replace(OTHER, why="another life"), 2.0)])
    assert [idea.params for idea in plan.ask(1)] == [{"A": 1}]
    assert [idea.params for idea in plan.ask(5)] == [{"A": 3}]
    assert plan.ask(1) == []


def test_ideas_that_are_made_one_by_one_come_in_batches_until_there_is_none() -> None:
    left = [IDEA, OTHER, None, IDEA]
    assert up_to(1, lambda: left.pop(0)) == [IDEA]
    assert up_to(3, lambda: left.pop(0)) == [OTHER]
    assert left == [IDEA]


def test_an_outcome_says_how_far_an_idea_got_how_far_off_it_was_and_how_fast_it_is() -> None:
    fast, wrong = measured(3, 2.0), rejected(4)
    off = Rejected(cause="wrong-output", reason="y: off", max_abs_err=0.5, max_ulp=9.0)
    busy = UntimedTrial(**common(5), artifact=artifact(), verdict=fast.verdict, inputs_seed="", reason="too busy")
    found = [
        TrialOutcome.of(IDEA, trial.trial, trial)
        for trial in (failed(2), wrong, wrong.model_copy(update={"verdict": off}), busy, fast)
    ]
    assert [o.reached for o in found] == ["build", "screen", "screen", "verdict", "timing"]
    assert [o.trial for o in found] == [2, 4, 4, 5, 3]
    assert [o.reason for o in found] == [
        "build-failed: no such intrinsic", "wrong-output: y: 3 of 9 elements wrong", "wrong-output: y: off", "too busy", "",
    ]  # fmt: skip
    assert [(o.max_abs_err, o.max_ulp) for o in found] == [
        (None, None),
        (None, None),
        (0.5, 9.0),
        (0.0, 1.0),
        (0.0, 1.0),
    ]
    assert [o.score for o in found] == [None, None, None, None, fast.timing.speedup_low]
    speedup, timing = found[-1].speedup, fast.timing
    assert speedup is not None
    assert (speedup.value, speedup.low, speedup.high, speedup.n) == (
        timing.speedup, timing.speedup_low, timing.speedup_high, 11,
    )  # fmt: skip
