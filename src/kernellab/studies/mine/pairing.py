"""Matched pairs: two units alike but for one factor, one value a pair. No unit is in two pairs of a comparison.

A unit is what has its level by itself: a combination of parameters of a candidate or, for a structure of the source, the
whole candidate, since all of its trials share that. What a pair gains is averaged over the arenas in which both were
tried: another shape is another look at the same two units, not another pair.

- A parameter: the same candidate with all other parameters equal; where there are fewer than ENOUGH such pairs (a
  search seldom leaves many), further ones in which one or two other parameters differ.
- A structure of the artifact (registers, spills): the same candidate, as few other parameters different as possible.
- A structure of the source (passes, vector width): between candidates, each with the median of its trials in an arena.

Pairs are chosen by parameters, names and order alone, never by outcomes. A search, though, goes on from what came out
well, so that of two neighbours the first was flattered by the luck that led to the second. Hence `improving`: only
looks in which the slower level was tried first, where this luck speaks against the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from kernellab.core.records import Param
from kernellab.measurement.stats import median
from kernellab.studies.mine.factors import PARAM, WRITTEN, Factor
from kernellab.studies.mine.table import Arena, Row

ENOUGH = 12
_MOST_OTHER = 2
"""Parameters in which a pair may differ beside its factor."""
_Look = tuple[list[Row], list[Row]]
"""The rows of two units in one arena."""


@dataclass(frozen=True)
class Pair:
    """`gain`: logarithm of how many times faster the first level is. `exact`: nothing else differs."""

    gain: float
    trials: tuple[int, ...]
    exact: bool = False


@dataclass
class _Unit:
    """`others`: its parameters but for the factor, in the order of their names."""

    name: str
    others: tuple[tuple[str, Param], ...]
    rows: dict[Arena, list[Row]] = field(default_factory=dict)


def matched(rows: Sequence[Row], factor: Factor, faster: Param, slower: Param, improving: bool = False) -> list[Pair]:
    first, second = (_units([r for r in rows if _is(factor, r, level)], factor) for level in (faster, slower))
    if factor.kind == WRITTEN:
        return _nearest(first, second, factor, 0, False)
    pairs = _nearest(first, second, factor, 0, improving) if factor.kind == PARAM else []
    return pairs if len(pairs) >= ENOUGH else _nearest(first, second, factor, _MOST_OTHER, improving)


def _is(factor: Factor, row: Row, level: Param) -> bool:
    found = factor.level(row)
    return found == level and isinstance(found, bool) == isinstance(level, bool)


def _units(rows: Sequence[Row], factor: Factor) -> list[_Unit]:
    """In the ledger's order; candidates in that of their names."""
    found: dict[object, _Unit] = {}
    for row in sorted(rows, key=lambda r: r.name) if factor.kind == WRITTEN else rows:
        named = {} if factor.kind == WRITTEN else row.params
        others = tuple(sorted((k, v) for k, v in named.items() if (factor.kind, factor.name) != (PARAM, k)))
        unit = found.setdefault((row.name, others), _Unit(row.name, others))
        unit.rows.setdefault(row.arena, []).append(row)
    return list(found.values())


def _nearest(first: Sequence[_Unit], second: Sequence[_Unit], factor: Factor, most: int, improving: bool) -> list[Pair]:
    """Greedy, nearest pairs first, ties by the ledger's order."""
    homes: dict[object, list[int]] = {}
    for j, unit in enumerate(second):
        homes.setdefault(_home(unit, factor, most), []).append(j)
    near: list[tuple[int, int, int]] = []
    looks: dict[tuple[int, int], list[_Look]] = {}
    for i, one in enumerate(first):
        for j in homes.get(_home(one, factor, most), []):
            unlike = _unlike(one, second[j]) if most else 0
            if unlike <= most and (shared := _shared(one, second[j], improving)):
                near.append((unlike, i, j))
                looks[i, j] = shared
    return [_pair(looks[i, j], factor.kind == PARAM and not unlike) for unlike, i, j in _disjoint(sorted(near))]


def _home(unit: _Unit, factor: Factor, most: int) -> object:
    """Units of different homes make no pair."""
    if factor.kind == WRITTEN:
        return ()
    return unit.name if most else (unit.name, unit.others)


def _unlike(one: _Unit, other: _Unit) -> int:
    """In how many other parameters two units of a candidate differ."""
    return sum(a != b for a, b in zip(one.others, other.others, strict=False)) + abs(
        len(one.others) - len(other.others)
    )


def _shared(one: _Unit, other: _Unit, improving: bool) -> list[_Look]:
    looks = [(rows, other.rows[arena]) for arena, rows in one.rows.items() if arena in other.rows]
    return [look for look in looks if not improving or look[1][0].trials[0] < look[0][0].trials[0]]


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


def _pair(looks: Sequence[_Look], exact: bool) -> Pair:
    gain = fmean(median([r.score for r in one]) - median([r.score for r in other]) for one, other in looks)
    return Pair(gain, tuple(n for look in looks for side in look for r in side for n in r.trials), exact)
