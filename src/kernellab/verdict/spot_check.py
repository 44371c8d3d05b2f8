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
            drawn = _places(1, got.size, dice)
            if any(rms_ulp(*self._there(got, low, high, places)) > self.most_rms_ulp for places in drawn):
                return True
        if self.shared is None:
            return False
        length = got.shape[-1]
        drawn = _places(got.size // length, length, dice)
        return any(self._own_is_over(got, low, high, places) for places in drawn)

    def _own_is_over(self, got: Array, low: Array, high: Array, places: Array) -> bool:
        assert self.shared is not None, "asked for"
        shared = self.shared.reshape(-1)[places[:, :1] // got.shape[-1]]
        return own_is_over(*self._there(got, low, high, places), shared, OWN_SHARE * self.budget_ulp)

    def _there(self, got: Array, low: Array, high: Array, places: Array) -> tuple[Array, Array, Array]:
        """The elements there, what they should be, and their scale."""
        here, least, most = (a.reshape(-1)[places] for a in (got, low, high))
        least, most = least.astype(np.float64), most.astype(np.float64)
        scale = (most - least) / (2 * self.budget_ulp * limits(got.dtype).eps)
        return here, (least + most) / 2, scale


def _places(rows: int, length: int, dice: np.random.Generator) -> list[Array]:
    """Flat places of blocks, a row a block, as a verdict has them: some whole ones, and some of those that are left at the
    ends of rows; none where they are too short to say anything."""
    whole, rest = divmod(length, BLOCK)
    kinds = [(BLOCK, whole, 0), (rest, int(rest >= FEWEST), whole * BLOCK)]
    return [_drawn(rows, length, kind, dice) for kind in kinds if kind[1]]


def _drawn(rows: int, length: int, kind: tuple[int, int, int], dice: np.random.Generator) -> Array:
    """Of blocks of this size, so many a row, from this column on."""
    size, each, first = kind
    row, column = np.divmod(dice.integers(rows * each, size=min(_BLOCKS, rows * each)), each)
    return np.asarray((row * length + first + column * size)[:, None] + np.arange(size))
