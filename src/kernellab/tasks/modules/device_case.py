"""A case of a captured module that is judged where its inputs lie: nothing of it goes through the host unless it is wrong.

The answers are made from inputs that only the laboratory has, after the outputs have been written: in slices where the
device has too little memory for all of them at once.
Covered: the inputs here are copies; whatever a kernel does to the buffers that it was given changes no answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from kernellab.graph.need_torch import need_torch
from kernellab.graph.scale import Judged, rms
from kernellab.tasks.dtypes import limits
from kernellab.tasks.expected import Compared
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

    def compare(self, outputs: Sequence[Any]) -> list[Compared]:
        """Every output, as it stands in its buffer. Slices behind one that is wrong are not looked at."""
        out_of_memory: type[Exception] = need_torch().OutOfMemoryError
        elements = sum(t.numel() for t in (*self.inputs, *outputs))
        *tries, last = self._fitting.counts(elements, self._counts)
        for count in tries:
            try:
                return self._in_slices(outputs, count)
            except out_of_memory:
                need_torch().cuda.empty_cache()
                self._fitting.took(elements, count + 1)
        return self._in_slices(outputs, last)

    def _in_slices(self, outputs: Sequence[Any], count: int) -> list[Compared]:
        """What passes with each slice's own budget passes with the worst one's too; what does not is looked at again."""
        found = self._compared(outputs, self._judged_in(count, fair=False))
        if count > 1 and any(one.suspect for one in found):
            found = self._compared(outputs, self._judged_in(count, fair=True))
        return found

    def _compared(self, outputs: Sequence[Any], slices: Iterator[tuple[slice, list[Judged]]]) -> list[Compared]:
        found: list[Compared] = []
        for here, judged in slices:
            part = [_compared(one, got[here]) for one, got in zip(judged, outputs, strict=True)]
            found = [_worse(a, b) for a, b in zip(part, found or part, strict=True)]
            if any(one.suspect for one in part):
                break
        return found


def _compared(judged: Judged, got: Any) -> Compared:
    value = judged.pair.value
    got = got.reshape(value.shape)
    if judged.exact:
        same = bool((got == value).all())
        return Compared(0.0, 0.0, 0.0, None if same else (expected_of(judged), array(got)))
    scale = owed(judged)
    low, high = bounds(value, scale, judged.budget_ulp, judged.dtype)
    inside = bool(((got >= low) & (got <= high) | got.isnan() & low.isnan()).all())
    del low, high
    absolute, ulps, mean = errors(got, value, scale, judged.dtype)
    suspect = not inside or mean > judged.most_rms_ulp
    whole = (expected_of(judged), array_of_dtype(got)) if suspect else None
    return Compared(absolute, ulps, judged.budget_ulp, whole)


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
    return Compared(
        max(one.absolute, other.absolute),
        max(one.ulps, other.ulps),
        max(one.budget_ulp, other.budget_ulp),
        one.suspect or other.suspect,
    )
