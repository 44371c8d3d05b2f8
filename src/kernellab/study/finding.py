"""What a statistic comes to: a figure with its interval, or the reason why there is none here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernellab.measure.stats import estimate

BEYOND = 1e30
"""What stands for an error that is not finite: larger than any bound, and still a number."""


@dataclass(frozen=True)
class Finding:
    """`n` values; `trials`: the records they come from; `says`: what else there is to know."""

    value: float
    low: float
    high: float
    n: int
    trials: tuple[int, ...]
    says: str = ""


@dataclass(frozen=True)
class NotTestable:
    reason: str


def of_median(values: Sequence[float], trials: Sequence[int], level: float, says: str = "") -> Finding:
    """The median with its exact-bootstrap interval, as everywhere in the laboratory."""
    found = estimate(values, level)
    return Finding(found.value, found.low, found.high, found.n, _once(trials), says)


def of_share(hits: int, n: int, trials: Sequence[int], level: float, says: str = "") -> Finding:
    """A share with its exact binomial interval (Clopper and Pearson's)."""
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else _solve(lambda p: 1 - _below(hits, n, p), tail)
    high = 1.0 if hits == n else _solve(lambda p: 1 - _below(hits + 1, n, p), 1 - tail)
    return Finding(hits / n, low, high, n, _once(trials), says)


def _once(trials: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(set(trials)))


def _below(hits: int, n: int, p: float) -> float:
    """P(Binomial(n, p) < hits)."""
    return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(hits))


def _solve(rising: Callable[[float], float], target: float) -> float:
    """Where a rising function of a probability reaches the target, by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < target else (low, middle)
    return (low + high) / 2
