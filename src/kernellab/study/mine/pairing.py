"""Matched pairs: two kernels of one arena, alike but for one factor. No kernel is in two pairs of a comparison.

- A parameter: the same candidate with all other parameters equal.
- A structure of the artifact (registers, spills): the same candidate, as few other parameters different as possible.
- A structure of the source (passes, vector width): between candidates, and all trials of a candidate share it; so the
  unit is a pair of candidates in an arena, each with the median of its trials, never a pair of trials.

Pairs are chosen by parameters and names alone, never by outcomes: exchanging the outcomes within a pair is then as
likely as not where the factor does nothing, which is all that the test in signs.py needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.core.records import Param
from kernellab.measure.stats import median
from kernellab.study.mine.factors import BUILT, PARAM, Factor
from kernellab.study.mine.table import Row

_MOST_OTHER = 2
"""Parameters in which a pair matched by its artifact's structure may differ."""


@dataclass(frozen=True)
class Pair:
    """`gain`: logarithm of how many times faster the first level is."""

    gain: float
    trials: tuple[int, ...]


def matched(rows: Sequence[Row], factor: Factor, first: Param, second: Param) -> list[Pair]:
    pairing = {PARAM: _same_but_for, BUILT: _nearest}.get(factor.kind, _between_candidates)
    return pairing([r for r in rows if _is(factor, r, first)], [r for r in rows if _is(factor, r, second)], factor)


def _is(factor: Factor, row: Row, level: Param) -> bool:
    found = factor.level(row)
    return found == level and isinstance(found, bool) == isinstance(level, bool)


def _same_but_for(first: Sequence[Row], second: Sequence[Row], factor: Factor) -> list[Pair]:
    def context(row: Row) -> object:
        return row.arena, row.name, tuple(sorted((k, v) for k, v in row.params.items() if k != factor.name))

    others = {context(row): row for row in second}
    return [_pair(row, others[context(row)]) for row in first if context(row) in others]


def _nearest(first: Sequence[Row], second: Sequence[Row], factor: Factor) -> list[Pair]:
    """Greedy, nearest pairs first, ties by the ledger's order."""
    near = []
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            if (a.arena, a.name) == (b.arena, b.name):
                unlike = sum(a.params.get(k) != b.params.get(k) for k in {*a.params, *b.params})
                if unlike <= _MOST_OTHER:
                    near.append((unlike, i, j))
    return [_pair(first[i], second[j]) for _, i, j in _disjoint(sorted(near))]


def _disjoint(near: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    taken_first: set[int] = set()
    taken_second: set[int] = set()
    chosen = []
    for pair in near:
        if pair[1] not in taken_first and pair[2] not in taken_second:
            chosen.append(pair)
            taken_first.add(pair[1])
            taken_second.add(pair[2])
    return chosen


def _between_candidates(first: Sequence[Row], second: Sequence[Row], factor: Factor) -> list[Pair]:
    pairs = []
    for arena in dict.fromkeys(r.arena for r in first):
        one, other = (_by_name([r for r in side if r.arena == arena]) for side in (first, second))
        for a, b in zip(one, other, strict=False):
            gain = median([r.score for r in one[a]]) - median([r.score for r in other[b]])
            pairs.append(Pair(gain, tuple(n for r in (*one[a], *other[b]) for n in r.trials)))
    return pairs


def _by_name(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {name: [r for r in rows if r.name == name] for name in sorted({r.name for r in rows})}


def _pair(a: Row, b: Row) -> Pair:
    return Pair(a.score - b.score, (*a.trials, *b.trials))
