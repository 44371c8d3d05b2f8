"""The judge: runs an artifact on a table of cases and writes the verdict, from buffers the candidate cannot forge.

Covered: wrong, unwritten, non-finite, non-repeatable outputs; writes outside the buffers; crashes, hangs, floods; a reply
before the work is done. Not covered: anything a kernel does that leaves all outputs right and the clock honest.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kernellab.build.base import Built
from kernellab.core.records import Passed, Rejected, Verdict
from kernellab.run.base import Call, Device, Memory, Runner, WorkerFault
from kernellab.tasks.oracle import Expected
from kernellab.tasks.spec import Array, Task
from kernellab.verify.cases import Case, CaseTable
from kernellab.verify.numeric import Mismatch, errors, explain, poison_pattern, within


class Judge:
    def __init__(self, device: Device, workers: Executor | None = None) -> None:
        self._device = device
        self._workers = workers

    def verify(self, built: Built, table: CaseTable, level: Literal["screen", "full"]) -> Verdict:
        """Every case twice: once judged in full, once more for repeatability."""
        label = "loading"
        table.ready()
        try:
            worker = self._device.start(built, table.inputs, table.outputs, table.calls)
        except WorkerFault as fault:
            return Rejected(cause=fault.cause, reason=fault.reason, case=label)
        workers = self._workers if level == "full" else None  # screening is too small to be shared out
        first: list[list[Array]] = []
        judged: list[Callable[[], _Judged]] = []
        try:
            for number, case in enumerate(table.cases):
                label = case.label
                patterns = poison_outputs(table.outputs, table.calls[number])
                worker.run([number], table.timeouts[number])
                taken = _take(table, number)
                first.append(taken.arrays)
                judged.append(_judgement(workers, table, number, taken, patterns))
                if workers is None and (rejected := _rejection(case, judged[-1]())):
                    return rejected
            if rejected := _first_rejection(table, judged):
                return rejected
            label = "second pass"
            repeatable = self._repeat(worker, table, first)
            if isinstance(repeatable, Rejected):
                return repeatable
        except WorkerFault as fault:
            broke_off = Rejected(cause=fault.cause, reason=fault.reason, case=label)
            return _first_rejection(table, judged) or broke_off  # an earlier case may still be with a worker
        finally:
            worker.close()
        found = [judgement() for judgement in judged]
        return Passed(
            level=level,
            cases=len(table.cases),
            max_abs_err=max(f.absolute for f in found),
            max_ulp=max(f.ulps for f in found),
            budget_ulp=max(f.budget for f in found),
            deterministic=repeatable,
        )

    def _repeat(self, worker: Runner, table: CaseTable, first: list[list[Array]]) -> bool | Rejected:
        """All cases once more in one go; True when every bit comes out as before.

        Backwards, so that the last call is made twice in a row: an output left alone because nothing changed would show.
        """
        patterns = [poison_outputs(table.outputs, call) for call in table.calls]
        worker.run(range(len(table.calls) - 1, -1, -1), sum(table.timeouts), steady=True)
        worker.end()
        same = True
        for number, case in enumerate(table.cases):
            taken = _take(table, number)
            if not taken.broken and all(_same_bits(a, b) for a, b in zip(first[number], taken.arrays, strict=True)):
                continue  # as before, and that was right
            fault = _judge_case(table, number, taken, patterns[number]).fault
            if fault is not None:
                return Rejected(
                    cause="out-of-bounds" if fault.cause == "out-of-bounds" else "nondeterministic",
                    reason=f"right at first, then wrong: {_discreet(fault.reason, case)}",
                    case=case.label,
                )
            same = False
        return same


@dataclass(frozen=True)
class _Taken:
    """The outputs of one call, and the fault where a guard band was overwritten."""

    arrays: list[Array]
    broken: Mismatch | None


@dataclass(frozen=True)
class _Judged:
    fault: Mismatch | None
    absolute: float = 0.0
    ulps: float = 0.0
    budget: float = 0.0


def _judgement(
    workers: Executor | None, table: CaseTable, number: int, taken: _Taken, patterns: list[int]
) -> Callable[[], _Judged]:
    """What gives a case's judgement: made now, or by a worker meanwhile."""
    if workers is not None:
        return workers.submit(_judge_case, table, number, taken, patterns).result
    judged = _judge_case(table, number, taken, patterns)
    return lambda: judged


def _take(table: CaseTable, number: int) -> _Taken:
    call = table.calls[number]
    broken = guard_fault(table.task, table.outputs, call)
    return _Taken([np.array(table.outputs.read(region)) for region in call.outputs], broken)


def _judge_case(table: CaseTable, number: int, taken: _Taken, patterns: list[int]) -> _Judged:
    """Guards first, then every element of every output; how far off the right ones are."""
    if taken.broken is not None:
        return _Judged(taken.broken)
    worst_abs = worst_ulp = budget = 0.0
    rows = zip(table.task.outputs, taken.arrays, table.expected[number], patterns, strict=True)
    for buffer, got, wanted, pattern in rows:
        if not within(got, wanted):
            return _Judged(explain(buffer.name, got, wanted, pattern))
        absolute, ulps = errors(got, wanted)
        worst_abs, worst_ulp = max(worst_abs, absolute), max(worst_ulp, ulps)
        budget = max(budget, wanted.budget_ulp)
    return _Judged(None, worst_abs, worst_ulp, budget)


def _first_rejection(table: CaseTable, judged: Sequence[Callable[[], _Judged]]) -> Rejected | None:
    """The first case that was judged wrong, if any: the same whoever judged it, and however far the artifact came."""
    rejections = (_rejection(case, judgement()) for case, judgement in zip(table.cases, judged, strict=False))
    return next(filter(None, rejections), None)


def _rejection(case: Case, judged: _Judged) -> Rejected | None:
    fault = judged.fault
    if fault is None:
        return None
    return Rejected(
        cause=fault.cause,
        reason=_discreet(fault.reason, case),
        case=case.label,
        max_abs_err=fault.max_abs_err,
        max_ulp=fault.max_ulp,
    )


def _same_bits(a: Array, b: Array) -> bool:
    bits = f"u{a.dtype.itemsize}"
    return np.array_equal(a.view(bits), b.view(bits))


def _discreet(reason: str, case: Case) -> str:
    """Places and sizes would give a held-out shape away."""
    return f"{reason.split(':')[0]}: wrong at a held-out shape" if case.group == "held-out" else reason


def poison_outputs(outputs: Memory, call: Call) -> list[int]:
    """Poison every output of a call and renew its guards; returns the secret patterns."""
    patterns = [poison_pattern(region.dtype, secrets.randbits(64)) for region in call.outputs]
    for region, pattern in zip(call.outputs, patterns, strict=True):
        outputs.fill(region, pattern)
    return patterns


def guard_fault(task: Task, outputs: Memory, call: Call) -> Mismatch | None:
    """Which output was written beyond its ends, if any."""
    for buffer, region in zip(task.outputs, call.outputs, strict=True):
        side = outputs.intact(region)
        if side:
            return Mismatch("out-of-bounds", f"wrote {side} the buffer of '{buffer.name}'", None, None)
    return None


def check_outputs(
    task: Task, outputs: Memory, call: Call, expected: Sequence[Expected], patterns: Sequence[int]
) -> Mismatch | None:
    """Guards first, then every element of every output."""
    fault = guard_fault(task, outputs, call)
    if fault is not None:
        return fault
    for buffer, region, wanted, pattern in zip(task.outputs, call.outputs, expected, patterns, strict=True):
        got = outputs.read(region)
        if not within(got, wanted):
            return explain(buffer.name, got, wanted, pattern)
    return None
