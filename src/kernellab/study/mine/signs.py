"""Is it more than chance? The signed-rank test on paired gains, and what remains of it after many tests.

Where a factor does nothing, each gain is as likely positive as negative; the test's distribution under that is counted
out exactly for up to 60 pairs (ties and all) and taken as normal beyond. Tests of one ledger share trials and are
dependent in no simple way, so the correction is Benjamini and Yekutieli's, which holds under any dependence: of what is
reported, at most a share RATE is expected to be chance. Intervals of what was selected are widened accordingly (their
1 - RATE * selected / tested level), so that selection does not cost coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

RATE = 0.05
_EXACT = 60


def signed_rank_p(gains: Sequence[float]) -> float:
    """Two-sided p of Wilcoxon's signed-rank test; pairs without any difference do not count."""
    values = np.asarray([g for g in gains if g != 0.0], dtype=float)
    if len(values) == 0:
        return 1.0
    ranks = _doubled_midranks(np.abs(values))
    positive = int(ranks[values > 0].sum())
    smaller = min(positive, int(ranks.sum()) - positive)
    return min(1.0, 2 * _tail(ranks, smaller))


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
    harmonic = sum(1 / k for k in range(1, m + 1))
    order = sorted(range(m), key=lambda i: p_values[i], reverse=True)
    found, least = [1.0] * m, 1.0
    for place, i in enumerate(order):
        rank = m - place
        least = min(least, p_values[i] * m * harmonic / rank)
        found[i] = least
    return found


def level_after_selection(selected: int, tested: int, rate: float = RATE) -> float:
    """The level at which the intervals of selected effects still miss no more than a share `rate` of their targets."""
    return 1 - rate * selected / max(1, tested)
