"""Trials behind rewards: none is raced against a best so far; equal machine code is tried once, if that told enough."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernellab.core.records import AnyTrial, Dims, MeasuredTrial, RejectedTrial
from kernellab.learn.reward import RewardRule
from kernellab.ledger.run import place_of
from kernellab.search.archive import Archive


@dataclass
class RewardedTrials(Archive):
    """What is known is kept by place: a service tries tens of thousands of kernels. `forgotten`: trials whose timing was
    taken while others used the machine, or that nobody looked after: their kernels are tried again."""

    rule: RewardRule = field(default_factory=RewardRule)
    forgotten: set[int] = field(default_factory=set)
    _known: dict[str, dict[str, int]] = field(default_factory=dict)
    _read: int = 0

    def known(self, task: str, dims: Dims) -> dict[str, int]:
        for trial in self.trials[self._read :]:
            if self._told(trial) and isinstance(trial, (MeasuredTrial, RejectedTrial)):
                self._known.setdefault(place_of(trial.task, trial.dims), {}).setdefault(trial.artifact.id, trial.trial)
        self._read = len(self.trials)
        return self._known.get(place_of(task, dims), {})

    def _told(self, trial: AnyTrial) -> bool:
        timed = isinstance(trial, MeasuredTrial)
        return not self.rule.unclear(trial) and not (timed and trial.trial in self.forgotten)

    def forget(self, numbers: set[int]) -> None:
        """Read everything again without the timings of these."""
        self.forgotten |= numbers
        self._known, self._read = {}, 0

    def incumbent(self, task: str, dims: Dims) -> float:
        return 0.0
