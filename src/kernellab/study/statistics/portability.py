"""How much of a speed-up is left on another device, or built for another target, without tuning again there."""

from __future__ import annotations

from kernellab.study.evidence import Evidence, config_of
from kernellab.study.finding import Finding, NotTestable, of_median
from kernellab.study.hypothesis import Options


class RetentionOptions(Options):
    """Speed-ups count over the fastest baseline of either device, which must be the same implementation."""


def retention(options: RetentionOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    if not evidence.borrowed:
        return NotTestable("there is one device and one ledger: give the run of another device, or of another build "
                           "target (klab run --target), with --other RUN")  # fmt: skip
    here = {s.trial.device for s in evidence.specimens()}
    there = {b.trial.device for b in evidence.borrowed}
    if there <= here:
        return NotTestable(f"both ledgers are of the same device, {', '.join(sorted(there))}")
    timed = {(s.trial.task, str(sorted(s.trial.dims.items())), config_of(s.trial)): s for s in evidence.specimens()}
    values: list[float] = []
    trials: list[int] = []
    unlike: set[str] = set()
    for borrowed in evidence.borrowed:
        trial = borrowed.trial
        found = timed.get((trial.task, str(sorted(trial.dims.items())), config_of(trial)))
        if found is None or found.timing is None:
            continue
        if found.timing.baseline != trial.timing.baseline:
            unlike.add(f"{trial.timing.baseline} there, {found.timing.baseline} here")
            continue
        values.append(found.timing.speedup / trial.timing.speedup)
        trials.append(found.number)
    if not values:
        why = (
            f"the fastest baselines differ ({'; '.join(sorted(unlike))})" if unlike else "none of its kernels runs here"
        )
        return NotTestable(f"nothing to compare with the other ledger: {why}")
    return of_median(values, trials, level, f"from {', '.join(sorted(there))}")
