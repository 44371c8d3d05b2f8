"""Score buckets: kernels of clearly different speed, best first; what failed has a bucket of its own at the end.

The rule: a bucket is opened by its fastest kernel (its leader). The next slower one joins while its interval overlaps
the leader's, or while it is within the least width of it. So a new bucket is opened only by a kernel whose interval lies
wholly below the last leader's: nothing is parted by noise. One reason overrules an overlap: medians further apart than
`widest`, since an interval that broad says nothing and would otherwise swallow every bucket below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.search.memory.specimen import Specimen

LEAST = math.log(1.02)
WIDEST = math.log(1.5)
MOST = 8


@dataclass(frozen=True)
class Bucket:
    """`members` best first. `score` is the leader's log speed-up; None for the bucket of failures."""

    members: tuple[Specimen, ...]
    score: float | None

    @property
    def leader(self) -> Specimen:
        return self.members[0]


def buckets(
    specimens: Sequence[Specimen], least: float = LEAST, widest: float = WIDEST, most: int = MOST
) -> list[Bucket]:
    """Of one arena (speed-ups over different baselines do not compare). `least` and `widest` are logarithms of ratios;
    where more than `most` buckets would come out, both grow until they fit."""
    timed = [s for s in specimens if s.timing is not None]
    ordered = sorted(timed, key=lambda s: (-_score(s), s.number))
    found = _group(ordered, least, widest)
    while len(found) > most:
        least, widest = least * 1.5, max(widest, least * 1.5)
        found = _group(ordered, least, widest)
    failed = tuple(s for s in specimens if s.timing is None)
    return [*found, Bucket(failed, None)] if failed else found


def _group(ordered: Sequence[Specimen], least: float, widest: float) -> list[Bucket]:
    groups: list[list[Specimen]] = []
    for specimen in ordered:
        if groups and together(groups[-1][0], specimen, least, widest):
            groups[-1].append(specimen)
        else:
            groups.append([specimen])
    return [Bucket(tuple(g), g[0].score) for g in groups]


def together(leader: Specimen, other: Specimen, least: float = LEAST, widest: float = WIDEST) -> bool:
    """Whether the slower `other` belongs to the leader's bucket."""
    gap = _score(leader) - _score(other)
    return gap <= least or (gap <= widest and other.spread[1] >= leader.spread[0])


def _score(specimen: Specimen) -> float:
    assert specimen.score is not None
    return specimen.score
