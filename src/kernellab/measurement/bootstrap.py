"""The mean of values that stand for more of their kind, as tasks of a suite do: with an interval by resampling them.

Timings have intervals of medians, which are exact (stats.py). These are drawn by a seed: the same values, the same digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float


def mean_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """With a 95 % percentile bootstrap. There must be values."""
    known = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(known), (_RESAMPLES, len(known)))
    low, high = np.quantile(known[drawn].mean(axis=1), (0.025, 0.975))
    return Interval(float(known.mean()), float(low), float(high))
