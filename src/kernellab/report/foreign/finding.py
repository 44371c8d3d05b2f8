"""What comes of auditing a table: contradictions, and what could not be checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

Sort = Literal[
    "bandwidth", "speed-up", "share of peak", "beyond the peak", "order", "unit", "fraction", "median", "caption",
    "impossible", "arithmetic", "quantiles", "fast_p", "interval", "percentage", "mean", "traffic",
]  # fmt: skip


@dataclass(frozen=True)
class Contradiction:
    sort: Sort
    where: str
    what: str


@dataclass(frozen=True)
class Gap:
    """A figure that was held against nothing, and why. Without `figure` the cell only says that there is none."""

    where: str
    column: str
    why: str
    figure: bool = True


@dataclass
class TableAudit:
    """`comparisons` counts by sort; `checked` rows have a figure in one of them. `ignored` columns were not understood."""

    found: list[Contradiction] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    comparisons: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    checked: int = 0
    ignored: list[str] = field(default_factory=list)

    @property
    def status(self) -> Literal["contradictions", "consistent", "partial", "unchecked"]:
        """Consistent only where every figure took part in a comparison."""
        if self.found:
            return "contradictions"
        if not self.comparisons:
            return "unchecked"
        return "partial" if any(g.figure for g in self.gaps) else "consistent"
