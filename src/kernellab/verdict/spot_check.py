"""Errors of neighbours at a few places of an output whose interval alone is known: does it deserve a closer look?

A verdict holds neighbours together closer than each of them (numeric.py). Of a timed call the laboratory keeps the ends of
the interval and no more; their middle is the value to half an ULP, their distance its scale. Covered: a kernel that is
rougher where it is timed than where it is judged. Not covered: one that is so in less than about one block of fifty; and
16-bit outputs, where half an ULP is all there is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernellab.graph.blocks import BLOCK, FEWEST
from kernellab.tasks.dtypes import is_short, limits
from kernellab.tasks.expected import Expected
from kernellab.tasks.oracle import OWN_SHARE, own_is_over, rms_ulp
from kernellab.tasks.spec import Array

_BLOCKS = 64


@dataclass(frozen=True)
class Closeness:
    """What an output is held to besides its interval."""

    budget_ulp: float
    most_rms_ulp: float
    shared: Array | None

    @classmethod
    def of(cls, expected: Expected) -> Closeness:
        return cls(expected.budget_ulp, expected.most_rms_ulp, expected.shared)

    def doubts(self, got: Array, low: Array, high: Array, dice: np.random.Generator) -> bool:
        """Whether some blocks, drawn by `dice`, are further off than their like may be. Each element is in its interval."""
        if is_short(got.dtype) or self.budget_ulp <= 0:
            return False
        if math.isfinite(self.most_rms_ulp):
            places = _places(1, got.size, dice)
            if places.size and rms_ulp(*self._there(got, low, high, places)) > self.most_rms_ulp:
                return True
        if self.shared is None:
            return False
        length = got.shape[-1]
        places = _places(got.size // length, length, dice)
        if not places.size:
            return False
        shared = self.shared.reshape(-1)[places[:, :1] // length]
        return own_is_over(*self._there(got, low, high, places), shared, OWN_SHARE * self.budget_ulp)

    def _there(self, got: Array, low: Array, high: Array, places: Array) -> tuple[Array, Array, Array]:
        """The elements there, what they should be, and their scale."""
        here, least, most = (a.reshape(-1)[places] for a in (got, low, high))
        least, most = least.astype(np.float64), most.astype(np.float64)
        scale = (most - least) / (2 * self.budget_ulp * limits(got.dtype).eps)
        return here, (least + most) / 2, scale


def _places(rows: int, length: int, dice: np.random.Generator) -> Array:
    """Flat places of whole blocks, a row a block; none where rows are too short to say anything."""
    size = min(BLOCK, length)
    each = length // size if size >= FEWEST else 0
    block = dice.integers(rows * each, size=min(_BLOCKS, rows * each)) if each else np.empty(0, np.int64)
    start = block // max(1, each) * length + block % max(1, each) * size
    return np.asarray(start[:, None] + np.arange(size))
