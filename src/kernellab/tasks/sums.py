"""What float32 may lose in a sum, told by its terms: the data decide, not the length.

Terms that are a ULP of the sum or more round at random as they are added: the error grows with the square root of how many
there are. Terms below that may vanish one by one once a large one is in the sum, all of them where it comes first: what
they weigh together is the error. So any order of adding is allowed, up to 1024 ULP; beyond that an order loses what half
precision loses, and is none to be excused. Terms that are all alike round alike: what a running sum of n of them is off by
grows with n, to 3 n / 16 ULP at most, unless they have few bits. Sums of a few terms (see `sparse` in inputs.py) leave next
to nothing, and there low precision shows however long the sum is.
"""

from __future__ import annotations

import numpy as np

from kernellab.tasks.spec import Array

_EPS = 2.0**-23
_FLOOR_ULP = 5.0
_MOST_ULP = 1024.0
_ALIKE = 3 / 16


def any_order_ulp(terms: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """The error of adding these terms in float32 in any order, in ULP of the sum of their magnitudes; axes are kept."""
    size = np.abs(np.asarray(terms, np.float64))
    total = size.sum(axis=axis, keepdims=True)
    small = size < _EPS * total
    kept = size.size // max(1, total.size) - np.count_nonzero(small, axis=axis, keepdims=True)
    lost = np.zeros_like(total)
    if small.any():
        lost = np.where(small, size, 0.0).sum(axis=axis, keepdims=True) / (_EPS * np.where(total > 0, total, 1.0))
    rounded = np.where(_alike(size, total), np.maximum(np.sqrt(kept), _ALIKE * kept), np.sqrt(kept))
    return np.asarray(np.minimum(rounded + lost, _MOST_ULP))


def _alike(size: Array, total: Array) -> Array:
    """Which of the sums have equal terms: those that are as large as their first one times their number."""
    first = size[tuple(slice(0, 1) if one == 1 else slice(None) for one in total.shape)]
    return np.asarray(np.abs(total - size.size // max(1, total.size) * first) <= 1e-9 * total)


def sum_scale(terms: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """`scale` of a sum over `axis`: the terms' magnitudes, widened so that five ULP of it cover any order of adding."""
    size = np.abs(np.asarray(terms, np.float64))
    wide = size.sum(axis=axis, keepdims=True) * (1 + any_order_ulp(size, axis) / _FLOOR_ULP)
    return np.asarray(wide if keepdims else wide.squeeze(axis))


def product_scale(a: Array, b: Array) -> Array:
    """`scale` of a @ b, without the terms in memory: those that are not zero are counted by a product of their own."""
    count = (a != 0).astype(np.float64) @ (b != 0).astype(np.float64)
    wide = 1 + np.minimum(np.sqrt(count), _MOST_ULP) / _FLOOR_ULP
    return np.asarray((np.abs(a) @ np.abs(b)) * wide)
