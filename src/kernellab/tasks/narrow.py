"""Narrow shapes of operators that look at neighbours: their borders meet."""

from __future__ import annotations

from itertools import cycle

from kernellab.tasks.spec import Dims

_WIDE = (37, 41, 53, 67)


def narrow_shapes(halo: int, axes: tuple[str, str], other: str) -> tuple[Dims, ...]:
    """Each axis as short as 1 to 2 halo + 2, beside an odd and longer one: in all but the last, borders meet, and code that
    treats them apart from the inside has a case of its own for each. The other dim takes these values in turn."""
    short = range(1, 2 * halo + 3)
    wide, third = cycle(_WIDE), cycle(short)
    pairs = [(axes, k) for k in short] + [(axes[::-1], k) for k in short]
    found = [({one: k, two: next(wide)}, next(third)) for (one, two), k in pairs]
    return tuple({axes[0]: dims[axes[0]], axes[1]: dims[axes[1]], other: deep} for dims, deep in found)


def narrow_corners(halo: int, axes: tuple[str, str], other: str) -> tuple[Dims, ...]:
    """The same in half as many shapes, short in both axes: where each costs a compilation."""
    last = 2 * halo + 2
    return tuple({axes[0]: k, axes[1]: last + 1 - k, other: k} for k in range(1, last + 1))
