"""What a foreign table says that cannot be true: no measurement could have given these figures together.

Bytes are counted as the least an operator can move: each element read once and written once (`moves` 2), so a printed
bandwidth above bytes / latency counts traffic that nobody asked for, and one below it fewer bytes than there are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from kernellab.report.foreign.table import Column, ForeignTable, Role, Row, quantity, shape_of
from kernellab.report.printed import Span, exactly, span_of

Sort = Literal[
    "bandwidth", "speed-up", "share of peak", "beyond the peak", "order", "unit", "fraction", "median", "caption"
]
SIZES = {
    "bf16": 2, "bfloat16": 2, "fp16": 2, "f16": 2, "float16": 2, "half": 2, "fp32": 4, "f32": 4, "float32": 4, "tf32": 4,
    "fp64": 8, "f64": 8, "float64": 8, "double": 8, "fp8": 1, "int8": 1, "int32": 4, "int64": 8,
}  # fmt: skip
_DTYPE = re.compile(r"\b(" + "|".join(SIZES) + r")\b", re.IGNORECASE)
_RATE = re.compile(r"(\d[\d,.]*)\s*([GMT]i?B/s)", re.IGNORECASE)
_SHARE = re.compile(
    r"(\d[\d.]*)(?:\s*(?:–|-|to)\s*(\d[\d.]*))?\s*%\s*of\s+(?:the\s+)?(?:theoretical\s+)?peak", re.IGNORECASE
)
_PEAK = re.compile(r"peak\s*(?:of|:|=)?\s*(\d[\d,.]*)\s*([GMT]i?B/s)", re.IGNORECASE)
_FASTER_IS_MORE: tuple[Role, ...] = ("rate", "speedup")
_QUOTIENTS: tuple[tuple[Role, Role, str], ...] = (
    ("speedup", "latency", "latencies"),
    ("rate-ratio", "rate", "bandwidths"),
)
_FRACTION = re.compile(r"(\d+)\s*/\s*(\d+)(?:\s*\((\d[\d.]*)\s*%\))?")


@dataclass(frozen=True)
class Contradiction:
    sort: Sort
    where: str
    what: str


def contradictions(tables: Sequence[ForeignTable], moves: float = 2.0) -> list[Contradiction]:
    found: list[Contradiction] = []
    for table in tables:
        found.extend(_Checker(table, moves).found())
    return found


class _Checker:
    def __init__(self, table: ForeignTable, moves: float) -> None:
        self.table = table
        self.moves = moves
        self.caption = " ".join(table.caption)

    def found(self) -> Iterator[Contradiction]:
        yield from self._units()
        for row in self.table.rows:
            yield from self._bandwidth(row)
            yield from self._peak(row)
            yield from self._fractions(row)
        for place in dict.fromkeys(self._place(row) for row in self.table.rows):
            rows = [row for row in self.table.rows if self._place(row) == place]
            yield from self._speedups(rows)
            yield from self._order(rows)
        yield from self._caption()

    def _units(self) -> Iterator[Contradiction]:
        for column in self.table.columns:
            if column.role == "latency" and not column.scale:
                cells = [r for r in self.table.rows if self.table.spans(r, "latency")]
                if len(cells) < len(self.table.rows):
                    yield self._say("unit", None, f"'{column.heading}' has no unit of time")
        for row in self.table.rows:
            for column, cell in zip(self.table.columns, row.cells, strict=False):
                if column.role == "latency" and re.search(r"[GMT]i?B\b", cell):
                    yield self._say("unit", row, f"'{cell}' is no latency")
                if column.role == "rate" and re.search(r"\d\s*(?:[mµun]s)\b", cell):
                    yield self._say("unit", row, f"'{cell}' is no bandwidth")

    def _bandwidth(self, row: Row) -> Iterator[Contradiction]:
        moved = self._bytes(row)
        for _, latency in self.table.spans(row, "latency")[:1]:
            for _, rate in self.table.spans(row, "rate")[:1]:
                if moved is None or latency.low <= 0 or exactly(moved).over(latency).meets(rate):
                    continue
                gives = exactly(moved).over(latency).middle / 1e9
                said = f"{_round(gives)} GB/s, not {_round(rate.middle / 1e9)}"
                yield self._say("bandwidth", row, f"{_megabytes(moved)} in {_ms(latency)} is {said}")

    def _peak(self, row: Row) -> Iterator[Contradiction]:
        peak = self._peak_of(row)
        if peak is None:
            return
        for _, rate in self.table.spans(row, "rate")[:1]:
            if rate.low > peak.high:
                yield self._say(
                    "beyond the peak",
                    row,
                    f"{_round(rate.middle / 1e9)} GB/s lies above the peak of {_round(peak.middle / 1e9)} GB/s",
                )
            for column, share in self.table.spans(row, "share")[:1]:
                if not rate.over(peak).meets(share):
                    yield self._say(
                        "share of peak",
                        row,
                        f"{_round(rate.middle / 1e9)} of {_round(peak.middle / 1e9)} GB/s is "
                        f"{_round(100 * rate.over(peak).middle)} %, not {_round(100 * share.middle)} ({column.heading})",
                    )
        moved = self._bytes(row)
        for _, latency in self.table.spans(row, "latency")[:1]:
            if moved is not None and latency.high > 0 and moved / latency.high > peak.high:
                yield self._say(
                    "beyond the peak",
                    row,
                    f"{_megabytes(moved)} in {_ms(latency)} would need {_round(moved / latency.middle / 1e9)} GB/s, "
                    f"above the peak of {_round(peak.middle / 1e9)}",
                )

    def _fractions(self, row: Row) -> Iterator[Contradiction]:
        """248/250 (35 %), and more successes than things that work."""
        counts: list[tuple[Column, int, int]] = []
        for column, cell in zip(self.table.columns, row.cells, strict=False):
            if not (found := _FRACTION.search(cell)) or not int(found[2]):
                continue
            part, whole, percent = int(found[1]), int(found[2]), found[3]
            counts.append((column, part, whole))
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
        said = float(percent) / 100 if percent else share
        for _, median in self.table.spans(row, "median")[:1]:
            if column.over is not None and median.low > column.over and said < 0.495:
                above = f"the median {_round(median.middle)} lies above {column.over:g}"
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
            base, own = self._one(row, "base-latency"), self._one(row, "latency")
            if base and own:
                yield from self._quotient(row, base.over(own), self._one(row, "speedup"), "latencies")
        for said, measured, name in _QUOTIENTS:
            first = next((r for r in rows if (s := self._one(r, said)) and s.low < 1 < s.high), None)
            base = self._one(first, measured) if first else None
            for row in rows if base else ():
                own = self._one(row, measured)
                if base and own:
                    gives = base.over(own) if measured == "latency" else own.over(base)
                    yield from self._quotient(row, gives, self._one(row, said), name)

    def _quotient(self, row: Row, gives: Span, said: Span | None, name: str) -> Iterator[Contradiction]:
        if said and not gives.meets(said):
            what = f"the quotient of the {name} is {_round(gives.middle)}, not {_round(said.middle)}"
            yield self._say("speed-up", row, what)

    def _one(self, row: Row, role: Role) -> Span | None:
        """The first cell of this role, where it is a quantity above zero."""
        found = self.table.spans(row, role)
        return found[0][1] if found and found[0][1].low > 0 else None

    def _order(self, rows: Sequence[Row]) -> Iterator[Contradiction]:
        """At one shape less time means more bandwidth and more speed-up; ranks follow the latency."""
        timed = [(self.table.spans(r, "latency")[0][1], r) for r in rows if self.table.spans(r, "latency")]
        timed.sort(key=lambda pair: pair[0].middle)
        for (fast, first), (slow, second) in pairwise(timed):
            if fast.high >= slow.low:
                continue
            for role in _FASTER_IS_MORE:
                one, other = self.table.spans(first, role), self.table.spans(second, role)
                if one and other and one[0][1].high < other[0][1].low:
                    yield self._say(
                        "order",
                        first,
                        f"it takes less time than '{_called(second)}' and has the lower {one[0][0].heading}",
                    )
            one, other = self.table.spans(first, "rank"), self.table.spans(second, "rank")
            if one and other and one[0][1].middle > other[0][1].middle:
                yield Contradiction(
                    "order", self._at(first), f"it is faster than '{_called(second)}' and ranked behind it"
                )

    def _caption(self) -> Iterator[Contradiction]:
        """Figures in the words around a table: against each other, and against its rows."""
        peak = self._peak_in_caption()
        spoken = self.caption if peak is None else _PEAK.sub("peak", self.caption)
        rates = [(m[0], _rate_span(m)) for m in _RATE.finditer(spoken)]
        shares = [(m[0], _share_span(m)) for m in _SHARE.finditer(self.caption)]
        column = [s for r in self.table.rows for _, s in self.table.spans(r, "rate")]
        for text, rate in rates:
            if column and not any(rate.meets(s) for s in column):
                best = max(s.middle for s in column)
                yield self._say(
                    "caption", None, f"it says {text}, and no row does; the highest is {_round(best / 1e9)} GB/s"
                )
            for said, share in shares[:1]:
                if peak is not None and not rate.over(peak).meets(share):
                    yield self._say(
                        "share of peak",
                        None,
                        f"{text} is {_round(100 * rate.over(peak).middle)} % of the peak, not '{said}'",
                    )
        if peak is not None and column and shares:
            top = max(column, key=lambda s: s.middle)
            gives = f"the highest row, {_round(top.middle / 1e9)} GB/s, is {_round(100 * top.over(peak).middle)} %"
            for said, share in shares:
                if not top.over(peak).meets(share):
                    yield self._say("share of peak", None, f"it says '{said}'; {gives}")
        for (one, first), (other, second) in pairwise(shares):
            if not first.meets(second):
                yield Contradiction(
                    "share of peak", self._at(None), f"it says '{one}' and '{other}' of the same kernels"
                )

    def _say(self, sort: Sort, row: Row | None, what: str) -> Contradiction:
        return Contradiction(sort, self._at(row), what)

    def _place(self, row: Row) -> tuple[str, str]:
        return self.table.text(row, "shape"), self.table.text(row, "dtype").lower()

    def _bytes(self, row: Row) -> float | None:
        """From a column of bytes, or shape x size x moves; shape and dtype may stand in the caption."""
        if own := self.table.spans(row, "bytes"):
            return own[0][1].middle
        shape = shape_of(self.table.text(row, "shape")) or shape_of(self.caption)
        dtype = _DTYPE.search(self.table.text(row, "dtype") or self.table.text(row, "shape")) or _DTYPE.search(
            self.caption
        )
        if shape is None or dtype is None:
            return None
        return float(math.prod(shape) * SIZES[dtype[1].lower()]) * self.moves

    def _peak_of(self, row: Row) -> Span | None:
        own = self.table.spans(row, "peak")
        return own[0][1] if own else self._peak_in_caption()

    def _peak_in_caption(self) -> Span | None:
        found = _PEAK.search(self.caption)
        return _rate_span(found) if found else None

    def _at(self, row: Row | None) -> str:
        return f"{self.table.name}, line {row.line} ({_called(row)})" if row else f"{self.table.name}, caption"


def _rate_span(found: re.Match[str]) -> Span:
    span = quantity(found[0].lower().removeprefix("peak"), Column("", "rate", 1e9))
    assert span is not None
    return span


def _share_span(found: re.Match[str]) -> Span:
    ends = [s for s in (span_of(found[1]), span_of(found[2] or "")) if s]
    return Span(min(s.low for s in ends), max(s.high for s in ends)).scaled(0.01)


def _called(row: Row) -> str:
    return row.cells[0]


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e7 else f"{count / 1e3:.1f} kB"


def _ms(span: Span) -> str:
    return f"{_round(span.middle * 1e3)} ms"


def _round(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 100 else f"{value:.0f}"
