"""How much of a speed-up is left on another device, or built for another target, without tuning again there."""

from __future__ import annotations

from collections.abc import Iterator

from kernellab.core.records import AnyTrial, FailedTrial, MeasuredTrial
from kernellab.measurement.stats import median
from kernellab.run.device import machine_of
from kernellab.search.memory.specimen import Specimen
from kernellab.studies.evidence import Evidence, kernel_of, measurement_of, not_counted
from kernellab.studies.finding import Finding, NotTestable, of_median
from kernellab.studies.hypothesis import Options


class RetentionOptions(Options):
    """Speed-ups count over the fastest baseline of either device, which must be the same implementation."""


def retention(options: RetentionOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    """One value a kernel: the median over its replicates here, and over the other runs that lend it."""
    if not evidence.borrowed:
        return NotTestable("there is one device and one ledger: give the run of another device, or of another build "
                           "target (klab run --target), with --other RUN")  # fmt: skip
    here = {t.device for t in evidence.trials}
    there = {b.trial.device for b in evidence.borrowed}
    if there <= here:
        return NotTestable(f"both ledgers are of the same device, {', '.join(sorted(there))}")
    ratios: dict[object, list[float]] = {}
    trials: list[int] = []
    unlike: set[str] = set()
    same = 0
    for lent, found in _pairs(evidence, here):
        assert found.timing is not None
        if _same_code(lent, found.trial):
            same += 1
        elif found.timing.baseline != lent.timing.baseline:
            unlike.add(f"{lent.timing.baseline} there, {found.timing.baseline} here")
        else:
            kernel = (lent.task, str(sorted(lent.dims.items())), kernel_of(found.trial))
            ratios.setdefault(kernel, []).append(found.timing.speedup / lent.timing.speedup)
            trials.append(measurement_of(found.trial))
    if not ratios:
        return _nothing(unlike, same)
    values = [median(each) for each in ratios.values()]
    return of_median(values, trials, level, f"from {', '.join(sorted(there - here))}{not_counted(same)}")


def _pairs(evidence: Evidence, here: set[str]) -> Iterator[tuple[MeasuredTrial, Specimen]]:
    """Every kernel lent by another device with each of its timed replicates here."""
    timed: dict[tuple[str, ...], list[Specimen]] = {}
    for specimen in evidence.specimens():
        if specimen.timing is not None:
            timed.setdefault(_key(specimen.trial), []).append(specimen)
    lent = {(b.run, b.trial.trial): b.trial for b in evidence.borrowed if b.trial.device not in here}
    return ((trial, specimen) for trial in lent.values() for specimen in timed.get(_key(trial), []))


def _key(trial: AnyTrial) -> tuple[str, ...]:
    proposal = trial.proposal
    return trial.task, str(sorted(trial.dims.items())), proposal.source, str(sorted(proposal.params.items()))


def _same_code(lent: MeasuredTrial, found: AnyTrial) -> bool:
    """The same machine code on the same machine: a kernel that is compared with itself. On another machine it may well
    be the same, and how fast it is there is the question."""
    if isinstance(found, FailedTrial) or machine_of(lent.device) != machine_of(found.device):
        return False
    return lent.artifact.code == found.artifact.code


def _nothing(unlike: set[str], same: int) -> NotTestable:
    why = "none of its kernels runs here"
    if unlike:
        why = f"the fastest baselines differ ({'; '.join(sorted(unlike))})"
    elif same:
        why = "both are of one machine, and every kernel is the same machine code there and here"
    return NotTestable(f"nothing to compare with the other ledger: {why}")
