"""The judge: runs an artifact on a table of cases and writes the verdict, from buffers the candidate cannot forge.

Covered: wrong, unwritten, non-finite, non-repeatable outputs; writes outside the buffers; crashes, hangs, floods; a reply
before the work is done. Not covered: anything a kernel does that leaves all outputs right and the clock honest.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Literal

import numpy as np

from kernellab.build.base import Built
from kernellab.core.records import Passed, Rejected, Verdict
from kernellab.run import cpu
from kernellab.run.arena import Arena
from kernellab.run.cpu import Call
from kernellab.run.worker import Worker, WorkerFault
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.oracle import Expected
from kernellab.tasks.spec import Array, Task
from kernellab.verify.cases import Case, CaseTable
from kernellab.verify.numeric import Mismatch, errors, explain, poison, within


class Judge:
    def __init__(self, sandbox: Sandbox, threads: int, cpus: Sequence[int]) -> None:
        self._sandbox = sandbox
        self._threads = threads
        self._cpus = cpus

    def verify(self, built: Built, table: CaseTable, level: Literal["screen", "full"]) -> Verdict:
        """Every case twice: once judged in full, once more for repeatability."""
        label = "loading"
        try:
            worker = cpu.start(
                self._sandbox, built, table.inputs, table.outputs, table.calls, self._threads, self._cpus
            )
        except WorkerFault as fault:
            return Rejected(cause=fault.cause, reason=fault.reason, case=label)
        worst_abs = worst_ulp = budget = 0.0
        first: list[list[Array]] = []
        try:
            for number, case in enumerate(table.cases):
                label = case.label
                found = self._once(worker, table, number)
                if isinstance(found, Mismatch):
                    return Rejected(
                        cause=found.cause,
                        reason=_discreet(found.reason, case),
                        case=label,
                        max_abs_err=found.max_abs_err,
                        max_ulp=found.max_ulp,
                    )
                first.append(found)
                for got, expected in zip(found, table.expected[number], strict=True):
                    absolute, ulps = errors(got, expected)
                    worst_abs, worst_ulp = max(worst_abs, absolute), max(worst_ulp, ulps)
                    budget = max(budget, expected.budget_ulp)
            label = "second pass"
            repeatable = self._repeat(worker, table, first)
            if isinstance(repeatable, Rejected):
                return repeatable
        except WorkerFault as fault:
            return Rejected(cause=fault.cause, reason=fault.reason, case=label)
        finally:
            worker.close()
        return Passed(
            level=level,
            cases=len(table.cases),
            max_abs_err=worst_abs,
            max_ulp=worst_ulp,
            budget_ulp=budget,
            deterministic=repeatable,
        )

    def _repeat(self, worker: Worker, table: CaseTable, first: list[list[Array]]) -> bool | Rejected:
        """All cases once more in one go; True when every bit comes out as before."""
        patterns = [poison_outputs(table.outputs, call) for call in table.calls]
        worker.run(range(len(table.calls)), sum(table.timeouts))
        worker.end()
        same = True
        for case, call, expected, pattern, before in zip(
            table.cases, table.calls, table.expected, patterns, first, strict=True
        ):
            fault = check_outputs(table.task, table.outputs, call, expected, pattern)
            if fault is not None:
                return Rejected(
                    cause="out-of-bounds" if fault.cause == "out-of-bounds" else "nondeterministic",
                    reason=f"right at first, then wrong: {_discreet(fault.reason, case)}",
                    case=case.label,
                )
            now = [table.outputs.array(region) for region in call.outputs]
            same &= all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(before, now, strict=True))
        return same

    def _once(self, worker: Worker, table: CaseTable, number: int) -> list[Array] | Mismatch:
        call = table.calls[number]
        patterns = poison_outputs(table.outputs, call)
        worker.run([number], table.timeouts[number])
        fault = check_outputs(table.task, table.outputs, call, table.expected[number], patterns)
        if fault is not None:
            return fault
        return [table.outputs.array(region).copy() for region in call.outputs]


def _discreet(reason: str, case: Case) -> str:
    """Places and sizes would give a held-out shape away."""
    return f"{reason.split(':')[0]}: wrong at a held-out shape" if case.group == "held-out" else reason


def poison_outputs(outputs: Arena, call: Call) -> list[int]:
    """Poison every output of a call and renew its guards; returns the secret patterns."""
    for region in call.outputs:
        outputs.rearm(region)
    return [poison(outputs.array(region), secrets.randbits(64)) for region in call.outputs]


def check_outputs(
    task: Task, outputs: Arena, call: Call, expected: Sequence[Expected], patterns: Sequence[int]
) -> Mismatch | None:
    """Guards first, then every element of every output."""
    for buffer, region, wanted, pattern in zip(task.outputs, call.outputs, expected, patterns, strict=True):
        side = outputs.intact(region)
        if side:
            return Mismatch("out-of-bounds", f"wrote {side} the buffer of '{buffer.name}'", None, None)
        got = outputs.array(region)
        if not within(got, wanted):
            return explain(buffer.name, got, wanted, pattern)
    return None
