"""The bench: two arms, interleaved in secret order on fresh inputs, clocked from outside, checked afterwards.

A sample is one command over the first slots of a set, as many as make it long enough to clock; a pair is one sample of
each arm, in random order, on different sets. A pair in which either process lost the processor to somebody else is set
aside (and recorded): its inputs are spent, so it is replaced by a new pair, not repeated. Both arms of a pair run on the
same processor (cores of one machine differ by a per cent or more); a disturbed pair sends the next one to another.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from kernellab.core.errors import EnvironmentFault
from kernellab.core.records import Rejected, Timing
from kernellab.core.settings import Effort
from kernellab.measure.base import Slots
from kernellab.measure.roofline import Floor
from kernellab.measure.stats import Estimate, median, paired_speedup
from kernellab.run.base import Runner, Sample, WorkerFault
from kernellab.verify.numeric import Mismatch

_PATIENCE = 12  # tries for a pair that something follows from: a busy machine costs time first, then the measurement
_TRIAL_PATIENCE = 4
_LOOKOUTS = 2
TOO_GOOD = 0.8
_HOPELESS = 0.8
_LOOKS = (3, 5, 7, 9, 11, 15, 21, 31, 41, 61, 81, 121, 161, 201, 241, 301, 401)


@dataclass
class Arm:
    """A worker, which outputs it writes (0: the candidate's, 1: the other's), and how many calls make a sample.
    A trusted arm (a baseline) needs cold inputs, but no new ones and no checks."""

    name: str
    worker: Runner
    side: int
    trusted: bool = False
    calls: int = 1
    checked: int = 0


@dataclass
class Pairs:
    """Seconds a call, pair by pair. `disturbed`: too few pairs were clean, so that the dropped ones stand here as well. The
    longer arm is disturbed more often: such figures flatter the shorter one, and nothing may be claimed by them."""

    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)
    dropped: list[tuple[float, float]] = field(default_factory=list)
    disturbed: bool = False

    def speedup(self, level: float = 0.95) -> Estimate:
        """Of the first arm over the second."""
        return paired_speedup(self.first, self.second, level)


class Unfit(Exception):
    """A timed call's output was wrong, or the worker broke off: the measurement is a rejection."""

    def __init__(self, rejected: Rejected, arm: Arm) -> None:
        super().__init__(rejected.reason)
        self.rejected = rejected
        self.arm = arm


class Bench:
    def __init__(
        self,
        ring: Slots,
        floor: Floor,
        sample_s: float,
        timeout_s: float = 30.0,
        conditions: Callable[[], dict[str, int | str]] = dict,
        floor_again: Callable[[float], Floor] | None = None,
    ) -> None:
        """`floor_again`: asked, with the seconds, when a candidate is faster than the floor allows."""
        self.ring = ring
        self.floor = floor
        self._sample_s = sample_s
        self._timeout_s = timeout_s
        self._conditions = conditions
        self._floor_again = floor_again
        self._cpus = sorted(os.sched_getaffinity(0))
        self._cpu = self._cpus[-1]

    def pair(self, first: Arm, second: Arm, pairs: Pairs, oracle: bool) -> None:
        """One sample of each arm on inputs that an untrusted arm has never seen, checked afterwards."""
        ring = self.ring
        sets = ring.pick_sets()
        arms = (first, second)
        for number, arm in zip(sets, arms, strict=True):
            arm.worker.pin(self._cpu)
            self._prepare(arm, ring.set_calls(number, arm.calls))
        fillings = [
            None if arm.trusted else ring.fill(number, arm.calls, arm.side, known=oracle)
            for number, arm in zip(sets, arms, strict=True)
        ]
        ring.flush()
        samples: list[Sample] = [Sample(0.0, False)] * 2
        for index in (0, 1) if ring.toss() else (1, 0):
            samples[index] = self._clock(arms[index], ring.set_calls(sets[index], arms[index].calls))
        for number, filling, arm in zip(sets, fillings, arms, strict=True):
            if filling is not None:
                fault, checked = ring.check(number, filling)
                arm.checked += checked
                if fault is not None:
                    raise Unfit(_timed_fault(fault), arm)
        seconds = [sample.seconds / arm.calls for sample, arm in zip(samples, arms, strict=True)]
        if self._lengthen(samples, arms):
            return
        if samples[0].preempted or samples[1].preempted:
            pairs.dropped.append((seconds[0], seconds[1]))
            self._cpu = self._cpus[(self._cpus.index(self._cpu) + 1) % len(self._cpus)]
        else:
            pairs.first.append(seconds[0])
            pairs.second.append(seconds[1])

    def compare(
        self,
        first: Arm,
        second: Arm,
        most: int,
        enough: Callable[[Pairs], Literal["raced", "narrow"] | None] = lambda _: None,
        checks: int = 0,
        patience: int = _PATIENCE,
    ) -> tuple[Pairs, Literal["raced", "narrow", "budget"]]:
        """Collect pairs until `enough` says so at one of the fixed looks, or `most` are there."""
        for arm in (first, second):
            self._warm_up(arm)
        pairs, tries = Pairs(), 0
        moments = self.ring.secret_moments(most, checks) | self.ring.secret_moments(_LOOKS[1], min(1, checks))
        # at once, and later too: what learns from the calls it gets has seen them all only after a while
        lookouts = self.ring.secret_moments(min(most, _LOOKS[1]), _LOOKOUTS) | self.ring.secret_moments(most, _LOOKOUTS)
        while len(pairs.first) < most and tries < most * patience:
            if tries in lookouts:
                for arm in (first, second):
                    self._look_out(arm)
            self.pair(first, second, pairs, oracle=tries in moments)
            tries += 1
            verdict = enough(pairs) if len(pairs.first) in _LOOKS else None
            if verdict is not None:
                return pairs, verdict
        if len(pairs.first) < most // 4 + 1:
            pairs.disturbed = True
            pairs.first += [d[0] for d in pairs.dropped]
            pairs.second += [d[1] for d in pairs.dropped]
            pairs.dropped = []
        return pairs, "budget"

    def _look_out(self, arm: Arm) -> None:
        """Run the first call of a filled set alone: one that also did the later ones' work would be timed for nothing."""
        if arm.trusted or arm.calls < 2:
            return
        number, _ = self.ring.pick_sets()
        self._prepare(arm, self.ring.set_calls(number, arm.calls))
        filling = self.ring.fill(number, arm.calls, arm.side, known=False)
        self._clock(arm, self.ring.set_calls(number, 1))
        if not self.ring.untouched(number, filling):
            reason = "one call also wrote the outputs of calls that had not been made yet"
            raise Unfit(Rejected(cause="hidden-work", reason=reason, case="timed call"), arm)

    def prove(self, arm: Arm) -> str:
        """One call, checked by the oracle: why an arm that is about to be trusted should not be, or ''."""
        try:
            self._once(arm, oracle=True)
        except Unfit as unfit:
            return unfit.rejected.reason
        return ""

    def _once(self, arm: Arm, oracle: bool) -> Sample:
        number, _ = self.ring.pick_sets()
        self._prepare(arm, self.ring.set_calls(number, 1))
        if arm.trusted and not oracle:
            return self._clock(arm, self.ring.set_calls(number, 1))
        filling = self.ring.fill(number, 1, arm.side, known=oracle)
        sample = self._clock(arm, self.ring.set_calls(number, 1))
        fault, _ = self.ring.check(number, filling)
        if fault is not None:
            raise Unfit(_timed_fault(fault), arm)
        return sample

    def _warm_up(self, arm: Arm) -> None:
        """One uncounted call: thread pools, predictors, lazy libraries; sets the calls a sample."""
        if arm.calls > 1:
            return
        sample = self._once(arm, oracle=False)
        arm.calls = min(self.ring.slots, max(1, math.ceil(self._sample_s / max(sample.seconds, 1e-6))))

    def _lengthen(self, samples: list[Sample], arms: tuple[Arm, Arm]) -> bool:
        """Samples too short to clock well do not count: the next ones take more calls."""
        short = False
        for sample, arm in list(zip(samples, arms, strict=True))[: 1 if arms[0] is arms[1] else 2]:
            if sample.seconds < 0.7 * self._sample_s and arm.calls < self.ring.slots:
                wanted = math.ceil(arm.calls * self._sample_s / max(sample.seconds, 1e-6))
                arm.calls = min(self.ring.slots, max(arm.calls + 1, wanted))
                short = True
        return short

    def trial(self, candidate: Arm, baseline: Arm, effort: Effort, incumbent: float) -> Timing | Rejected:
        """Measure a candidate, giving up early when it is clearly slower than the best so far (`incumbent` speed-up)."""

        def enough(pairs: Pairs) -> Literal["raced", "narrow"] | None:
            if len(pairs.first) < effort.least_pairs:
                return "raced" if pairs.speedup(0.99).high < _HOPELESS * incumbent else None
            if pairs.speedup(0.99).high < incumbent:
                return "raced"
            return "narrow" if pairs.speedup().half_width < effort.narrow else None

        return self._measure(candidate, baseline, effort.trial_pairs, enough, self.ring.trial_checks, _TRIAL_PATIENCE)

    def confirm(self, candidate: Arm, baseline: Arm, effort: Effort) -> Timing | Rejected:
        """A fixed number of pairs and one look: no optional stopping behind a claim."""
        return self._measure(candidate, baseline, effort.confirm_pairs, lambda _: None, effort.checks, _PATIENCE)

    def _measure(
        self,
        candidate: Arm,
        baseline: Arm,
        most: int,
        enough: Callable[[Pairs], Literal["raced", "narrow"] | None],
        checks: int,
        patience: int,
    ) -> Timing | Rejected:
        try:
            pairs, stopped = self.compare(candidate, baseline, most, enough, checks, patience)
        except Unfit as unfit:
            if unfit.arm is not candidate:
                raise EnvironmentFault(
                    f"the baseline {unfit.arm.name} broke off: {unfit.rejected.reason}", "'klab resume' goes on"
                ) from None
            return unfit.rejected
        return self._timing(candidate, baseline, pairs, stopped)

    def _timing(
        self, candidate: Arm, baseline: Arm, pairs: Pairs, stopped: Literal["raced", "narrow", "budget"]
    ) -> Timing | Rejected:
        speedup = pairs.speedup()
        latency = median(pairs.first)
        if latency < TOO_GOOD * self.floor.seconds and self._floor_again is not None:
            self.floor = self._floor_again(latency)
        if latency < TOO_GOOD * self.floor.seconds:
            return Rejected(
                cause="too-good",
                reason=(
                    f"{latency * 1e6:.1f} us a call beats what the machine can do: {self.floor.seconds * 1e6:.1f} us "
                    f"({self.floor.bound})"
                ),
            )
        ring = self.ring
        return Timing(
            baseline=baseline.name,
            threads=self.floor.threads,
            calls=candidate.calls,
            candidate_s=pairs.first,
            baseline_s=pairs.second,
            dropped=pairs.dropped,
            disturbed=pairs.disturbed,
            speedup=speedup.value,
            speedup_low=speedup.low,
            speedup_high=speedup.high,
            latency_s=latency,
            gb_per_s=ring.task.least_bytes(ring.dims) / latency / 1e9,
            floor_s=self.floor.seconds,
            memory_floor_s=self.floor.memory_s,
            of_floor=self.floor.seconds / latency,
            of_memory_floor=self.floor.memory_s / latency,
            checked=candidate.checked,
            stopped=stopped,
            conditions={**self._conditions(), **candidate.worker.remarks()},
        )

    def _prepare(self, arm: Arm, calls: list[int]) -> None:
        try:
            arm.worker.prepare(calls, self._timeout_s)
        except WorkerFault as fault:
            raise Unfit(Rejected(cause=fault.cause, reason=fault.reason, case="before a timed call"), arm) from None

    def _clock(self, arm: Arm, calls: list[int]) -> Sample:
        try:
            return arm.worker.run(calls, self._timeout_s, counted=True)
        except WorkerFault as fault:
            raise Unfit(Rejected(cause=fault.cause, reason=fault.reason, case="timed call"), arm) from None


def _timed_fault(fault: Mismatch) -> Rejected:
    return Rejected(
        cause=fault.cause, reason=fault.reason, case="timed call", max_abs_err=fault.max_abs_err, max_ulp=fault.max_ulp
    )
