"""What is known so far: every trial, by shape; rebuilt from the ledger at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from kernellab.core.records import AnyTrial, Confirmation, DuplicateTrial, MeasuredTrial, RejectedTrial, UntimedTrial
from kernellab.ledger.run import Run
from kernellab.tasks.spec import Dims

__all__ = ["AnyTrial", "Archive"]


@dataclass
class Archive:
    trials: list[AnyTrial] = field(default_factory=list)
    confirmations: list[Confirmation] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Everything that a run recorded; LedgerFault where a record cannot be read."""
        run = Run(folder)
        return cls(run.trials, run.confirmations)

    def add(self, trial: AnyTrial) -> None:
        self.trials.append(trial)

    def of(self, task: str, dims: Dims) -> list[AnyTrial]:
        return [t for t in self.trials if t.task == task and t.dims == dims]

    def measured(self, task: str, dims: Dims) -> list[MeasuredTrial]:
        """Best first, by what is certain: a median among few disturbed pairs may be anything."""
        found = [t for t in self.of(task, dims) if isinstance(t, MeasuredTrial)]
        return sorted(found, key=lambda t: -t.timing.speedup_low)

    def promising(self, task: str, dims: Dims) -> list[MeasuredTrial | UntimedTrial]:
        """Trials worth a confirmation, best first; then those that the machine was too busy to time."""
        return [*self.measured(task, dims), *(t for t in self.of(task, dims) if isinstance(t, UntimedTrial))]

    def to_confirm(self, task: str, dims: Dims, most: int, threshold: float) -> list[MeasuredTrial | UntimedTrial]:
        """The best, whatever it is: a search ends with a judgement. Behind it, in turn, those that win by their own figures:
        the full judgement of one that does not would take as long again for nothing."""
        best = self.promising(task, dims)
        behind = [t for t in best[1:] if isinstance(t, UntimedTrial) or t.timing.speedup > threshold]
        return [*best[:1], *behind][:most]

    def instead(self, task: str, dims: Dims, refused: Sequence[int]) -> list[MeasuredTrial | UntimedTrial]:
        """Where the full judgement refused all that were to be confirmed: the best of another text, if there is one."""
        texts = {self.trials[number].proposal.source for number in refused}
        return [t for t in self.promising(task, dims) if t.proposal.source not in texts][:1]

    def incumbent(self, task: str, dims: Dims) -> float:
        """The speed-up that a new candidate has to reach not to be given up early; 0 at the start."""
        best = self.measured(task, dims)
        return best[0].timing.speedup_low if best else 0.0

    def known(self, task: str, dims: Dims) -> dict[str, int]:
        """Artifacts of this shape whose outcome is known, and the first trial of each."""
        found: dict[str, int] = {}
        for trial in self.of(task, dims):
            if isinstance(trial, (MeasuredTrial, RejectedTrial)):
                found.setdefault(trial.artifact.id, trial.trial)
        return found

    def settled(self, trial: AnyTrial) -> AnyTrial:
        """The trial whose outcome stands for this one: the earlier one where their machine code is equal."""
        return self.trials[trial.of] if isinstance(trial, DuplicateTrial) else trial

    def confirmed(self, task: str, dims: Dims) -> list[Confirmation]:
        return [c for c in self.confirmations if c.task == task and c.dims == dims]
