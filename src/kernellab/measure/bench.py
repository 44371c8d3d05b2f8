"""The bench: two arms, interleaved in secret order on fresh inputs, clocked from outside, checked afterwards.

A sample is one command over one set of slots; a pair is one sample of each arm, in random order, on different sets.
A pair in which either process lost the processor is set aside (and recorded): its inputs are spent, so it is replaced by
a new pair, not repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from kernellab.core.records import Rejected, Timing
from kernellab.core.settings import Effort
from kernellab.measure.ring import Ring
from kernellab.measure.roofline import Floor
from kernellab.measure.stats import Estimate, median, paired_speedup
from kernellab.run.worker import Worker, WorkerFault
from kernellab.verify.numeric import Mismatch

_ORACLE_EVERY = 16
_DROPS_A_PAIR = 3
_TOO_GOOD = 0.8
_LOOKS = (5, 7, 9, 11, 15, 21, 31, 41, 61, 81, 121, 161, 201, 241, 301, 401)


@dataclass
class Arm:
    """A worker and the pool entries its process has seen."""

    name: str
    worker: Worker
    used: set[int] = field(default_factory=set)
    checked: int = 0


@dataclass
class Pairs:
    """Seconds a call, pair by pair."""

    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)
    dropped: list[tuple[float, float]] = field(default_factory=list)

    def speedup(self, level: float = 0.95) -> Estimate:
        """Of the first arm over the second."""
        return paired_speedup(self.first, self.second, level)


class Unfit(Exception):
    """A timed call's output was wrong, or the worker broke off: the measurement is a rejection."""

    def __init__(self, rejected: Rejected, arm: str) -> None:
        super().__init__(rejected.reason)
        self.rejected = rejected
        self.arm = arm


class Bench:
    def __init__(self, ring: Ring, floor: Floor, timeout_s: float = 30.0) -> None:
        self.ring = ring
        self.floor = floor
        self._timeout_s = timeout_s

    def pair(self, first: Arm, second: Arm, pairs: Pairs, oracle: bool) -> None:
        """One sample of each arm."""
        ring = self.ring
        sets = ring.pick_sets()
        arms = (first, second)
        fillings = [ring.fill(number, arm.used) for number, arm in zip(sets, arms, strict=True)]
        ring.flush()
        order = (0, 1) if ring.toss() else (1, 0)
        seconds = [0.0, 0.0]
        preempted = False
        for index in order:
            sample = self._clock(arms[index], ring.set_calls(sets[index]))
            seconds[index] = sample[0] / ring.slots
            preempted |= sample[1]
        for index, arm in enumerate(arms):
            fault, checked = ring.check(sets[index], fillings[index], oracle)
            arm.checked += checked
            if fault is not None:
                raise Unfit(_timed_fault(fault), arm.name)
        if preempted:
            pairs.dropped.append((seconds[0], seconds[1]))
        else:
            pairs.first.append(seconds[0])
            pairs.second.append(seconds[1])

    def compare(
        self, first: Arm, second: Arm, most: int, least: int,
        enough: Callable[[Pairs], Literal["raced", "narrow"] | None],
    ) -> tuple[Pairs, Literal["raced", "narrow", "budget"]]:  # fmt: skip
        """Collect pairs until `enough` says so at one of the fixed looks, or `most` are there."""
        pairs = Pairs()
        self.pair(first, second, Pairs(), oracle=False)  # warm-up: first touch of pages, thread pools, predictors
        tries = 0
        while len(pairs.first) < most and tries < most * _DROPS_A_PAIR:
            self.pair(first, second, pairs, oracle=tries % _ORACLE_EVERY == _ORACLE_EVERY - 1)
            tries += 1
            if len(pairs.first) in _LOOKS and len(pairs.first) >= least:
                verdict = enough(pairs)
                if verdict is not None:
                    return pairs, verdict
        if not pairs.first:  # every pair was disturbed: better noisy figures than none
            pairs.first, pairs.second = [d[0] for d in pairs.dropped], [d[1] for d in pairs.dropped]
            pairs.dropped = []
        return pairs, "budget"

    def trial(self, candidate: Arm, baseline: Arm, effort: Effort, incumbent: float) -> Timing | Rejected:
        """Measure a candidate, giving up early when it is clearly slower than the best so far (`incumbent` speed-up)."""

        def enough(pairs: Pairs) -> Literal["raced", "narrow"] | None:
            if self._estimate(pairs, 0.99).high < incumbent:
                return "raced"
            return "narrow" if self._estimate(pairs).half_width < effort.narrow else None

        return self._measure(candidate, baseline, effort.trial_pairs, effort.least_pairs, enough)

    def confirm(self, candidate: Arm, baseline: Arm, effort: Effort) -> Timing | Rejected:
        """A fixed number of pairs and one look: no optional stopping behind a claim."""
        return self._measure(candidate, baseline, effort.confirm_pairs, effort.confirm_pairs + 1, lambda _: None)

    def _measure(
        self, candidate: Arm, baseline: Arm, most: int, least: int,
        enough: Callable[[Pairs], Literal["raced", "narrow"] | None],
    ) -> Timing | Rejected:  # fmt: skip
        try:
            pairs, stopped = self.compare(candidate, baseline, most, least, enough)
        except Unfit as unfit:
            if unfit.arm != candidate.name:
                raise
            return unfit.rejected
        return self._timing(candidate, baseline, pairs, stopped)

    def _timing(
        self, candidate: Arm, baseline: Arm, pairs: Pairs, stopped: Literal["raced", "narrow", "budget"]
    ) -> Timing | Rejected:
        speedup = self._estimate(pairs)
        latency = median(pairs.first)
        if latency < _TOO_GOOD * self.floor.seconds:
            return Rejected(cause="too-good", reason=(
                f"{latency * 1e6:.1f} us a call beats what the machine can do: {self.floor.seconds * 1e6:.1f} us "
                f"({self.floor.bound})"))  # fmt: skip
        ring = self.ring
        return Timing(
            baseline=baseline.name, threads=self.floor.threads, calls=ring.slots, candidate_s=pairs.first,
            baseline_s=pairs.second, dropped=pairs.dropped, speedup=speedup.value, speedup_low=speedup.low,
            speedup_high=speedup.high, latency_s=latency, gb_per_s=ring.task.least_bytes(ring.dims) / latency / 1e9,
            floor_s=self.floor.seconds, memory_floor_s=self.floor.memory_s, of_floor=self.floor.seconds / latency,
            of_memory_floor=self.floor.memory_s / latency, checked=candidate.checked, stopped=stopped,
        )  # fmt: skip

    def _estimate(self, pairs: Pairs, level: float = 0.95) -> Estimate:
        return pairs.speedup(level)

    def _clock(self, arm: Arm, calls: list[int]) -> tuple[float, bool]:
        try:
            sample = arm.worker.run(calls, self._timeout_s, counted=True)
        except WorkerFault as fault:
            raise Unfit(Rejected(cause=fault.cause, reason=fault.reason, case="timed call"), arm.name) from None
        return sample.seconds, sample.preempted


def _timed_fault(fault: Mismatch) -> Rejected:
    return Rejected(cause=fault.cause, reason=fault.reason, case="timed call", max_abs_err=fault.max_abs_err, max_ulp=fault.max_ulp)
