"""Exact intervals of a proportion (Clopper and Pearson), from the incomplete beta function.

Where hits were seen less often than misses (skipped candidates are tried at a share of 1 in w), the odds among what was
seen are 1/w of the true odds. The interval of the one maps to that of the other, and stays exact.
"""

from __future__ import annotations

import math

from kernellab.core.records import Record

LEVEL = 0.95
_STEPS = 200
_TINY = 1e-300


class Rate(Record):
    """A proportion, its 95 % interval, and the number of trials behind it."""

    value: float
    low: float
    high: float
    n: int

    @staticmethod
    def of(hits: int, misses: int, weight: float = 1.0) -> Rate | None:
        """`weight`: how many hits each one seen stands for, against a miss. None: nothing to say."""
        n = hits + misses
        if not n or not weight:
            return None
        low, high = clopper_pearson(hits, n)
        return Rate(
            value=_odds_times(weight, hits / n), low=_odds_times(weight, low), high=_odds_times(weight, high), n=n
        )

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] of {self.n}"


def _odds_times(weight: float, p: float) -> float:
    return weight * p / (weight * p + 1 - p)


def clopper_pearson(hits: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    tail = (1 - level) / 2
    low = 0.0 if hits <= 0 else _quantile(tail, hits, n - hits + 1)
    high = 1.0 if hits >= n else _quantile(1 - tail, hits + 1, n - hits)
    return low, high


def _quantile(p: float, a: float, b: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if incomplete_beta(middle, a, b) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised I_x(a, b): P(X <= x) of a beta distribution."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the continued fraction converges quickly on one side only
        return 1 - incomplete_beta(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / (a * _fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """1 + d1/(1 + d2/(1 + ...)) from the front, as a ratio of successive terms that never touches zero."""
    value = ratio = 1.0
    inverse = 0.0
    for step in range(1, _STEPS):
        m = step // 2
        if step % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        ratio = 1 + d / (ratio or _TINY)
        inverse = 1 / ((1 + d * inverse) or _TINY)
        change = ratio * inverse
        value *= change
        if abs(change - 1) < 1e-15:
            break
    return value
