"""Means of values that stand for more of their kind, as tasks of a suite do: with an interval by resampling them.

Timings have intervals of medians, which are exact (stats.py). These are drawn by a seed: the same values, the same digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 10_000
_ENDS = (0.025, 0.975)


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float

    def words(self, several: bool = True) -> str:
        """`several`: there is more than one value, without which there is no interval."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]" if several else f"{self.value:.3f}"


def mean_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """With a 95 % percentile bootstrap. There must be values."""
    known = np.asarray(values, dtype=np.float64)
    low, high = np.quantile(known[_drawn(len(known), seed)].mean(axis=1), _ENDS)
    return Interval(float(known.mean()), float(low), float(high))


def ratio_interval(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Interval:
    """The mean of the second over the mean of the first, neither below 0; place by place they are of the same thing, and are
    drawn together. The first mean must be above 0; an end is infinite where the first is often drawn without a gain."""
    under, over = (np.asarray(values, dtype=np.float64) for values in (first, second))
    drawn = _drawn(len(under), seed)
    below, above = under[drawn].mean(axis=1), over[drawn].mean(axis=1)
    telling = (below > 0) | (above > 0)
    with np.errstate(divide="ignore"):
        ratios = above[telling] / below[telling]
    low, high = np.quantile(ratios, _ENDS, method="nearest")
    return Interval(float(over.mean() / under.mean()), float(low), float(high))


def _drawn(count: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, count, (_RESAMPLES, count))
