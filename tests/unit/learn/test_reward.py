"""Rewards follow from records, and what could not be told is no number."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError
from tests.unit.learn.recorded import busy, duplicate, failed, measured, rejected

from kernellab.core.records import AnyTrial
from kernellab.learn.reward import (
    Reward,
    RewardRule,
    of_bad_format,
    of_failed_laboratory,
    towards_one,
    worth,
)


def test_a_right_kernel_is_rewarded_by_the_lower_end_of_its_interval() -> None:
    trial = measured(2.0, 2.04, 2.08)
    assert RewardRule(form="seed").of_trial(trial) == Reward(format=1, accuracy=1, speedup=2.0, reward=2.0)
    log = RewardRule(form="log").of_trial(measured(2.0, 2.04, 2.08, floor_s=1e-12))
    assert log.reward == pytest.approx(0.3 + math.log2(3))


def test_the_log_form_does_not_rise_beyond_what_the_machine_can_do() -> None:
    """The ceilings allow 1.5 times the baseline's speed."""
    slow = measured(2.0, 2.04, 2.08, baseline_s=[1.5] * 3, candidate_s=[1.0] * 3, floor_s=1.0)
    assert RewardRule(form="log").of_trial(slow).reward == pytest.approx(0.3 + math.log2(2.5))
    assert RewardRule(form="seed").of_trial(slow).reward == 2.0
    assert worth("log", 7.0, math.inf) == pytest.approx(3.3)


@pytest.mark.parametrize(
    ("speedup", "told"), [(1.999, 1.99), (1.004, 1.0), (1.0, 1.0), (0.996, 1.0), (0.501, 0.51), (0.0001, 0.01)]
)
def test_a_speedup_is_rounded_towards_one(speedup: float, told: float) -> None:
    assert towards_one(speedup) == told


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        (measured(1.8, 2.0, 2.1), "its interval is 15% wide, more than 10%"),
        (measured(2.0, 2.01, 2.02, disturbed=True), "its timing was disturbed"),
        (busy(), "the machine was too busy to time it"),
    ],
    ids=["wide", "disturbed", "busy"],
)
def test_what_the_clock_could_not_tell_is_none(trial: AnyTrial, why: str) -> None:
    assert RewardRule().unclear(trial) == why
    assert RewardRule(form="log").of_trial(trial) == Reward(format=1, accuracy=1, reward=None, why=why)


def test_an_interval_of_ten_per_cent_is_clear() -> None:
    assert RewardRule().unclear(measured(1.95, 2.0, 2.15)) == ""


def test_a_rule_may_take_wider_intervals() -> None:
    assert RewardRule(widest=0.2).of_trial(measured(1.8, 2.0, 2.1)).speedup == 1.8


def test_what_is_wrong_or_does_not_build_gets_nothing() -> None:
    assert RewardRule(form="log").of_trial(failed()) == Reward(format=1, accuracy=0, reward=0.0, why="invalid")
    assert RewardRule(form="log").of_trial(rejected()) == Reward(
        format=1, accuracy=0, reward=0.0, why="rejected: wrong-output"
    )
    assert of_bad_format("no-answer") == Reward(format=0, reward=0.0, why="format: no-answer")


def test_a_laboratory_that_failed_says_nothing_of_the_kernel() -> None:
    assert (of_failed_laboratory().reward, of_failed_laboratory().accuracy) == (None, None)


def test_what_a_later_look_refused_gets_nothing_even_where_nothing_could_be_timed() -> None:
    for trial in (measured(), busy(), measured(1.0, 2.0, 3.0)):
        assert RewardRule(form="log").of_trial(trial, refused="wrong elsewhere", masked="busy").reward == 0.0


def test_a_masked_batch_gives_no_reward_by_speed_and_leaves_wrong_kernels_wrong() -> None:
    assert RewardRule(form="log").of_trial(measured(), masked="others") == Reward(
        format=1, accuracy=1, reward=None, why="others"
    )
    assert RewardRule(form="log").of_trial(rejected(), masked="others").reward == 0.0


def test_an_equal_has_the_reward_of_the_first() -> None:
    with pytest.raises(ValueError, match="that one's reward"):
        RewardRule(form="log").of_trial(duplicate())


@pytest.mark.parametrize(
    "fields",
    [
        {"format": 0, "accuracy": 1, "speedup": 2.0, "reward": 2.0},
        {"format": 1, "accuracy": 0, "speedup": 2.0, "reward": 2.0},
        {"format": 1, "accuracy": 1, "reward": 2.0},
        {"format": 1, "accuracy": 1, "reward": None},
        {"format": 1, "accuracy": 0, "reward": 0.0},
    ],
)
def test_rewards_that_nothing_earned_cannot_be_made(fields: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Reward.model_validate(fields)


@pytest.mark.parametrize(
    ("second", "disturbed", "words"),
    [
        ([1.0] * 6, False, ""),
        ([1.04] * 6, False, ""),
        ([1.0] * 6, True, "was disturbed"),
        ([1.07] * 6, False, "differed from itself by 7%"),
        ([0.8, 0.85, 0.99, 1.0, 1.0, 1.2], False, "varied by"),
    ],
)
def test_a_device_that_others_use_is_seen_by_a_thing_timed_against_itself(
    second: list[float], disturbed: bool, words: str
) -> None:
    said = RewardRule().used_by_others([[1.0] * 6, second], disturbed)
    assert (words in said) if words else said == ""


def test_what_the_pairs_set_aside_contradict_is_not_paid_and_older_ledgers_stay_what_they_are() -> None:
    """Fewer than half were set aside, so it is not disturbed; with them it is slower than it says."""
    chosen = measured(3.2, 3.2, 3.2, dropped=[(1.0, 0.1)] * 5)
    why = "counted with the pairs that were set aside, it is slower"
    assert RewardRule().unclear(chosen) == why
    assert RewardRule().of_trial(chosen) == Reward(format=1, accuracy=1, reward=None, why=why)
    assert RewardRule(version=1).unclear(chosen) == ""
