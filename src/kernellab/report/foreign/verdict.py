"""What a foreign table says that cannot be true: no measurement could have given these figures together.

Bytes are counted as the least an operator can move: each element read once and written once, or as often as is said
(`moves`), so a printed bandwidth above bytes / latency counts traffic that nobody asked for. Where nobody said how often, a
bandwidth that fits another whole number of moves could not be checked. Every comparison is counted, and every figure that
took part in none is named with the reason: silence is no verdict, and what is open to doubt is no contradiction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kernellab.report.foreign.arithmetic import arithmetic
from kernellab.report.foreign.column import NUMBERS, Column, Role, impossible, is_figure, quantity
from kernellab.report.foreign.finding import Contradiction, Gap, TableAudit
from kernellab.report.foreign.means import means
from kernellab.report.foreign.percent import percentages
from kernellab.report.foreign.ratio import order, ratios
from kernellab.report.foreign.shape import extents_in
from kernellab.report.foreign.sheet import Sheet, apart, rounded
from kernellab.report.foreign.spoken import peaks, spoken
from kernellab.report.foreign.spread import spread
from kernellab.report.foreign.table import Cell, ForeignTable, Row
from kernellab.report.foreign.traffic import traffic
from kernellab.report.printed import Span, exactly, span_of

_FRACTION = re.compile(r"(\d{1,15})\s*/\s*(\d{1,15})(?:\s*\((\d[\d.]*)\s*%\))?")
_CHECKABLE: tuple[Role, ...] = (
    "latency", "base-latency", "rate", "speedup", "slowdown", "rate-ratio", "share", "peak", "count", "figure",
    "flops",
)  # fmt: skip
_OTHER_MOVES = (1, 1.5, 2.5, 3, 4, 5, 6, 7, 8)
_NO_TENSOR = re.compile(
    r"gemm|mat-?\s?mul|matrix mult|conv|attention|einsum|sparse|gather|scatter|embedding", re.IGNORECASE
)
"""Operators whose shape is not that of one tensor that is read and written."""


def audit_tables(tables: Sequence[ForeignTable], moves: float | None = None) -> TableAudit:
    audit = TableAudit()
    for table in tables:
        checker = _Checker(Sheet(table, moves))
        audit.found.extend(dict.fromkeys(checker.found()))
        audit.gaps.extend(checker.gaps())
        audit.comparisons.update(checker.sheet.comparisons)
        audit.rows += len(table.rows) + len(table.unfit)
        audit.checked += len({line for line, _ in checker.sheet.used})
        audit.ignored.extend(c.heading for c in table.columns if c.role == "name" and c.heading)
    return audit


def contradictions(tables: Sequence[ForeignTable], moves: float | None = None) -> list[Contradiction]:
    return audit_tables(tables, moves).found


class _Checker:
    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.table = sheet.table
        self.peaks_said = peaks(sheet)

    def found(self) -> Iterator[Contradiction]:
        yield from self._units()
        for row in self.table.rows:
            yield from self._impossible(row)
            if not self.sheet.is_summary(row):
                yield from self._bandwidth(row)
                yield from self._peak(row)
            yield from self._fractions(row)
        yield from ratios(self.sheet)
        yield from order(self.sheet)
        yield from spoken(self.sheet)
        for check in (arithmetic, spread, percentages, means, traffic):
            yield from check(self.sheet)

    def _units(self) -> Iterator[Contradiction]:
        for row in self.table.rows:
            for column, cell in zip(self.table.columns, row.cells, strict=True):
                if column.role == "latency" and re.search(r"\d\s*[GMT]i?B(?:/s)?\b", cell):
                    yield self.sheet.say("unit", row, f"'{cell}' is no latency")
                if column.role == "rate" and re.search(r"\d\s*(?:[mµun]s)\b", cell):
                    yield self.sheet.say("unit", row, f"'{cell}' is no bandwidth")

    def _impossible(self, row: Row) -> Iterator[Contradiction]:
        for index, (column, cell) in enumerate(zip(self.table.columns, row.cells, strict=True)):
            if why := impossible(cell, column):
                self.sheet.used.add((row.line, index))
                yield self.sheet.say("impossible", row, f"'{cell}' {why} ({column.heading})")

    def _bandwidth(self, row: Row) -> Iterator[Contradiction]:
        """A bandwidth belongs to one of the row's latencies; to which, the table may leave open."""
        moved = self.sheet.bytes_of(row)
        times = self.sheet.above_zero(row, "latency", "base-latency")
        for rate in self.sheet.above_zero(row, "rate") if moved and times else ():
            assert moved is not None
            fits = any(moved.over(t.span).meets(rate.span) for t in times)
            if not fits and (doubt := self._doubt(row, moved, rate, times)):
                self.sheet.leave(rate, doubt)
                continue
            self.sheet.note("bandwidth", rate, *times)
            if not fits:
                gives, said = apart(moved.over(times[0].span).middle / 1e9, rate.span.middle / 1e9)
                what = f"{_megabytes(moved.middle)} in {_ms(times[0].span)} is {gives} GB/s, not {said}"
                yield self.sheet.say("bandwidth", row, what)

    def _doubt(self, row: Row, moved: Span, rate: Cell, times: Sequence[Cell]) -> str:
        """What else these figures may mean, or ''."""
        for time in times:
            if moved.over(time.span).scaled(_binary(rate.column)).meets(rate.span):
                return "it fits if its unit counts in powers of two"
        if self.sheet.said_moves is not None or self.sheet.above_zero(row, "bytes"):
            return ""
        if self._is_no_tensor(row):
            return "how many bytes such an operator moves is not known"
        for moves in _OTHER_MOVES:
            if any(moved.scaled(moves / self.sheet.moves).over(t.span).meets(rate.span) for t in times):
                return (
                    f"it fits {moves:g} moves of each element, not {self.sheet.moves:g}: --moves {moves:g} checks it so"
                )
        return ""

    def _is_no_tensor(self, row: Row) -> bool:
        shape = self.table.text(row, "shape")
        words = f"{self.sheet.caption} {' '.join(row.cells)} {' '.join(c.heading for c in self.table.columns)}"
        return bool(_NO_TENSOR.search(words)) or (extents_in(shape) == 3 and not re.search("soft|norm", words.lower()))

    def _peak(self, row: Row) -> Iterator[Contradiction]:
        own = self.sheet.above_zero(row, "peak")[:1]
        known = [own[0].span] if own else self.peaks_said
        if not known:
            return
        most = max(p.high for p in known)
        rates = self.sheet.above_zero(row, "rate")
        for rate in rates:
            self.sheet.note("beyond the peak", rate, *own)
            if rate.span.low > most:
                peak = max(p.middle for p in known)
                what = f"{rounded(rate.span.middle / 1e9)} GB/s lies above the peak of {rounded(peak / 1e9)} GB/s"
                yield self.sheet.say("beyond the peak", row, what)
        for share in self.table.spans(row, "share") if rates else ():
            self.sheet.note("share of peak", *rates, share, *own)
            gives = [r.span.over(p) for r in rates for p in known]
            if not any(g.meets(share.span) for g in gives):
                yield self.sheet.say(
                    "share of peak",
                    row,
                    f"{rounded(rates[0].span.middle / 1e9)} of {rounded(known[0].middle / 1e9)} GB/s is "
                    f"{rounded(100 * gives[0].middle)} %, not {rounded(100 * share.span.middle)} ({share.column.heading})",
                )
        yield from self._too_quick(row, known, own)

    def _too_quick(self, row: Row, known: Sequence[Span], own: Sequence[Cell]) -> Iterator[Contradiction]:
        """Faster than the memory: where nobody said how often elements are moved, once is the least."""
        sheet = self.sheet
        moved = None if self._is_no_tensor(row) else sheet.bytes_of(row)
        if moved is not None and sheet.said_moves is None and not sheet.above_zero(row, "bytes"):
            moved = moved.scaled(1 / sheet.moves)
        for latency in sheet.above_zero(row, "latency") if moved else ():
            assert moved is not None
            sheet.note("beyond the peak", latency, *own)
            if moved.low / latency.span.high > max(p.high for p in known):
                yield sheet.say(
                    "beyond the peak",
                    row,
                    f"{_megabytes(moved.middle)} in {_ms(latency.span)} would need "
                    f"{rounded(moved.over(latency.span).middle / 1e9)} GB/s, above the peak of "
                    f"{rounded(max(p.middle for p in known) / 1e9)}",
                )

    def _fractions(self, row: Row) -> Iterator[Contradiction]:
        """248/250 (35 %), and more successes than things that work."""
        counts: list[tuple[Column, int, int]] = []
        for index, (column, cell) in enumerate(zip(self.table.columns, row.cells, strict=True)):
            if not (found := _FRACTION.search(cell)) or not int(found[2]):
                continue
            part, whole, percent = int(found[1]), int(found[2]), found[3]
            if column.role != "count" and not percent:
                continue
            counts.append((column, part, whole))
            self.sheet.note("fraction", Cell(row.line, index, column, exactly(part / whole)))
            if part > whole:
                yield self.sheet.say("fraction", row, f"{part} of {whole} ({column.heading})")
            if percent and (said := span_of(percent)) and not exactly(100 * part / whole).meets(said):
                what = f"{part}/{whole} is {rounded(100 * part / whole)} %, not {percent} ({column.heading})"
                yield self.sheet.say("fraction", row, what)
            yield from self._median_share(row, column, percent, part / whole)
        yield from self._successes(row, counts)

    def _median_share(self, row: Row, column: Column, percent: str | None, share: float) -> Iterator[Contradiction]:
        """A median above a threshold means that at least half lie above it."""
        printed = span_of(percent) if percent else None
        said = printed.middle / 100 if printed else share
        for median in self.table.spans(row, "median")[:1] if column.over is not None else ():
            self.sheet.note("median", median)
            if median.span.low > (column.over or 0.0) and said < 0.495:
                above = f"the median {rounded(median.span.middle)} lies above {column.over:g}"
                yield self.sheet.say("median", row, f"{above}, so at least half do, not {rounded(100 * said)} %")

    def _successes(self, row: Row, counts: Sequence[tuple[Column, int, int]]) -> Iterator[Contradiction]:
        working = [(c, part) for c, part, _ in counts if "correct" in c.heading.lower()]
        for column, part, _ in counts:
            for other, able in working:
                if column is not other and part > able:
                    what = f"{part} succeed ({column.heading}), but only {able} work at all ({other.heading})"
                    yield self.sheet.say("fraction", row, what)

    def gaps(self) -> Iterator[Gap]:
        """Call it after found(): what no comparison has used."""
        for row in self.table.unfit:
            why = f"{len(row.cells)} cells under {len(self.table.columns)} headings: quote cells"
            yield Gap(self.sheet.at(row), "", why)
        for row in self.table.rows:
            for index, (column, cell) in enumerate(zip(self.table.columns, row.cells, strict=True)):
                claimed = column.role in _CHECKABLE or (column.role == "name" and is_figure(cell))
                if claimed and cell and (row.line, index) not in self.sheet.used:
                    why = self.sheet.open.get((row.line, index)) or self._why(row, column, cell)
                    yield Gap(self.sheet.at(row), column.heading, why, figure=bool(re.search(r"\d", cell)))
        yield from self.sheet.spoken

    def _why(self, row: Row, column: Column, cell: str) -> str:
        if column.role in NUMBERS and not column.scale and quantity(cell, column) is None:
            return f"'{cell}' has no unit, and its heading none either"
        if column.role in NUMBERS and quantity(cell, column) is None:
            return f"'{cell}' is not understood as a figure"
        if column.role in ("rate", "latency") and self.sheet.bytes_of(row) is None:
            return self.sheet.why_no_bytes(row)
        return "nothing in the table to hold it against"


def _binary(column: Column) -> float:
    """How much smaller a figure is in units of 1024 that are called by the name of those of 1000."""
    return {"mb/s": 1e6 / 2**20, "gb/s": 1e9 / 2**30, "gbps": 1e9 / 2**30, "tb/s": 1e12 / 2**40}.get(column.unit, 1.0)


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e7 else f"{count / 1e3:.1f} kB"


def _ms(span: Span) -> str:
    return f"{rounded(span.middle * 1e3)} ms"
