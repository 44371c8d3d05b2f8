"""Matched pairs: two kernels of one arena, alike but for one factor. No kernel is in two pairs of a comparison.

- A parameter: the same candidate with all other parameters equal; where there are fewer than ENOUGH such pairs (a
  search seldom leaves many), further ones in which one or two other parameters differ.
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

ENOUGH = 12
_MOST_OTHER = 2
"""Parameters in which a pair may differ beside its factor."""


@dataclass(frozen=True)
class Pair:
    """`gain`: logarithm of how many times faster the first level is. `exact`: nothing else differs."""

    gain: float
    trials: tuple[int, ...]
    exact: bool = False


def matched(rows: Sequence[Row], factor: Factor, first: Param, second: Param) -> list[Pair]:
    pairing = {PARAM: _same_but_for, BUILT: _nearest}.get(factor.kind, _between_candidates)
    return pairing([r for r in rows if _is(factor, r, first)], [r for r in rows if _is(factor, r, second)], factor)


def _is(factor: Factor, row: Row, level: Param) -> bool:
    found = factor.level(row)
    return found == level and isinstance(found, bool) == isinstance(level, bool)


def _same_but_for(first: Sequence[Row], second: Sequence[Row], factor: Factor) -> list[Pair]:
    pairs = _near(first, second, factor, 0)
    return pairs if len(pairs) >= ENOUGH else _near(first, second, factor, _MOST_OTHER)


def _nearest(first: Sequence[Row], second: Sequence[Row], factor: Factor) -> list[Pair]:
    return _near(first, second, factor, _MOST_OTHER)


def _near(first: Sequence[Row], second: Sequence[Row], factor: Factor, most: int) -> list[Pair]:
    """Greedy, nearest pairs first, ties by the ledger's order."""
    homes: dict[object, list[int]] = {}
    for j, row in enumerate(second):
        homes.setdefault((row.arena, row.name), []).append(j)
    near = []
    for i, a in enumerate(first):
        for j in homes.get((a.arena, a.name), []):
            unlike = _unlike(a, second[j], factor, most)
            if unlike <= most:
                near.append((unlike, i, j))
    exact = factor.kind == PARAM
    return [_pair(first[i], second[j], exact and not unlike) for unlike, i, j in _disjoint(sorted(near))]


def _unlike(a: Row, b: Row, factor: Factor, most: int) -> int:
    """In how many other parameters two rows differ; counting stops beyond `most`."""
    count = 0
    for name in {*a.params, *b.params}:
        if (factor.kind, factor.name) != (PARAM, name) and a.params.get(name) != b.params.get(name):
            count += 1
            if count > most:
                break
    return count


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


def _pair(a: Row, b: Row, exact: bool) -> Pair:
    return Pair(a.score - b.score, (*a.trials, *b.trials), exact)
