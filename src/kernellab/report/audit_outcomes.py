"""The audit of what a run came to: its results are those that its confirmations give, its end is all of them.

Covered: a confirmed kernel that the result passes over or calls something else; a figure in the words of a result that is
not its own; results left out; a profile of another kernel, or with other figures than the clock gave; a result whose kernel
a sanitizer found fault with. Not covered: the words of a result beyond their figures; counters that were made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kernellab.core.records import AnyTrial, Confirmation, FailedTrial, Timing
from kernellab.evaluate.one_timing import figure_problem
from kernellab.ledger.records import (
    AnyResult,
    Calibration,
    End,
    Judged,
    ProfileReport,
    Published,
    Resume,
    SanitizerReport,
    Unpublished,
)
from kernellab.ledger.run import place_of
from kernellab.measurement.profile import from_timing
from kernellab.measurement.winning import too_busy

_FACTOR = re.compile(r"\d+\.\d+(?=x\b)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class OutcomeAudit:
    """`trials`, `stages`: the auditor's own trials, and calibrations by place, which grow as it reads."""

    def __init__(self, trials: Sequence[AnyTrial], stages: Mapping[str, Calibration]) -> None:
        self._trials, self._stages = trials, stages
        self._confirmed: dict[int, Confirmation] = {}
        self._since: dict[str, list[Confirmation]] = {}
        """By place, confirmations that its result has to reckon with: those since the last one, or since the run went on."""
        self._results: dict[str, AnyResult] = {}
        self._faulty: set[str] = set()

    def problems(self, record: object) -> Iterator[str]:
        match record:
            case Confirmation():
                self._confirmed[record.trial] = record
                self._since.setdefault(place_of(record.task, record.dims), []).append(record)
            case Resume():
                self._since.clear()
            case SanitizerReport():
                self._faulty |= {record.artifact} if record.findings else set()
            case ProfileReport():
                yield from self._profile(record)
            case Published() | Unpublished() | Judged():
                yield from self._result(record)
            case End():
                yield from self._end(record)

    def _result(self, said: AnyResult) -> Iterator[str]:
        place = place_of(said.task, said.dims)
        self._results[place] = said
        held = [(c, c.timing) for c in self._since.pop(place, []) if c.timing is not None]
        if isinstance(said, Unpublished):
            if held:
                yield f"says '{said.status}' though trial {held[-1][0].trial} was confirmed and timed"
            return
        own = self._confirmed.get(said.trial)
        if not isinstance(said, Published) or own is None or own.timing is None:
            return
        yield from self._status(said, own, own.timing, self._stages[place])
        best = max(((c.win, t.speedup_low, c.trial) for c, t in held), default=None)
        if best is not None and best[:2] > (own.win, own.timing.speedup_low):
            yield f"publishes trial {said.trial}, and trial {best[2]} was confirmed to be better"

    def _status(self, said: Published, own: Confirmation, timing: Timing, stage: Calibration) -> Iterator[str]:
        if not own.win:
            wanted = "busy" if too_busy(timing, stage) else "nothing-better"
            if said.status != wanted:
                yield f"says '{said.status}', its confirmation gives '{wanted}'"
        words = said.reason.replace(said.task, "").replace(timing.baseline, "")
        for factor in _FACTOR.findall(words):
            if factor != f"{timing.speedup:.3f}":
                yield f"speaks of {factor}x, its confirmation of {timing.speedup:.3f}x"

    def _profile(self, said: ProfileReport) -> Iterator[str]:
        trial, own = self._trials[said.trial], self._confirmed.get(said.trial)
        place = place_of(said.task, said.dims)
        if isinstance(trial, FailedTrial) or trial.artifact.id != said.artifact:
            yield f"profiles other machine code than that of trial {said.trial}"
        elif place_of(trial.task, trial.dims) != place or own is None or own.timing is None:
            yield f"profiles trial {said.trial}, which was not confirmed there"
        elif said.source == "timing":
            stage = self._stages[place]
            derived = from_timing(own.timing, stage.flops, stage.ceilings.flops, said.reason)
            for name, wanted in derived.figures.items():
                if problem := figure_problem(name, said.figures.get(name, 0.0), wanted):
                    yield problem
            told = set(_NUMBER.findall(" ".join(derived.lines())))
            if other := [n for n in _NUMBER.findall(" ".join(said.lines)) if n not in told]:
                yield f"speaks of {other[0]} in the lines of a profile, which its figures do not give"

    def _end(self, said: End) -> Iterator[str]:
        if self._results.keys() != {place_of(r.task, r.dims) for r in said.results}:
            yield "leaves results out that were recorded before"
        for confirmation in (c for waiting in self._since.values() for c in waiting if c.timing is not None):
            yield f"ends without a result for trial {confirmation.trial}, which was confirmed"
        for result in said.results:
            if result.trial is None:
                continue
            trial, own = self._trials[result.trial], self._confirmed.get(result.trial)
            made = [a for a in (getattr(trial, "artifact", None), own and own.artifact) if a]
            if any(a.id in self._faulty for a in made):
                yield f"ends with trial {result.trial}, with which a sanitizer found fault"
