"""Paired ratios, their median, and its interval.

The interval is the percentile bootstrap of the median, computed exactly: a resample of n values has its median at or
below the k-th smallest of the sample exactly when at least half of its n draws fall among the k smallest, a binomial
probability. So there is no resampling noise and no seed, and an auditor gets the same digits.

Pairs of one process share its luck (which pages, which addresses): the bootstrap does not see that. So a confirmation is
several processes, and its interval also covers Student's interval of the mean over their medians.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

LEVEL = 0.95
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""The 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom."""


@dataclass(frozen=True)
class Estimate:
    """A median with its interval and the number of values behind it."""

    value: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Relative to the value: how far the interval reaches, at most, on either side."""
        return max(self.high - self.value, self.value - self.low) / self.value


def median(values: Sequence[float]) -> float:
    return _middle(sorted(values))


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else 0.5 * (ordered[half - 1] + ordered[half])


def estimate(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Median and exact-bootstrap percentile interval; the smallest and largest value when there are few."""
    ordered = sorted(values)
    low, high = _ranks(len(ordered), level)
    return Estimate(_middle(ordered), ordered[low], ordered[high], len(ordered))


def paired_speedup(candidate_s: Sequence[float], baseline_s: Sequence[float], level: float = LEVEL) -> Estimate:
    """Speed-up of the candidate: median of baseline/candidate over the pairs."""
    return estimate([b / c for c, b in zip(candidate_s, baseline_s, strict=True)], level)


def replicated_speedup(candidate_s: Sequence[float], baseline_s: Sequence[float], processes: Sequence[int]) -> Estimate:
    """The same over several processes, which gave so many pairs each; one process, or none named, is the plain one."""
    pooled = paired_speedup(candidate_s, baseline_s)
    if len(processes) < 2:
        return pooled
    ends = list(accumulate(processes))
    medians = [
        math.log(paired_speedup(candidate_s[end - count : end], baseline_s[end - count : end]).value)
        for end, count in zip(ends, processes, strict=True)
    ]
    centre, reach = statistics.fmean(medians), _reach(medians)
    low, high = math.exp(centre - reach), math.exp(centre + reach)
    return Estimate(pooled.value, min(pooled.low, low), max(pooled.high, high), pooled.n)


def _reach(values: Sequence[float]) -> float:
    """Half the width of Student's 95 % interval of the mean."""
    quantile = _STUDENT[min(len(values) - 1, len(_STUDENT)) - 1]
    return quantile * statistics.stdev(values) / math.sqrt(len(values))


@lru_cache(maxsize=4096)
def _ranks(n: int, level: float) -> tuple[int, int]:
    """Zero-based ranks of the interval's ends among n sorted values."""
    if n < 1:
        raise ValueError("no values")
    tail = (1 - level) / 2
    low = next(k for k in range(1, n + 1) if _at_least(n, k, n // 2 + n % 2) >= tail) - 1
    high = next(k for k in range(1, n + 1) if _at_least(n, k, n // 2 + 1) >= 1 - tail) - 1
    return low, high


def _at_least(n: int, k: int, hits: int) -> float:
    """P(Binomial(n, k/n) >= hits)."""
    p = k / n
    if p >= 1:
        return 1.0
    log_p, log_q = math.log(p), math.log1p(-p)
    terms = [
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * log_p + (n - i) * log_q
        for i in range(hits, n + 1)
    ]
    return math.fsum(math.exp(t) for t in terms)
