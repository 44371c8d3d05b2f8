"""From a trial's record to its reward. Pure: the same records give the same reward, to a trainer and to an auditor.

Reward = format x accuracy x g(s). s is the lower end of the speed-up's interval, rounded towards 1, so that noise earns
nothing. What could not be told is None, never a small number: a trainer leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from pydantic import model_validator

from kernellab.core.records import AnyTrial, DuplicateTrial, FailedTrial, Record, RejectedTrial, Timing, UntimedTrial
from kernellab.ledger.reward_records import VERSION, RewardForm, RewardPlan
from kernellab.measurement.stats import estimate, median
from kernellab.measurement.winning import flattered

WIDEST = 0.10
_COUNTS_ALL = 2
_STEPS = 100  # a speed-up is told in hundredths
_BASE = 0.3  # what being right is worth in the form "log", however slow


class Reward(Record):
    """`format`, `accuracy`: 1 or 0, the latter None where nothing was judged. `speedup`: s, where it was told.
    `reward` None: it could not be told, and `why` says what stood in the way."""

    format: int
    accuracy: int | None = None
    speedup: float | None = None
    reward: float | None
    why: str = ""

    @model_validator(mode="after")
    def _earned(self) -> Reward:
        if self.reward is not None and self.reward > 0 and (self.format, self.accuracy) != (1, 1):
            raise ValueError("what is not right is not rewarded")
        if self.reward is not None and self.reward > 0 and self.speedup is None:
            raise ValueError("a reward needs a speed-up")
        if not self.reward and not self.why:
            raise ValueError("what is not rewarded says why")
        return self


def towards_one(speedup: float) -> float:
    """In hundredths, rounded so that neither a gain nor a loss is overstated."""
    steps = speedup * _STEPS
    return (math.floor(steps) if speedup > 1 else math.ceil(steps)) / _STEPS


class RewardRule(Record):
    """How records become rewards; a ledger has one rule. `widest`: of the interval of a speed-up, end to end, in shares of
    the speed-up. `version`: of the ledger's plan; since 2 a timing tells nothing that the pairs set aside contradict."""

    form: RewardForm = "log"
    widest: float = WIDEST
    version: int = VERSION

    @classmethod
    def of_plan(cls, plan: RewardPlan) -> Self:
        return cls(form=plan.form, widest=plan.widest, version=plan.version)

    def unclear(self, trial: AnyTrial) -> str:
        """Why a trial of a right kernel does not tell its speed; '' where it does, and for every other trial."""
        if isinstance(trial, UntimedTrial):
            return "the machine was too busy to time it"
        if isinstance(trial, (FailedTrial, RejectedTrial, DuplicateTrial)):
            return ""
        timing = trial.timing
        if timing.disturbed:
            return "its timing was disturbed"
        if self.version >= _COUNTS_ALL and flattered(timing):
            return "counted with the pairs that were set aside, it is slower"
        width = (timing.speedup_high - timing.speedup_low) / timing.speedup
        return f"its interval is {width:.0%} wide, more than {self.widest:.0%}" if width > self.widest else ""

    def of_trial(self, trial: AnyTrial, refused: str = "", masked: str = "") -> Reward:
        """`trial`: the last try, or the one whose equal it is. `refused`: which later look it failed; `masked`: why nothing
        can be said of speeds in its batch."""
        if isinstance(trial, FailedTrial):
            return Reward(format=1, accuracy=0, reward=0.0, why=trial.status)
        if isinstance(trial, RejectedTrial):
            return Reward(format=1, accuracy=0, reward=0.0, why=f"rejected: {trial.verdict.cause}")
        if isinstance(trial, DuplicateTrial):
            raise ValueError("an equal of an earlier trial has that one's reward")
        if refused:
            return Reward(format=1, accuracy=0, reward=0.0, why=refused)
        if isinstance(trial, UntimedTrial) or self.unclear(trial) or masked:
            return Reward(format=1, accuracy=1, reward=None, why=self.unclear(trial) or masked)
        speedup = towards_one(trial.timing.speedup_low)
        return Reward(format=1, accuracy=1, speedup=speedup, reward=worth(self.form, speedup, _most(trial.timing)))

    def used_by_others(self, aa: Sequence[Sequence[float]], disturbed: bool) -> str:
        """Why a device on which one thing was timed against itself is somebody else's too; '' where it is not."""
        if disturbed:
            return "others used the machine: a baseline timed against itself was disturbed"
        ratios = estimate([second / first for first, second in zip(aa[0], aa[1], strict=True)])
        off = max(ratios.value, 1 / ratios.value) - 1
        if off > self.widest / 2:
            return f"others used the machine: a baseline differed from itself by {off:.0%}"
        width = (ratios.high - ratios.low) / ratios.value
        if width > 2 * self.widest:
            return f"others used the machine: a baseline varied by {width:.0%} against itself"
        return ""


def of_bad_format(fault: str) -> Reward:
    return Reward(format=0, reward=0.0, why=f"format: {fault}")


def of_failed_laboratory() -> Reward:
    return Reward(format=1, reward=None, why="the laboratory failed")


def worth(form: RewardForm, speedup: float, most: float) -> float:
    """g(s). `most`: the speed-up that the machine's ceilings allow; the form "log" does not rise beyond it."""
    if form == "seed":
        return speedup
    return _BASE + math.log2(1 + min(speedup, most))


def _most(timing: Timing) -> float:
    return median(timing.baseline_s) / timing.floor_s if timing.floor_s > 0 else math.inf
