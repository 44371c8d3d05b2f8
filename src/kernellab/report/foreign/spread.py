"""Figures of one row that have an order of their own: quantiles, shares of tasks by speed-up (fast_p), and intervals around
the point that they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from kernellab.report.foreign.finding import Contradiction
from kernellab.report.foreign.sheet import Sheet, rounded
from kernellab.report.foreign.table import Cell, Row
from kernellab.report.printed import Span, span_of

_QUANTILE = re.compile(
    r"\bp\s?(\d{1,2}(?:\.\d+)?)\b|\b(\d{1,2}(?:\.\d+)?)(?:th|st|nd|rd)?\s*(?:percentile|pctl|quantile)", re.I
)
_FAST = re.compile(r"^\W*fast[\s_@]*[({p=]*\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_PLACES = {"min": 0.0, "minimum": 0.0, "median": 50.0, "max": 100.0, "maximum": 100.0}
_RATE = re.compile(r"/s\b|flops|tokens|throughput|bandwidth|speed", re.IGNORECASE)
_POINT = re.compile(
    r"^\W*(?P<point>\d[\d,]*(?:\.\d+)?)\s*(?:[x×%]|[mµu]?s)?\s*[\[(]\s*(?:95\s?%\s*CI\s*:?\s*)?(?P<low>\d[\d,]*(?:\.\d+)?)\s*[x×%]?\s*"
    r"(?:,|;|–|—|-|to|\.\.)\s*(?P<high>\d[\d,]*(?:\.\d+)?)\s*[x×%]?\s*[\])]"
)
_ALONE = re.compile(r"^\s*[\[(]\s*(\d[\d.]*)\s*[x×%]?\s*(?:,|;|–|—|-|to|\.\.)\s*(\d[\d.]*)\s*[x×%]?\s*[\])]\s*$")
_CI = re.compile(r"\bci\b|confidence|interval", re.IGNORECASE)


def spread(sheet: Sheet) -> Iterator[Contradiction]:
    for row in sheet.table.rows:
        yield from _quantiles(sheet, row)
        yield from _fast(sheet, row)
        yield from _intervals(sheet, row)


def _quantiles(sheet: Sheet, row: Row) -> Iterator[Contradiction]:
    """Of one quantity: what the headings say besides the quantile has to be the same."""
    groups: dict[str, list[tuple[float, Cell]]] = {}
    for index, (column, cell) in enumerate(zip(sheet.table.columns, row.cells, strict=True)):
        low = column.heading.lower()
        if (place := _place(low)) is None or (span := span_of(cell)) is None:
            continue
        rest = re.sub(r"[^a-zµ]+", " ", _without_place(low)).strip()
        groups.setdefault(rest, []).append((place, Cell(row.line, index, column, span)))
    for found in groups.values():
        found.sort(key=lambda f: f[0])
        for (first, one), (second, other) in pairwise(found):
            if first == second:
                continue
            sheet.note("quantiles", one, other)
            if one.span.low > other.span.high and not _RATE.search(one.column.heading):
                what = _above(one, other)
                yield sheet.say("quantiles", row, what)


def _place(low: str) -> float | None:
    if found := _QUANTILE.search(low):
        return float(found[1] or found[2])
    words = [w for w in re.findall(r"[a-z]+", low) if w in _PLACES]
    return _PLACES[words[0]] if len(words) == 1 else None


def _without_place(low: str) -> str:
    low = _QUANTILE.sub(" ", low)
    return re.sub(r"\b(?:min|minimum|median|max|maximum)\b", " ", low)


def _fast(sheet: Sheet, row: Row) -> Iterator[Contradiction]:
    """fast_p is the share of tasks that are right and more than p times as fast: it falls as p grows."""
    found: list[tuple[float, Cell]] = []
    for index, (column, cell) in enumerate(zip(sheet.table.columns, row.cells, strict=True)):
        if (match := _FAST.match(column.heading)) and (span := span_of(cell)) is not None:
            found.append((float(match[1]), Cell(row.line, index, column, span)))
    found.sort(key=lambda f: f[0])
    for (first, one), (second, other) in pairwise(found):
        sheet.note("fast_p", one, other)
        if first < second and other.span.low > one.span.high:
            what = _above(other, one)
            yield sheet.say("fast_p", row, what)


def _intervals(sheet: Sheet, row: Row) -> Iterator[Contradiction]:
    """1.55 [1.60, 1.70]; or a column with the interval, right of the point's."""
    for index, (column, cell) in enumerate(zip(sheet.table.columns, row.cells, strict=True)):
        if match := _POINT.match(cell):
            point, low, high = (span_of(match[k]) for k in ("point", "low", "high"))
            place = index
        elif index and _CI.search(column.heading) and (match := _ALONE.match(cell)):
            point, low, high = span_of(row.cells[index - 1]), span_of(match[1]), span_of(match[2])
            place = index - 1
        else:
            continue
        if point is None or low is None or high is None:
            continue
        cells = [Cell(row.line, i, sheet.table.columns[i], point) for i in {place, index}]
        sheet.note("interval", *cells)
        if low.low > high.high:
            yield sheet.say("interval", row, f"'{cell}' ends below where it begins")
        elif not point.meets(Span(low.low, high.high)):
            yield sheet.say("interval", row, f"{rounded(point.middle)} lies outside its own interval '{cell}'")


def _above(one: Cell, other: Cell) -> str:
    higher, lower = rounded(one.span.middle), rounded(other.span.middle)
    return f"{one.column.heading} is {higher}, above {other.column.heading} with {lower}"
