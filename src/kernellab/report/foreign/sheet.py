"""A foreign table as the checks need it: which rows compare, how many bytes each moves, and what was held against what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from kernellab.report.foreign.column import BASELINE, Role, is_figure
from kernellab.report.foreign.finding import Contradiction, Gap, Sort
from kernellab.report.foreign.shape import shape_in, shape_of
from kernellab.report.foreign.table import Cell, ForeignTable, Row
from kernellab.report.printed import Span

SIZES = {
    "bf16": 2, "bfloat16": 2, "fp16": 2, "f16": 2, "float16": 2, "half": 2, "fp32": 4, "f32": 4, "float32": 4, "tf32": 4,
    "fp64": 8, "f64": 8, "float64": 8, "double": 8, "fp8": 1, "float8": 1, "e4m3": 1, "e5m2": 1, "int8": 1, "uint8": 1,
    "int16": 2, "int32": 4, "int64": 8,
}  # fmt: skip
LEAST_MOVES = 2.0
_DTYPE = re.compile(r"\b(" + "|".join(SIZES) + r")\b", re.IGNORECASE)
_KERNEL = (
    re.compile(r"kernel|method|impl|variant|version|backend|provider|librar|framework|approach|solution"),
    re.compile(r"\bname\b|algorithm|system|optimi[sz]|\bmodel\b|\bcode\b|compiler|\bstep\b|\bstage\b"),
)
_BESIDE = re.compile(
    r"config|param|note|comment|tile|block|regist|warp|occup|err|l_inf|ulp|diff|lines|\bloc\b|tokens|cost|seed|trial|"
    r"\biters?\b|iterations|\bruns?\b|date|source|link|\bid\b"
)
_SUMMARY = re.compile(
    r"\W*(?:geo(?:metric|\.)?[\s-]*)?(?:mean|avg|average|median|total|overall|sum|gmean)\b", re.IGNORECASE
)


class Sheet:
    """`moves`: None where nobody said how often an element is moved, which is then taken to be LEAST_MOVES."""

    def __init__(self, table: ForeignTable, moves: float | None) -> None:
        self.table = table
        self.said_moves = moves
        self.caption = " ".join(table.caption)
        self.used: set[tuple[int, int]] = set()
        self.open: dict[tuple[int, int], str] = {}
        self.spoken: list[Gap] = []
        self.comparisons: Counter[str] = Counter()

    @property
    def moves(self) -> float:
        return LEAST_MOVES if self.said_moves is None else self.said_moves

    def note(self, sort: Sort, *cells: Cell) -> None:
        """These figures are held against each other."""
        self.comparisons[sort] += 1
        self.used |= {(c.line, c.index) for c in cells}

    def leave(self, cell: Cell, why: str) -> None:
        """This figure could not be checked, for a reason of its own."""
        self.open[cell.line, cell.index] = why

    def say(self, sort: Sort, row: Row | None, what: str) -> Contradiction:
        return Contradiction(sort, self.at(row), what)

    def at(self, row: Row | None) -> str:
        return f"{self.table.name}, line {row.line} ({called(row)})" if row else f"{self.table.name}, caption"

    def above_zero(self, row: Row, *roles: Role) -> list[Cell]:
        return [c for c in self.table.spans(row, *roles) if c.span.low > 0]

    @cached_property
    def kernel(self) -> int | None:
        """The column that names what is compared, where a heading says so and no other says the same."""
        for pattern in _KERNEL:
            found = [i for i in self._names if pattern.search(self.table.columns[i].heading.lower())]
            if found:
                return found[0] if len(found) == 1 else None
        return None

    @cached_property
    def _names(self) -> list[int]:
        """Columns of names and settings: neither figures nor remarks."""
        found = []
        for i, column in enumerate(self.table.columns):
            cells = [r.cells[i] for r in self.table.rows if r.cells[i]]
            if column.role == "name" and not any(map(is_figure, cells)) and not _BESIDE.search(column.heading.lower()):
                found.append(i)
        return found

    @cached_property
    def _settings(self) -> dict[int, dict[int | str, str]]:
        """Of each row by its line: shape, dtype, section and names; an empty cell repeats the one above it."""
        above: dict[int | str, str] = {}
        found = {}
        places = [i for i, c in enumerate(self.table.columns) if c.role in ("shape", "dtype")]
        for row in self.table.rows:
            if sum(map(bool, row.cells)) == 1 and row.cells[0]:
                above = {"section": row.cells[0]}
            above |= {i: row.cells[i].lower() for i in (*places, *self._names) if row.cells[i]}
            found[row.line] = dict(above)
        return found

    def alike(self, one: Row, other: Row) -> bool:
        """Whether two rows differ in the kernel alone; where no heading names that column, in one name at most."""
        here, there = self._settings[one.line], self._settings[other.line]
        apart = [k for k in {*here, *there} if k != self.kernel and here.get(k) != there.get(k)]
        return not apart or (self.kernel is None and len(apart) == 1 and apart[0] in self._names)

    def surely_alike(self, one: Row, other: Row) -> bool:
        """Whether nothing but the kernel can differ."""
        here, there = self._settings[one.line], self._settings[other.line]
        return all(here.get(k) == there.get(k) for k in {*here, *there} if k != self.kernel)

    def is_baseline(self, row: Row) -> bool:
        names = self._names if self.kernel is None else [self.kernel]
        return any(BASELINE.search(row.cells[i]) for i in names)

    def named(self, row: Row) -> str:
        return " ".join(row.cells[i].lower() for i in self._names)

    def is_summary(self, row: Row) -> bool:
        places = [i for i, c in enumerate(self.table.columns) if c.role in ("shape", "dtype")]
        return any(_SUMMARY.match(row.cells[i]) for i in (*self._names, *places))

    def plain_rows(self) -> list[Row]:
        return [r for r in self.table.rows if not self.is_summary(r)]

    def bytes_of(self, row: Row) -> Span | None:
        """From a column of bytes, or shape x size x moves; shape and dtype may stand in the caption."""
        if own := self.above_zero(row, "bytes"):
            return own[0].span
        elements, size = self.elements(row), self._size(row)
        return None if elements is None or size is None else elements.scaled(size * self.moves)

    def elements(self, row: Row) -> Span | None:
        said = self.table.text(row, "shape")
        heading = next((c.heading for c in self.table.columns if c.role == "shape"), "")
        return shape_of(said, heading) if said else shape_in(self.caption)

    def _size(self, row: Row) -> int | None:
        said = self.table.text(row, "dtype")
        texts = (said,) if said else (self.table.text(row, "shape"), self.caption)
        found = next((m for text in texts if (m := _DTYPE.search(text))), None)
        return SIZES[found[1].lower()] if found else None

    def why_no_bytes(self, row: Row) -> str:
        shape, dtype = self.table.text(row, "shape"), self.table.text(row, "dtype")
        if self.elements(row) is None:
            return f"how many elements '{shape}' has is not clear" if shape else "no shape is given"
        return f"dtype '{dtype}' is not known" if dtype else "no dtype is given"


def apart(one: float, other: float) -> tuple[str, str]:
    """Two figures with digits enough to tell them apart."""
    short = rounded(one), rounded(other)
    return short if short[0] != short[1] else (f"{one:.7g}", f"{other:.7g}")


def called(row: Row) -> str:
    return row.cells[0]


def rounded(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 100 else f"{value:.0f}"


def highest(spans: Sequence[Span]) -> float:
    return max(s.middle for s in spans)
