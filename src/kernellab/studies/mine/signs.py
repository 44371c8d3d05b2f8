"""Is it more than chance? The signed-rank test on paired gains, and what remains of it after many tests.

Where a factor does nothing, each gain is as likely positive as negative; the test's distribution under that is counted
out exactly for up to 60 pairs (ties and all) and taken as normal beyond. Tests are one-sided, one for each direction.
Tests of one ledger share trials and are dependent in no simple way, so the correction is Benjamini and Yekutieli's, which
holds under any dependence: of what is reported, at most a share RATE is expected to be chance. Intervals of what was
selected are widened accordingly (their 1 - RATE * selected / tested level), so that selection does not cost coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

RATE = 0.05
_EXACT = 60


def signed_rank_p(gains: Sequence[float]) -> float:
    """One-sided p of Wilcoxon's signed-rank test, small for gains above zero; those of exactly zero do not count."""
    values = np.asarray([g for g in gains if g != 0.0], dtype=float)
    if len(values) == 0:
        return 1.0
    ranks = _doubled_midranks(np.abs(values))
    return min(1.0, _tail(ranks, int(ranks[values < 0].sum())))


def worth_testing(sizes: Sequence[int], rate: float = RATE) -> int:
    """The least number of pairs with which a test can pass the correction at all: tests that even unanimous pairs could
    not carry through only cost the others. Decided by the numbers of pairs alone, so it favours no outcome."""
    falling = sorted(sizes, reverse=True)
    able = [n for m, n in enumerate(falling, 1) if 2.0**-n <= rate / (m * _harmonic(m))]
    return able[-1] if able else (falling[0] + 1 if falling else 0)


def _doubled_midranks(sizes: np.ndarray) -> np.ndarray:
    """Twice the rank, so that the mean rank of ties is whole."""
    _, inverse, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    doubled = 2 * ends - counts + 1
    found: np.ndarray = doubled[inverse].astype(np.int64)
    return found


def _tail(ranks: np.ndarray, most: int) -> float:
    """P(sum of the ranks with positive sign <= most) under fair signs."""
    if len(ranks) > _EXACT:
        mean, deviation = ranks.sum() / 2, math.sqrt(float((ranks.astype(float) ** 2).sum()) / 4)
        return 0.5 * math.erfc((mean - most - 1) / deviation / math.sqrt(2))
    chance = np.zeros(int(ranks.sum()) + 1)
    chance[0] = 1.0
    for rank in ranks:
        shifted = np.zeros_like(chance)
        shifted[rank:] = chance[: len(chance) - rank]
        chance = 0.5 * (chance + shifted)
    return float(chance[: most + 1].sum())


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Yekutieli's adjusted p-values: below RATE is a discovery at that false discovery rate."""
    m = len(p_values)
    harmonic = _harmonic(m)
    order = sorted(range(m), key=lambda i: p_values[i], reverse=True)
    found, least = [1.0] * m, 1.0
    for place, i in enumerate(order):
        rank = m - place
        least = min(least, p_values[i] * m * harmonic / rank)
        found[i] = least
    return found


def _harmonic(m: int) -> float:
    return sum(1 / k for k in range(1, m + 1))


def level_after_selection(selected: int, tested: int, rate: float = RATE) -> float:
    """The level at which the intervals of selected effects still miss no more than a share `rate` of their targets."""
    return 1 - rate * selected / max(1, tested)
