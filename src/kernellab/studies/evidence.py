"""The evidence of a study, as its ledger holds it: trials, examinations of accuracy, and trials borrowed from other runs.

A statistic sees nothing else, so an auditor who has the ledger gets the same figures. What counts as one value: a kernel
(machine code and plans) in a place and replicate, a kernel on one input. A duplicate stands for its combination of
parameters wherever one is asked for, and never for a measurement of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from kernellab.core.records import (
    AnyTrial,
    Dims,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Param,
    Record,
    Rejected,
    RejectedTrial,
    UntimedTrial,
    Verdict,
)
from kernellab.ledger.kinds import EntryKind
from kernellab.search.memory.specimen import Reader, Specimen, no_text, recall
from kernellab.tasks.spec import dims_label

Config = tuple[str, tuple[tuple[str, Param], ...]]
Place = tuple[str, str]
"""Task and shape."""


A_SHAPE = 3
"""Kernels borrowed for each shape: the best few, so that one lucky figure does not decide."""


class Examination(Record):
    """A trial's kernel judged at its own shape under one distribution; inputs from the hypothesis and a registered seed."""

    study: str
    trial: int
    dims: Dims
    distribution: str
    seed: int
    inputs_seed: str
    verdict: Verdict


class Borrowed(Record):
    """A trial of another run, whole, with that run's name and root as they were when it was read."""

    study: str
    run: str
    root: str
    trial: MeasuredTrial


EXAMINATION = EntryKind("examination", TypeAdapter(Examination))
BORROWED = EntryKind("borrowed", TypeAdapter(Borrowed))
Witness = AnyTrial | Examination | Borrowed
"""A record that is evidence in a study."""


@dataclass
class Evidence:
    """`read` gives a source's text, where the run's store is at hand."""

    trials: list[AnyTrial] = field(default_factory=list)
    examinations: list[Examination] = field(default_factory=list)
    borrowed: list[Borrowed] = field(default_factory=list)
    read: Reader = no_text

    def take(self, witness: Witness) -> None:
        """One more, in the order of the ledger."""
        if isinstance(witness, Examination):
            self.examinations.append(witness)
        elif isinstance(witness, Borrowed):
            self.borrowed.append(witness)
        else:
            self.trials.append(witness)

    def where(self, wanted: Mapping[str, Param]) -> Evidence:
        """Only trials with these parameter values, and what belongs to them."""
        if not wanted:
            return self
        kept = [t for t in self.trials if wanted.items() <= t.proposal.params.items()]
        numbers = {t.trial for t in kept}
        return Evidence(kept, [e for e in self.examinations if e.trial in numbers], self.borrowed, self.read)

    def specimens(self) -> list[Specimen]:
        """Duplicates with the outcome of their twin. What was timed on a machine too busy to measure on is left out."""
        found = recall(self.trials, self.read)
        return [s for s in found if s.timing is None or not s.timing.disturbed]

    def places(self) -> dict[Place, dict[int, dict[Config, Specimen]]]:
        """Timed trials by place, then by replicate (seed), then by configuration; in the order of the record."""
        found: dict[Place, dict[int, dict[Config, Specimen]]] = {}
        for specimen in self.specimens():
            if specimen.timing is not None:
                trial = specimen.trial
                cells = found.setdefault((trial.task, dims_label(trial.dims)), {})
                cells.setdefault(trial.seed, {})[config_of(trial)] = specimen
        return found

    def examined(self) -> list[Examination]:
        """Each kernel once on each input: machine code that was tried under two names is not another case."""
        kernels = {t.trial: kernel_of(t) for t in self.trials}
        found: dict[tuple[str, ...], Examination] = {}
        for e in self.examinations:
            kernel = kernels.get(e.trial, f"trial {e.trial}")
            found.setdefault((kernel, str(sorted(e.dims.items())), e.distribution, e.inputs_seed), e)
        return list(found.values())

    def lost(self) -> str:
        """What was tried and gave no timing, in words; '' where everything did."""
        failed = sum(isinstance(t, FailedTrial) for t in self.trials)
        rejected = sum(isinstance(t, RejectedTrial) for t in self.trials)
        busy = sum(
            isinstance(t, UntimedTrial) or (isinstance(t, MeasuredTrial) and t.timing.disturbed) for t in self.trials
        )
        causes = ((failed, "could not be built"), (rejected, "were rejected"), (busy, "found the machine too busy"))
        parts = [f"{n} {word}" for n, word in causes if n]
        return f"of {len(self.trials)} trials {' and '.join(parts)}" if parts else ""


def config_of(trial: AnyTrial) -> Config:
    return trial.proposal.name, tuple(sorted(trial.proposal.params.items()))


def kernel_of(trial: AnyTrial) -> str:
    """What names its machine code and plans; what was never built is a kernel of its own."""
    return f"trial {trial.trial}" if isinstance(trial, FailedTrial) else trial.artifact.id


def measurement_of(trial: AnyTrial) -> int:
    """The trial that was measured: its twin, for a duplicate."""
    return trial.of if isinstance(trial, DuplicateTrial) else trial.trial


def not_counted(number: int) -> str:
    return f"; {number} more with the same machine code do not count" if number else ""


def alike(places: Mapping[Place, Mapping[int, Mapping[Config, Specimen]]]) -> bool:
    """Whether nowhere two kernels were timed between which there is a choice."""
    cells = [cell for place in places.values() for cell in place.values()]
    return bool(cells) and all(len({kernel_of(s.trial) for s in cell.values()}) == 1 for cell in cells)


def mean_scores(cells: Sequence[Mapping[Config, Specimen]]) -> dict[Config, float]:
    """Mean logarithm of the speed-up of every configuration that all of these replicates timed."""
    if not cells:
        return {}
    shared = [c for c in cells[0] if all(c in other for other in cells)]
    return {c: math.fsum(score_of(cell[c]) for cell in cells) / len(cells) for c in shared}


def apart(cells: Mapping[int, dict[Config, Specimen]]) -> Iterator[tuple[dict[Config, Specimen], dict[Config, float]]]:
    """Each replicate with the mean scores of the others: choose by those, measure on this one, and the choice is not
    flattered by the noise that it was chosen for. A lone replicate has to do both."""
    for seed, cell in cells.items():
        others = [c for s, c in cells.items() if s != seed] or [cell]
        known = {c: s for c, s in mean_scores(others).items() if c in cell}
        if known:
            yield cell, known


def best(scores: Mapping[Config, float]) -> Config:
    """The fastest; of equals the first by name, so that an auditor finds the same."""
    return min(scores, key=lambda c: (-scores[c], str(c)))


def score_of(specimen: Specimen) -> float:
    assert specimen.score is not None
    return specimen.score


def error_of(verdict: Verdict, measure: str) -> float | None:
    """The largest error of a verdict, passed or not; None where it is not finite."""
    if isinstance(verdict, Rejected) and verdict.cause == "non-finite":
        return None
    return verdict.max_ulp if measure == "ulp" else verdict.max_abs_err
