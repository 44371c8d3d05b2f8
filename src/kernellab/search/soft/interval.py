"""Exact intervals of a proportion (Clopper and Pearson), from the incomplete beta function.

Counts need not be whole: where trials have different weights, the proportion and the effective number of trials go in
(Korn and Graubard); with equal weights that is the exact interval again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

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
    def of(rows: Iterable[tuple[bool, float]]) -> Rate | None:
        """From hits with their weights; None: nothing to say."""
        given = [(hit, weight) for hit, weight in rows if weight > 0]
        if not given:
            return None
        total = math.fsum(w for _, w in given)
        value = min(1.0, math.fsum(w for hit, w in given if hit) / total)
        effective = total**2 / math.fsum(w**2 for _, w in given)
        low, high = clopper_pearson(value * effective, effective)
        return Rate(value=value, low=min(low, value), high=max(high, value), n=len(given))

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] of {self.n}"


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
