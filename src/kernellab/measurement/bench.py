"""The bench: two arms, interleaved in secret order on fresh inputs, clocked from outside, checked afterwards.

A sample is one command over the first slots of a set, as many as make it long enough to clock; a pair is one sample of
each arm, in random order, on different sets. A pair in which either process lost the processor to somebody else is set
aside (and recorded): its inputs are spent, so it is replaced by a new pair, not repeated. Both arms of a pair run on the
same processor (cores of one machine differ by a per cent or more); a disturbed pair sends the next one to another.

Checks never run out: every call of every try is judged in full against a known answer, however many tries it takes. Where
half of all tries or more had to be set aside, the measurement is disturbed, whatever is left.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from kernellab.core.errors import EnvironmentFault
from kernellab.core.records import STOOD_STILL, Rejected, Timing
from kernellab.core.settings import Effort
from kernellab.measurement.base import Filling, Slots
from kernellab.measurement.roofline import Floor
from kernellab.measurement.stats import Estimate, median, paired_speedup, replicated_speedup
from kernellab.run.base import Runner, Sample, WorkerFault
from kernellab.verdict.numeric import Mismatch

PATIENCE = 2  # tries for a pair: where they do not suffice, half were set aside and the rest is a selection
_LOOKOUTS, _TRIAL_LOOKOUTS = 2, 0.5
TOO_GOOD = 0.8
_HOPELESS, _NEARLY = 0.8, 0.95
_TOO_LONG = 3
_ROUGH = 64
_LOOKS = (3, 5, 7, 9, 11, 15, 21, 31, 41, 61, 81, 121, 161, 201, 241, 301, 401)
Stopped = Literal["raced", "narrow", "budget"]


@dataclass
class Arm:
    """A worker, which outputs it writes (0: the candidate's, 1: the other's), and how many calls make a sample. A trusted
    arm (a baseline) needs cold inputs, but no new ones and no checks. `coming`: the set that its worker has begun on.
    `lasts_s`: what its last sample took."""

    name: str
    worker: Runner
    side: int
    trusted: bool = False
    calls: int = 1
    checked: int = 0
    coming: int | None = None
    lasts_s: float = 0.0


@dataclass
class Pairs:
    """Seconds a call, pair by pair. `disturbed`: half of all tries or more were dropped. The longer arm is disturbed more
    often, and an arm may choose when to be: such figures may flatter, and nothing may be claimed by them."""

    first: list[float] = field(default_factory=list)
    second: list[float] = field(default_factory=list)
    dropped: list[tuple[float, float]] = field(default_factory=list)
    disturbed: bool = False

    def speedup(self, level: float = 0.95) -> Estimate:
        """Of the first arm over the second."""
        return paired_speedup(self.first, self.second, level)

    def settle(self) -> None:
        """Say whether too many were dropped; where none is left, the dropped ones have to serve as figures."""
        self.disturbed = len(self.dropped) >= max(1, len(self.first))
        if not self.first:
            self.first += [d[0] for d in self.dropped]
            self.second += [d[1] for d in self.dropped]
            self.dropped = []


@dataclass(frozen=True)
class Busy:
    """The machine is too busy to tell how fast something is: why."""

    reason: str


class Unfit(Exception):
    """A timed call's output was wrong, or the worker broke off: the measurement is a rejection."""

    def __init__(self, rejected: Rejected, arm: Arm, excess: float = math.inf) -> None:
        super().__init__(rejected.reason)
        self.rejected = rejected
        self.arm = arm
        self.excess = excess


@contextmanager
def _blaming(arm: Arm, case: str) -> Iterator[None]:
    """What its worker does wrong meanwhile is the arm's."""
    try:
        yield
    except WorkerFault as fault:
        raise Unfit(Rejected(cause=fault.cause, reason=fault.reason, case=case), arm) from None


class Bench:
    def __init__(
        self,
        ring: Slots,
        floor: Floor,
        sample_s: float,
        timeout_s: float = 30.0,
        conditions: Callable[[], dict[str, int | str]] = dict,
        floor_again: Callable[[], tuple[Floor, bool]] | None = None,
    ) -> None:
        """`floor_again`: asked when a candidate is faster than the floor allows: the floor, measured again, and whether
        that measurement can be relied on."""
        self.ring = ring
        self.floor = floor
        self._sample_s = sample_s
        self._timeout_s = timeout_s
        self._conditions = conditions
        self._floor_again = floor_again
        self._cpus = sorted(os.sched_getaffinity(0))
        self._cpu = self._cpus[-1]
        self._usual = 0
        self.hopeless = _HOPELESS
        """What stays below this share of the best so far in each of its first pairs is not measured further."""

    def learn_spread(self, same: Pairs) -> None:
        """From a thing paired with itself: the less its pairs differ, the sooner a slower one is told."""
        spread = max(abs(first / second - 1) for first, second in zip(same.first, same.second, strict=True))
        self.hopeless = min(_NEARLY, max(_HOPELESS, 1 - 2 * spread))

    def pair(self, first: Arm, second: Arm, pairs: Pairs) -> None:
        """One sample of each arm on inputs that an untrusted arm's process has never seen, checked afterwards."""
        ring, arms = self.ring, (first, second)
        sets = self._sets(first, second)
        for number, arm in zip(sets, arms, strict=True):
            arm.worker.pin(self._cpu)
            self._prepare(arm, number)
        fillings = [
            None if arm.trusted else ring.fill(number, arm.calls, arm.side)
            for number, arm in zip(sets, arms, strict=True)
        ]
        ring.flush()
        samples: list[Sample] = [Sample(0.0, False)] * 2
        calls = first.calls, second.calls
        for index in (0, 1) if ring.toss() else (1, 0):
            samples[index] = self._clock(arms[index], ring.set_calls(sets[index], calls[index]))
        short = self._lengthen(samples, arms)
        if first.worker is not second.worker:
            self._begin(arms, sets)
        for number, filling, arm in zip(sets, fillings, arms, strict=True):
            if filling is not None:
                arm.checked += self._check(arm, number, filling)
        if short:
            return
        seconds = [sample.seconds / count for sample, count in zip(samples, calls, strict=True)]
        if samples[0].preempted or samples[1].preempted:
            pairs.dropped.append((seconds[0], seconds[1]))
            self._cpu = self._cpus[(self._cpus.index(self._cpu) + 1) % len(self._cpus)]
        else:
            pairs.first.append(seconds[0])
            pairs.second.append(seconds[1])

    def _sets(self, first: Arm, second: Arm) -> tuple[int, int]:
        """Two different sets; an arm that has begun on one gets that one."""
        wanted = first.coming, None if second.coming == first.coming else second.coming
        first.coming = second.coming = None
        while True:
            sets = self.ring.pick_sets()
            if all(number in (None, picked) for number, picked in zip(wanted, sets, strict=True)):
                return sets

    def _begin(self, arms: tuple[Arm, Arm], sets: tuple[int, int]) -> None:
        """While outputs are checked, a worker may load for its next sample: on the set that the other arm had."""
        for arm, number in zip(arms, reversed(sets), strict=True):
            if not arm.trusted and arm.worker.begin(self.ring.set_calls(number, arm.calls)):
                arm.coming = number

    def compare(
        self,
        first: Arm,
        second: Arm,
        most: int,
        enough: Callable[[Pairs], Literal["raced", "narrow"] | None] = lambda _: None,
        lookouts: float = _LOOKOUTS,
        rehearsed: bool = False,
    ) -> tuple[Pairs, Stopped]:
        """Collect pairs until `enough` says so at one of the fixed looks, or `most` are there.

        `lookouts`: how often a call is made alone, by chance, at the beginning and again later. `rehearsed`: among the
        timed samples come some that are like them and not counted, on inputs of every other distribution.
        """
        for arm, opponent in ((second, first), (first, second)):
            self._warm_up(arm, opponent)

        def rehearse(other: int) -> None:
            for arm in (first, second):
                if not arm.trusted:
                    self._rehearse(arm, other)

        pairs = Pairs()
        coming = list(range(self.ring.others())) if rehearsed else []
        while len(pairs.first) < most and len(pairs.first) + len(pairs.dropped) < most * PATIENCE:
            counted = len(pairs.first) + len(pairs.dropped)
            # at once, and later too: what learns from the calls it gets has seen them all only after a while
            if self.ring.toss(lookouts / (_LOOKS[1] if counted < _LOOKS[1] else most)):
                for arm in (first, second):
                    self._look_out(arm)
            if coming and self.ring.toss(len(coming) / max(1, most - len(pairs.first))):
                rehearse(coming.pop())
            self.pair(first, second, pairs)
            self._usual = self._usual if first.trusted else first.calls
            verdict = enough(pairs) if len(pairs.first) in _LOOKS else None
            if verdict is not None:
                pairs.settle()
                return pairs, verdict
        for other in coming:
            rehearse(other)
        pairs.settle()
        return pairs, "budget"

    def _look_out(self, arm: Arm) -> None:
        """A call that also did the later ones' work would be timed for nothing. So run the first of a filled set alone, or
        begin all of them, as in any sample, and stop in the middle: that cannot be told from a sample."""
        if arm.trusted or arm.calls < 2:
            return
        number = self._set(arm)
        self._prepare(arm, number)
        filling = self.ring.fill(number, arm.calls, arm.side)
        self.ring.flush()
        lasts_s = arm.lasts_s or self._sample_s
        after_s = self.ring.moment(2 * lasts_s)  # as often as not it is not stopped
        if self.ring.tells_order and after_s < lasts_s and self._interrupt(arm, number, after_s):
            kept, when = self.ring.in_order(number, filling), "stopped in the middle of a sample, it had written"
        else:
            self._clock(arm, self.ring.set_calls(number, 1))
            kept, when = self.ring.untouched(number, filling), "one call also wrote"
        if not kept:
            reason = f"{when} the outputs of calls that had not been made yet"
            raise Unfit(Rejected(cause="hidden-work", reason=reason, case="timed call"), arm)

    def _interrupt(self, arm: Arm, number: int, after_s: float) -> bool:
        with _blaming(arm, "timed call"):
            return arm.worker.interrupt(self.ring.set_calls(number, arm.calls), after_s)

    def _rehearse(self, arm: Arm, other: int = -1, check: bool = True) -> Sample:
        """A sample as the timed ones, that nobody counts. `other`: with inputs of another distribution in one of its calls;
        what takes a short cut wherever it believes itself timed is wrong on those."""
        number = self._set(arm)
        self._prepare(arm, number)
        filling = self.ring.fill(number, arm.calls, arm.side, other) if check else None
        self.ring.flush()
        sample = self._clock(arm, self.ring.set_calls(number, arm.calls))
        if filling is not None:
            self._check(arm, number, filling)
        return sample

    def prove(self, arm: Arm) -> tuple[str, bool]:
        """One call with a known answer: what is wrong with an arm that is about to be trusted, or '', and whether it can be.

        One whose errors are some times larger than a candidate's may be is rough, and is trusted: being the faster for it
        makes nobody's claim easier. (A sum of millions in one float32 after the other is such a thing.)
        """
        try:
            self._rehearse(arm)
        except Unfit as unfit:
            refuse_standing_still(unfit)
            return unfit.rejected.reason, unfit.excess <= _ROUGH
        return "", True

    def _warm_up(self, arm: Arm, other: Arm) -> None:
        """One uncounted call (thread pools, predictors, lazy libraries) tells how many make a sample.

        A candidate is taken to be as fast as the one before it, or as what it is compared with, unless that call tells
        otherwise: so its first sample is seldom too short, and one that is too long counts all the same.
        """
        if arm.calls > 1:
            return
        if not arm.trusted:
            number, arm.calls = self._set(arm), self._guess(other)
            seconds = self._prepare(arm, number)
            if seconds:
                arm.coming = number
                fits = seconds * arm.calls < _TOO_LONG * self._sample_s
                arm.calls = arm.calls if fits else self._calls_for(seconds)
                return
            arm.calls = 1
        arm.calls = self._calls_for(self._rehearse(arm, check=not arm.trusted).seconds)

    def _guess(self, other: Arm) -> int:
        return self._usual or other.calls

    def expect(self, arm: Arm, other: Arm) -> None:
        """A trial of this arm against the other will come: its worker may load for it from now on."""
        number, _ = self.ring.pick_sets()
        if arm.worker.begin(self.ring.set_calls(number, self._guess(other))):
            arm.coming = number

    def _calls_for(self, seconds: float) -> int:
        return min(self.ring.slots, max(1, math.ceil(self._sample_s / max(seconds, 1e-6))))

    def _set(self, arm: Arm) -> int:
        """The set that it has begun on, or any."""
        number, arm.coming = arm.coming, None
        return self.ring.pick_sets()[0] if number is None else number

    def _lengthen(self, samples: list[Sample], arms: tuple[Arm, Arm]) -> bool:
        """Samples too short to clock well do not count: the next ones take more calls."""
        short = False
        for sample, arm in list(zip(samples, arms, strict=True))[: 1 if arms[0] is arms[1] else 2]:
            if sample.seconds < 0.7 * self._sample_s and arm.calls < self.ring.slots:
                wanted = math.ceil(arm.calls * self._sample_s / max(sample.seconds, 1e-6))
                arm.calls = min(self.ring.slots, max(arm.calls + 1, wanted))
                short = True
        return short

    def trial(self, candidate: Arm, baseline: Arm, effort: Effort, incumbent: float) -> Timing | Rejected | Busy:
        """Measure a candidate, giving up early when it is clearly slower than the best so far (`incumbent` speed-up)."""

        def enough(pairs: Pairs) -> Literal["raced", "narrow"] | None:
            if len(pairs.first) < effort.least_pairs:
                return "raced" if pairs.speedup(0.99).high < self.hopeless * incumbent else None
            if pairs.speedup(0.99).high < incumbent:
                return "raced"
            return "narrow" if pairs.speedup().half_width < effort.narrow else None

        try:
            pairs, stopped = self.compare(candidate, baseline, effort.trial_pairs, enough, _TRIAL_LOOKOUTS)
        except Unfit as unfit:
            return _blame(unfit, candidate)
        return self._timing(candidate, baseline, [pairs], [], stopped)

    def confirm(self, arms: Iterable[tuple[Arm, Arm]], effort: Effort) -> Timing | Rejected | Busy:
        """A fixed number of pairs from each of several processes and one look: no optional stopping behind a claim.

        `arms` gives candidate and baseline, each time in fresh processes; every pair holds a call that is judged in full.
        What is disturbed once is not gone on with.
        """
        groups: list[Pairs] = []
        checked = 0
        for candidate, baseline in islice(arms, effort.processes):
            try:
                pairs, _ = self.compare(candidate, baseline, effort.confirm_pairs // effort.processes, rehearsed=True)
            except Unfit as unfit:
                return _blame(unfit, candidate)
            groups.append(pairs)
            checked += candidate.checked
            candidate.checked = checked
            if pairs.disturbed:
                break
        return self._timing(candidate, baseline, groups, [len(g.first) for g in groups], "budget")

    def _timing(
        self, candidate: Arm, baseline: Arm, groups: list[Pairs], processes: list[int], stopped: Stopped
    ) -> Timing | Rejected | Busy:
        first, second = [s for g in groups for s in g.first], [s for g in groups for s in g.second]
        speedup, latency = replicated_speedup(first, second, processes), median(first)
        disturbed = any(g.disturbed for g in groups)
        if too_good := self._too_good(latency, disturbed):
            return too_good
        ring = self.ring
        return Timing(
            baseline=baseline.name,
            threads=self.floor.threads,
            calls=candidate.calls,
            candidate_s=first,
            baseline_s=second,
            dropped=[d for g in groups for d in g.dropped],
            disturbed=disturbed,
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
            processes=processes,
        )

    def _too_good(self, latency: float, disturbed: bool) -> Rejected | Busy | None:
        """Faster than the machine can be: work is missing. Or the ceilings were taken while others used the machine: they
        are measured again first, and where they cannot be relied on, nothing is said against the candidate."""
        sure = True
        if latency < TOO_GOOD * self.floor.seconds and self._floor_again is not None:
            self.floor, sure = self._floor_again()
        if latency >= TOO_GOOD * self.floor.seconds:
            return None
        figures = f"{latency * 1e6:.1f} us a call, {self.floor.seconds * 1e6:.1f} us ({self.floor.bound})"
        if disturbed or not sure:
            return Busy(f"others use this machine, so what it can do at best cannot be told: {figures}")
        return Rejected(cause="too-good", reason=f"faster than what this machine can do at best: {figures}")

    def _check(self, arm: Arm, number: int, filling: Filling) -> int:
        """How many calls were judged in full."""
        fault, checked = self.ring.check(number, filling)
        if fault is not None:
            raise Unfit(_timed_fault(fault), arm, fault.excess)
        return checked

    def _prepare(self, arm: Arm, number: int) -> float:
        with _blaming(arm, "before a timed call"):
            return arm.worker.prepare(self.ring.set_calls(number, arm.calls), self._timeout_s)

    def _clock(self, arm: Arm, calls: list[int]) -> Sample:
        with _blaming(arm, "timed call"):
            sample = arm.worker.run(calls, self._timeout_s, counted=True)
        if len(calls) == arm.calls:
            arm.lasts_s = sample.seconds
        return sample


def _blame(unfit: Unfit, candidate: Arm) -> Rejected | Busy:
    """A candidate's fault is its rejection; a baseline's is the machine's, and so is whatever stood still."""
    if unfit.rejected.cause == STOOD_STILL:
        return Busy(f"others use this machine: {unfit.arm.name} {unfit.rejected.reason}")
    if unfit.arm is candidate:
        return unfit.rejected
    raise EnvironmentFault(
        f"the baseline {unfit.arm.name} broke off: {unfit.rejected.reason}", "'klab resume' goes on"
    ) from None


def refuse_standing_still(unfit: Unfit) -> None:
    """A baseline is not left out because the machine stood still: whoever is left would be easier to beat."""
    if unfit.rejected.cause == STOOD_STILL:
        raise EnvironmentFault(
            f"the baseline {unfit.arm.name} stood still: {unfit.rejected.reason}", "try again on a quieter machine"
        ) from None


def _timed_fault(fault: Mismatch) -> Rejected:
    return Rejected(
        cause=fault.cause, reason=fault.reason, case="timed call", max_abs_err=fault.max_abs_err, max_ulp=fault.max_ulp
    )
