"""Equal machine code is known once a trial of it told enough."""

from __future__ import annotations

from tests.unit.learn.recorded import busy, measured, rejected

from kernellab.learn.reward import RewardRule
from kernellab.learn.tried import RewardedTrials


def test_what_told_nothing_is_tried_again() -> None:
    wide = measured(1.0, 2.0, 3.0).model_copy(update={"trial": 0})
    clear = measured().model_copy(update={"trial": 1})
    trials = RewardedTrials([wide])
    assert trials.known(wide.task, wide.dims) == {}
    trials.add(busy())
    trials.add(clear)
    assert trials.known(wide.task, wide.dims) == {clear.artifact.id: 1}
    assert trials.known("other", wide.dims) == {}


def test_what_is_clear_depends_on_the_rule_and_what_is_wrong_stays_wrong() -> None:
    wide = measured(1.0, 2.0, 3.0).model_copy(update={"trial": 0})
    trials = RewardedTrials([wide, rejected()], rule=RewardRule(widest=2.0))
    assert set(trials.known(wide.task, wide.dims)) == {wide.artifact.id, rejected().artifact.id}


def test_nothing_is_raced_against_a_best_so_far() -> None:
    assert RewardedTrials([measured()]).incumbent(measured().task, measured().dims) == 0.0


def test_a_timing_from_a_busy_machine_is_forgotten_and_a_verdict_is_not() -> None:
    right, wrong = measured().model_copy(update={"trial": 0}), rejected().model_copy(update={"trial": 1})
    trials = RewardedTrials([right, wrong])
    assert len(trials.known(right.task, right.dims)) == 2
    trials.forget({0, 1})
    assert trials.known(right.task, right.dims) == {wrong.artifact.id: 1}
    trials.add(right.model_copy(update={"trial": 2}))
    assert trials.known(right.task, right.dims)[right.artifact.id] == 2
