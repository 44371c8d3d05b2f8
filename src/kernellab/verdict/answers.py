"""What the outputs of a case must be, and what stands in them: compared on the host, or where they lie.

Large cases of captured modules stay on the device: inputs are drawn there, answers made there, outputs compared there.
Whatever does not fit its interval is brought to the host, and its comparison decides. One way or the other a verdict says
the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from kernellab.run.base import Call, TensorMemory
from kernellab.tasks.expected import DeviceCase, Expected
from kernellab.tasks.spec import Array, Task
from kernellab.verdict.numeric import Mismatch, errors, explain, rests_on_nothing, within


@dataclass(frozen=True)
class Taken:
    """The outputs of one call: copies of them, or the digests of those that stay where they are. `broken`: the fault where
    a guard band was overwritten."""

    broken: Mismatch | None
    arrays: Sequence[Array] = ()
    digests: Sequence[int] = ()

    def same_bits(self, other: Taken) -> bool:
        return list(self.digests) == list(other.digests) and all(map(_same_bits, self.arrays, other.arrays))


@dataclass(frozen=True)
class CaseResult:
    """`open`: an output that differs where rounding leaves nearly everything undecided."""

    fault: Mismatch | None
    absolute: float = 0.0
    ulps: float = 0.0
    budget: float = 0.0
    open: str = ""


class Answers(Protocol):
    """`on_device`: the outputs are looked at where they lie, and must be judged before they change."""

    on_device: bool

    def judge(self, task: Task, taken: Taken, patterns: Sequence[int | None]) -> CaseResult:
        """Guards first, then every element of every output; how far off the right ones are."""


class HostAnswers:
    on_device = False

    def __init__(self, expected: list[Expected]) -> None:
        self.expected = expected

    def judge(self, task: Task, taken: Taken, patterns: Sequence[int | None]) -> CaseResult:
        if taken.broken is not None:
            return CaseResult(taken.broken)
        found = CaseResult(None)
        for buffer, got, wanted, pattern in zip(task.outputs, taken.arrays, self.expected, patterns, strict=True):
            found = _with(found, buffer.name, got, wanted, pattern)
            if found.fault is not None:
                break
        return found


class DeviceAnswers:
    on_device = True

    def __init__(self, case: DeviceCase, outputs: TensorMemory, call: Call) -> None:
        self._case, self._outputs, self._call = case, outputs, call

    def judge(self, task: Task, taken: Taken, patterns: Sequence[int | None]) -> CaseResult:
        if taken.broken is not None:
            return CaseResult(taken.broken)
        tensors = [self._outputs.tensor(region) for region in self._call.outputs]
        found = CaseResult(None)

        def right(number: int, wanted: Expected, got: Array) -> bool:
            nonlocal found
            found = _with(found, task.outputs[number].name, got, wanted, patterns[number])
            return found.fault is None

        for compared in self._case.compare(tensors, right) or ():
            found = _worst(found, compared.absolute, compared.ulps, compared.budget_ulp)
        return found


def _with(found: CaseResult, name: str, got: Array, wanted: Expected, pattern: int | None) -> CaseResult:
    if not within(got, wanted):
        return CaseResult(explain(name, got, wanted, pattern))
    worst = _worst(found, *errors(got, wanted), wanted.budget_ulp)
    return replace(worst, open=worst.open or name) if rests_on_nothing(got, wanted) else worst


def _worst(found: CaseResult, absolute: float, ulps: float, budget: float) -> CaseResult:
    worst = max(found.absolute, absolute), max(found.ulps, ulps), max(found.budget, budget)
    return CaseResult(None, *worst, open=found.open)


def _same_bits(a: Array, b: Array) -> bool:
    bits = f"u{a.dtype.itemsize}"
    return np.array_equal(a.view(bits), b.view(bits))
