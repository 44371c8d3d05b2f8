"""What a foreign table says that cannot be true: no measurement could have given these figures together.

Bytes are counted as the least an operator can move: each element read once and written once (`moves` 2), so a printed
bandwidth above bytes / latency counts traffic that nobody asked for, and one below it fewer bytes than there are.
Every comparison is counted, and every figure that took part in none is named with the reason: silence is no verdict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations

from kernellab.report.foreign.column import (
    NUMBERS,
    Column,
    Role,
    impossible,
    quantity,
    shape_in,
    shape_of,
)
from kernellab.report.foreign.finding import Contradiction, Gap, Sort, TableAudit
from kernellab.report.foreign.table import Cell, ForeignTable, Row
from kernellab.report.printed import Span, exactly, span_of

SIZES = {
    "bf16": 2, "bfloat16": 2, "fp16": 2, "f16": 2, "float16": 2, "half": 2, "fp32": 4, "f32": 4, "float32": 4, "tf32": 4,
    "fp64": 8, "f64": 8, "float64": 8, "double": 8, "fp8": 1, "float8": 1, "e4m3": 1, "e5m2": 1, "int8": 1, "uint8": 1,
    "int16": 2, "int32": 4, "int64": 8,
}  # fmt: skip
_DTYPE = re.compile(r"\b(" + "|".join(SIZES) + r")\b", re.IGNORECASE)
_FIGURE = r"(?<![\d,.])(\d[\d,]{0,20}(?:\.\d{1,20})?)"
_RATE = re.compile(rf"{_FIGURE}\s{{0,3}}([GMT]i?B/s)", re.IGNORECASE)
_SHARE = re.compile(
    r"(?<![\d.])(\d[\d.]{0,20})(?:\s?(?:–|-|to)\s?(\d[\d.]{0,20}))?\s?%\s*of\s+(?:the\s+)?(?:theoretical\s+)?peak",
    re.IGNORECASE,
)
_PEAK = re.compile(rf"peak\s{{0,3}}(?:of|:|=)?\s{{0,3}}{_FIGURE}\s{{0,3}}([GMT]i?B/s)", re.IGNORECASE)
_FASTER_IS_MORE: tuple[Role, ...] = ("rate", "speedup")
_QUOTIENTS: tuple[tuple[Role, Role, str], ...] = (
    ("speedup", "latency", "latencies"),
    ("rate-ratio", "rate", "bandwidths"),
)
_FRACTION = re.compile(r"(\d{1,15})\s*/\s*(\d{1,15})(?:\s*\((\d[\d.]*)\s*%\))?")
_CHECKABLE: tuple[Role, ...] = ("latency", "base-latency", "rate", "speedup", "rate-ratio", "share", "peak", "count")


def audit_tables(tables: Sequence[ForeignTable], moves: float = 2.0) -> TableAudit:
    audit = TableAudit()
    for table in tables:
        checker = _Checker(table, moves)
        audit.found.extend(checker.found())
        audit.gaps.extend(checker.gaps())
        audit.comparisons.update(checker.comparisons)
        audit.rows += len(table.rows) + len(table.unfit)
        audit.checked += len({line for line, _ in checker.used})
        audit.ignored.extend(c.heading for c in table.columns if c.role == "name" and c.heading)
    return audit


def contradictions(tables: Sequence[ForeignTable], moves: float = 2.0) -> list[Contradiction]:
    return audit_tables(tables, moves).found


class _Checker:
    def __init__(self, table: ForeignTable, moves: float) -> None:
        self.table = table
        self.moves = moves
        self.caption = " ".join(table.caption)
        self.used: set[tuple[int, int]] = set()
        self.comparisons: Counter[str] = Counter()
        self._peak_said = self._peak_in_caption()

    def found(self) -> Iterator[Contradiction]:
        yield from self._units()
        for row in self.table.rows:
            yield from self._impossible(row)
            yield from self._bandwidth(row)
            yield from self._peak(row)
            yield from self._fractions(row)
        for place in dict.fromkeys(self._place(row) for row in self.table.rows):
            rows = [row for row in self.table.rows if self._place(row) == place]
            yield from self._speedups(rows)
            yield from self._order(rows)
        yield from self._caption()

    def _note(self, sort: Sort, *cells: Cell) -> None:
        """These figures are held against each other."""
        self.comparisons[sort] += 1
        self.used |= {(c.line, c.index) for c in cells}

    def _units(self) -> Iterator[Contradiction]:
        for column in self.table.columns:
            if column.role == "latency" and not column.scale:
                cells = [r for r in self.table.rows if self.table.spans(r, "latency")]
                if len(cells) < len(self.table.rows):
                    yield self._say("unit", None, f"'{column.heading}' has no unit of time")
        for row in self.table.rows:
            for column, cell in zip(self.table.columns, row.cells, strict=True):
                if column.role == "latency" and re.search(r"[GMT]i?B\b", cell):
                    yield self._say("unit", row, f"'{cell}' is no latency")
                if column.role == "rate" and re.search(r"\d\s*(?:[mµun]s)\b", cell):
                    yield self._say("unit", row, f"'{cell}' is no bandwidth")

    def _impossible(self, row: Row) -> Iterator[Contradiction]:
        for index, (column, cell) in enumerate(zip(self.table.columns, row.cells, strict=True)):
            if why := impossible(cell, column):
                self.used.add((row.line, index))
                yield self._say("impossible", row, f"'{cell}' {why} ({column.heading})")

    def _bandwidth(self, row: Row) -> Iterator[Contradiction]:
        """A bandwidth belongs to one of the row's latencies; to which, the table may leave open."""
        moved = self._bytes(row)
        times = self._above_zero(row, "latency") or self._above_zero(row, "base-latency")
        for rate in self._above_zero(row, "rate") if moved and times else ():
            assert moved is not None
            self._note("bandwidth", rate, *times)
            if any(moved.over(t.span).meets(rate.span) for t in times):
                continue
            gives = moved.over(times[0].span).middle / 1e9
            said = f"{_round(gives)} GB/s, not {_round(rate.span.middle / 1e9)}"
            yield self._say("bandwidth", row, f"{_megabytes(moved.middle)} in {_ms(times[0].span)} is {said}")

    def _peak(self, row: Row) -> Iterator[Contradiction]:
        own = self._above_zero(row, "peak")[:1]
        peak = own[0].span if own else self._peak_said
        if peak is None:
            return
        for rate in self._above_zero(row, "rate")[:1]:
            self._note("beyond the peak", rate, *own)
            if rate.span.low > peak.high:
                what = f"{_round(rate.span.middle / 1e9)} GB/s lies above the peak of {_round(peak.middle / 1e9)} GB/s"
                yield self._say("beyond the peak", row, what)
            for share in self.table.spans(row, "share")[:1]:
                self._note("share of peak", rate, share, *own)
                gives = rate.span.over(peak)
                if not gives.meets(share.span):
                    yield self._say(
                        "share of peak",
                        row,
                        f"{_round(rate.span.middle / 1e9)} of {_round(peak.middle / 1e9)} GB/s is "
                        f"{_round(100 * gives.middle)} %, not {_round(100 * share.span.middle)} ({share.column.heading})",
                    )
        yield from self._too_quick(row, peak, own)

    def _too_quick(self, row: Row, peak: Span, own: Sequence[Cell]) -> Iterator[Contradiction]:
        moved = self._bytes(row)
        for latency in self._above_zero(row, "latency")[:1] if moved else ():
            assert moved is not None
            self._note("beyond the peak", latency, *own)
            if moved.low / latency.span.high > peak.high:
                yield self._say(
                    "beyond the peak",
                    row,
                    f"{_megabytes(moved.middle)} in {_ms(latency.span)} would need "
                    f"{_round(moved.over(latency.span).middle / 1e9)} GB/s, above the peak of {_round(peak.middle / 1e9)}",
                )

    def _fractions(self, row: Row) -> Iterator[Contradiction]:
        """248/250 (35 %), and more successes than things that work."""
        counts: list[tuple[Column, int, int]] = []
        for index, (column, cell) in enumerate(zip(self.table.columns, row.cells, strict=True)):
            if not (found := _FRACTION.search(cell)) or not int(found[2]):
                continue
            part, whole, percent = int(found[1]), int(found[2]), found[3]
            counts.append((column, part, whole))
            self._note("fraction", Cell(row.line, index, column, exactly(part / whole)))
            if part > whole:
                yield self._say("fraction", row, f"{part} of {whole} ({column.heading})")
            if percent and (said := span_of(percent)) and not exactly(100 * part / whole).meets(said):
                yield self._say(
                    "fraction",
                    row,
                    f"{part}/{whole} is {_round(100 * part / whole)} %, not {percent} ({column.heading})",
                )
            yield from self._median_share(row, column, percent, part / whole)
        yield from self._successes(row, counts)

    def _median_share(self, row: Row, column: Column, percent: str | None, share: float) -> Iterator[Contradiction]:
        """A median above a threshold means that at least half lie above it."""
        printed = span_of(percent) if percent else None
        said = printed.middle / 100 if printed else share
        for median in self.table.spans(row, "median")[:1] if column.over is not None else ():
            self._note("median", median)
            if median.span.low > (column.over or 0.0) and said < 0.495:
                above = f"the median {_round(median.span.middle)} lies above {column.over:g}"
                yield self._say("median", row, f"{above}, so at least half do, not {_round(100 * said)} %")

    def _successes(self, row: Row, counts: Sequence[tuple[Column, int, int]]) -> Iterator[Contradiction]:
        working = [(c, part) for c, part, _ in counts if "correct" in c.heading.lower()]
        for column, part, _ in counts:
            for other, able in working:
                if column is not other and part > able:
                    yield self._say(
                        "fraction",
                        row,
                        f"{part} succeed ({column.heading}), but only {able} work at all ({other.heading})",
                    )

    def _speedups(self, rows: Sequence[Row]) -> Iterator[Contradiction]:
        """Against the quotient of the latencies in a row, or over the row that says 1.00; bandwidths likewise."""
        for row in rows:
            yield from self._across(row)
        for said, measured, name in _QUOTIENTS:
            first = next((r for r in rows if (s := self._one(r, said)) and s.span.low < 1 < s.span.high), None)
            base = self._one(first, measured) if first else None
            for row in rows if base else ():
                own, claim = self._one(row, measured), self._one(row, said)
                if base and own and claim and not self._several(row, measured):
                    gives = base.span.over(own.span) if measured == "latency" else own.span.over(base.span)
                    yield from self._quotient(row, gives, claim, name, base, own)

    def _across(self, row: Row) -> Iterator[Contradiction]:
        """A speed-up beside several latencies is the quotient of two of them: the named baseline's, or else any two."""
        said = self._one(row, "speedup")
        base, own = self._one(row, "base-latency"), self._above_zero(row, "latency")
        if said is None or not own:
            return
        if base is not None:
            if not any(base.span.over(t.span).meets(said.span) for t in own[1:]):
                yield from self._quotient(row, base.span.over(own[0].span), said, "latencies", base, *own)
        elif len(own) > 1:
            pairs = [a.span.over(b.span) for a, b in permutations(own, 2)]
            fitting = next((q for q in pairs if q.meets(said.span)), pairs[0])
            yield from self._quotient(row, fitting, said, "latencies", *own)

    def _quotient(self, row: Row, gives: Span, said: Cell, name: str, *of: Cell) -> Iterator[Contradiction]:
        self._note("speed-up", said, *of)
        if not gives.meets(said.span):
            what = f"the quotient of the {name} is {_round(gives.middle)}, not {_round(said.span.middle)}"
            yield self._say("speed-up", row, what)

    def _above_zero(self, row: Row, role: Role) -> list[Cell]:
        return [c for c in self.table.spans(row, role) if c.span.low > 0]

    def _one(self, row: Row, role: Role) -> Cell | None:
        """The first cell of this role, where it is a quantity above zero."""
        return next(iter(self._above_zero(row, role)), None)

    def _several(self, row: Row, role: Role) -> bool:
        return len(self._above_zero(row, role)) > 1

    def _order(self, rows: Sequence[Row]) -> Iterator[Contradiction]:
        """At one shape less time means more bandwidth and more speed-up; ranks follow the latency."""
        timed = [
            (cell, row) for row in rows if (cell := self._one(row, "latency")) and not self._several(row, "latency")
        ]
        timed.sort(key=lambda pair: pair[0].span.middle)
        for (fast, first), (slow, second) in pairwise(timed):
            if fast.span.high >= slow.span.low:
                continue
            for role in _FASTER_IS_MORE:
                one, other = self._one(first, role), self._one(second, role)
                if one and other:
                    self._note("order", fast, slow, one, other)
                if one and other and one.span.high < other.span.low:
                    what = f"it takes less time than '{_called(second)}' and has the lower {one.column.heading}"
                    yield self._say("order", first, what)
            ranks, behind = self.table.spans(first, "rank")[:1], self.table.spans(second, "rank")[:1]
            if ranks and behind:
                self._note("order", fast, slow, *ranks, *behind)
                if ranks[0].span.middle > behind[0].span.middle:
                    yield self._say("order", first, f"it is faster than '{_called(second)}' and ranked behind it")

    def _caption(self) -> Iterator[Contradiction]:
        """Figures in the words around a table: against each other, and against its rows."""
        peak = self._peak_said
        spoken = self.caption if peak is None else _PEAK.sub("peak", self.caption)
        rates = [(m[0], span) for m in _RATE.finditer(spoken) if (span := _rate_span(m))]
        shares = [(m[0], span) for m in _SHARE.finditer(self.caption) if (span := _share_span(m))]
        column = [c.span for r in self.table.rows for c in self._above_zero(r, "rate")]
        for text, rate in rates:
            if column:
                self._note("caption")
            if column and not any(rate.meets(s) for s in column):
                best = max(s.middle for s in column)
                yield self._say(
                    "caption", None, f"it says {text}, and no row does; the highest is {_round(best / 1e9)} GB/s"
                )
            for said, share in shares[:1]:
                if peak is not None and not rate.over(peak).meets(share):
                    what = f"{text} is {_round(100 * rate.over(peak).middle)} % of the peak, not '{said}'"
                    yield self._say("share of peak", None, what)
        if peak is not None and column:
            top = max(column, key=lambda s: s.middle)
            gives = f"the highest row, {_round(top.middle / 1e9)} GB/s, is {_round(100 * top.over(peak).middle)} %"
            for said, share in shares:
                self._note("share of peak")
                if not top.over(peak).meets(share):
                    yield self._say("share of peak", None, f"it says '{said}'; {gives}")
        for (one, first), (other, second) in pairwise(shares):
            self._note("share of peak")
            if not first.meets(second):
                yield self._say("share of peak", None, f"it says '{one}' and '{other}' of the same kernels")

    def gaps(self) -> Iterator[Gap]:
        """Call it after found(): what no comparison has used."""
        for row in self.table.unfit:
            yield Gap(
                self._at(row), "", f"{len(row.cells)} cells under {len(self.table.columns)} headings: quote cells"
            )
        for row in self.table.rows:
            for index, (column, cell) in enumerate(zip(self.table.columns, row.cells, strict=True)):
                if column.role in _CHECKABLE and cell and (row.line, index) not in self.used:
                    yield Gap(self._at(row), column.heading, self._why(row, column, cell))

    def _why(self, row: Row, column: Column, cell: str) -> str:
        if column.role in NUMBERS and not column.scale and quantity(cell, column) is None:
            return f"'{cell}' has no unit, and its heading none either"
        if column.role in NUMBERS and quantity(cell, column) is None:
            return f"'{cell}' is not understood as a figure"
        if column.role in ("rate", "latency") and self._bytes(row) is None:
            return self._why_no_bytes(row)
        if column.role == "speedup":
            return "no latency of a baseline, and no row that says 1.00"
        return "nothing in the table to hold it against"

    def _why_no_bytes(self, row: Row) -> str:
        shape, dtype = self.table.text(row, "shape"), self.table.text(row, "dtype")
        if self._elements(row) is None:
            return f"how many elements '{shape}' has is not clear" if shape else "no shape is given"
        return f"dtype '{dtype}' is not known" if dtype else "no dtype is given"

    def _say(self, sort: Sort, row: Row | None, what: str) -> Contradiction:
        return Contradiction(sort, self._at(row), what)

    def _place(self, row: Row) -> tuple[str, str]:
        return self.table.text(row, "shape"), self.table.text(row, "dtype").lower()

    def _bytes(self, row: Row) -> Span | None:
        """From a column of bytes, or shape x size x moves; shape and dtype may stand in the caption."""
        if own := self._above_zero(row, "bytes"):
            return exactly(own[0].span.middle)
        elements, size = self._elements(row), self._size(row)
        return None if elements is None or size is None else elements.scaled(size * self.moves)

    def _elements(self, row: Row) -> Span | None:
        said = self.table.text(row, "shape")
        heading = next((c.heading for c in self.table.columns if c.role == "shape"), "")
        return shape_of(said, heading) if said else shape_in(self.caption)

    def _size(self, row: Row) -> int | None:
        said = self.table.text(row, "dtype")
        texts = (said,) if said else (self.table.text(row, "shape"), self.caption)
        found = next((m for text in texts if (m := _DTYPE.search(text))), None)
        return SIZES[found[1].lower()] if found else None

    def _peak_in_caption(self) -> Span | None:
        found = _PEAK.search(self.caption)
        span = _rate_span(found) if found else None
        return span if span and span.low > 0 else None

    def _at(self, row: Row | None) -> str:
        return f"{self.table.name}, line {row.line} ({_called(row)})" if row else f"{self.table.name}, caption"


def _rate_span(found: re.Match[str]) -> Span | None:
    return quantity(found[0].lower().removeprefix("peak"), Column("", "rate", 1e9))


def _share_span(found: re.Match[str]) -> Span | None:
    ends = [s for s in (span_of(found[1]), span_of(found[2] or "")) if s]
    return Span(min(s.low for s in ends), max(s.high for s in ends)).scaled(0.01) if ends else None


def _called(row: Row) -> str:
    return row.cells[0]


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e7 else f"{count / 1e3:.1f} kB"


def _ms(span: Span) -> str:
    return f"{_round(span.middle * 1e3)} ms"


def _round(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 100 else f"{value:.0f}"
