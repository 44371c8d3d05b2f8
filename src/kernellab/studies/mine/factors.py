"""What may have an effect: a parameter of a candidate, a structure of its artifact, or one of its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from kernellab.core.records import Param
from kernellab.studies.mine.table import Row

PARAM, BUILT, WRITTEN = "param", "built", "written"
_ALL_PAIRS = 5
"""A factor with more levels is compared between neighbours only: every further test costs all of them."""


@dataclass(frozen=True)
class Factor:
    """`scope`: the candidate whose parameter it is; '' for structure, which is compared between candidates too."""

    kind: str
    name: str
    scope: str = ""

    @property
    def words(self) -> str:
        return f"{self.scope}'s {self.name}" if self.scope else self.name

    def level(self, row: Row) -> Param | None:
        if self.scope and row.name != self.scope:
            return None
        facts = {PARAM: row.params, BUILT: row.built, WRITTEN: row.written}[self.kind]
        return facts.get(self.name)


def factors_of(rows: Sequence[Row]) -> list[Factor]:
    """Every factor that takes two levels or more."""
    found = [Factor(PARAM, name, row.name) for row in rows for name in row.params]
    found += [Factor(BUILT, name, row.name) for row in rows for name in row.built]
    found += [Factor(WRITTEN, name) for row in rows for name in row.written]
    return [f for f in dict.fromkeys(found) if len(_levels(f, rows)) > 1]


def comparisons(factor: Factor, rows: Sequence[Row]) -> list[tuple[Param, Param]]:
    levels = _levels(factor, rows)
    return list(combinations(levels, 2)) if len(levels) <= _ALL_PAIRS else list(pairwise(levels))


def _levels(factor: Factor, rows: Iterable[Row]) -> list[Param]:
    seen = Counter(level for row in rows if (level := factor.level(row)) is not None)
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in seen)
    return sorted(seen) if numbers else sorted(seen, key=str)
