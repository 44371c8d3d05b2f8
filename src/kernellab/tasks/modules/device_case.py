"""A case of a captured module that is judged where its inputs lie: nothing of it goes through the host unless it is wrong.

The answers are made from inputs that only the laboratory has, after the outputs have been written: in slices where the
device has too little memory for all of them at once.
Covered: the inputs here are copies; whatever a kernel does to the buffers that it was given changes no answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kernellab.graph.need_torch import need_torch
from kernellab.graph.scale import Judged, rms
from kernellab.tasks.dtypes import limits
from kernellab.tasks.expected import Array, Compared, Expected, Right
from kernellab.tasks.modules.host_arrays import array, array_of_dtype, expected_of
from kernellab.tasks.modules.intervals import bounds, owed
from kernellab.tasks.modules.slices import Fitting

_AT_ONCE = 1 << 26  # elements whose errors are looked at together; a multiple of a block


class InSlices(Protocol):
    def __call__(self, count: int, fair: bool) -> Iterator[tuple[slice, list[Judged]]]: ...


class ModuleCase:
    """`judged_in`: the answers in so many slices; `counts`: into how many they can be cut; `fitting`: in how many they fit
    into memory."""

    def __init__(self, inputs: Sequence[Any], judged_in: InSlices, counts: Sequence[int], fitting: Fitting) -> None:
        self.inputs = inputs
        self._judged_in, self._counts, self._fitting = judged_in, counts, fitting

    def compare(self, outputs: Sequence[Any], right: Right) -> list[Compared] | None:
        """Every output, as it stands in its buffer. Slices behind one that is wrong are not looked at."""
        out_of_memory: type[Exception] = need_torch().OutOfMemoryError
        elements = sum(t.numel() for t in (*self.inputs, *outputs))
        *tries, last = self._fitting.counts(elements, self._counts)
        for count in tries:
            try:
                return self._in_slices(outputs, count, right)
            except out_of_memory:
                need_torch().cuda.empty_cache()
                self._fitting.took(elements, count + 1)
        return self._in_slices(outputs, last, right)

    def _in_slices(self, outputs: Sequence[Any], count: int, right: Right) -> list[Compared] | None:
        """What passes with each slice's own budget passes with the worst one's too; what does not is looked at again."""
        if count > 1 and (found := self._compared(outputs, self._judged_in(count, fair=False), _not_yet)):
            return found
        return self._compared(outputs, self._judged_in(count, fair=True), right)

    def _compared(
        self, outputs: Sequence[Any], slices: Iterator[tuple[slice, list[Judged]]], right: Right
    ) -> list[Compared] | None:
        """One slice that the host finds right excuses no other."""
        found: list[Compared] = []
        for here, judged in slices:
            pairs = [(one, got[here]) for one, got in zip(judged, outputs, strict=True)]
            part = [_compared(*pair) for pair in pairs]
            for number, (one, got) in enumerate(pairs):
                if part[number].suspect and not right(number, expected_of(one), _held(one, got)):
                    return None
            found = [_worse(a, b.errors) for a, b in zip(found or [b.errors for b in part], part, strict=True)]
        return found


@dataclass(frozen=True)
class _Part:
    errors: Compared
    suspect: bool


def _not_yet(number: int, expected: Expected, got: Array) -> bool:
    return False


def _compared(judged: Judged, got: Any) -> _Part:
    value = judged.pair.value
    got = got.reshape(value.shape)
    if judged.exact:
        return _Part(Compared(0.0, 0.0, 0.0), not bool((got == value).all()))
    scale = owed(judged)
    low, high = bounds(value, scale, judged.budget_ulp, judged.dtype)
    inside = bool(((got >= low) & (got <= high) | got.isnan() & low.isnan()).all())
    del low, high
    absolute, ulps, mean = errors(got, value, scale, judged.dtype)
    suspect = not inside or mean > judged.most_rms_ulp
    return _Part(Compared(absolute, ulps, judged.budget_ulp), suspect)


def _held(judged: Judged, got: Any) -> Array:
    """What stands there, as the buffer of the host would hold it."""
    got = got.reshape(judged.pair.value.shape)
    return array(got) if judged.exact else array_of_dtype(got)


def errors(got: Any, value: Any, scale: Any, dtype: str) -> tuple[float, float, float]:
    """The largest error, absolute and in ULPs of the scale, and the largest root mean square of a block's: what
    tasks/oracle.error_ulp and rms_ulp give."""
    info, worst = limits(dtype), (0.0, 0.0, 0.0)
    flat = [one.expand(value.shape).reshape(-1) for one in (got, value, scale)]
    for first in range(0, value.numel(), _AT_ONCE):
        wide, wanted, unit = (one[first : first + _AT_ONCE].double() for one in flat)
        same = (wide == wanted) | wide.isnan() & wanted.isnan()
        difference = (wide - wanted).abs_().nan_to_num_(math.inf, math.inf).masked_fill_(same, 0.0)
        ulps = (difference - info.quiet).clamp_(min=0.0).div_(unit.clamp(min=info.tiny).mul_(info.eps))
        ulps = ulps.nan_to_num_(math.inf, math.inf).masked_fill_(same, 0.0)  # the scale of no number is none either
        here = float(difference.max()), float(ulps.max()), rms(ulps)
        worst = (max(worst[0], here[0]), max(worst[1], here[1]), max(worst[2], here[2]))
    return worst


def _worse(one: Compared, other: Compared) -> Compared:
    return Compared(max(one.absolute, other.absolute), max(one.ulps, other.ulps), max(one.budget_ulp, other.budget_ulp))
