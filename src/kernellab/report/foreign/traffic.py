"""Latency times bandwidth is the bytes that were moved. Rows that differ in the kernel alone move the same, unless a
bandwidth is what counters measured: then a kernel may move more than it must.

So where the products differ the table is never consistent: a contradiction where the bandwidth is said to be of the bytes
that the operator needs, and else a figure that could not be checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernellab.report.foreign.finding import Contradiction
from kernellab.report.foreign.sheet import Sheet, called, rounded
from kernellab.report.foreign.table import Cell, Row
from kernellab.report.printed import Span

_NEEDED = re.compile(r"effective|algorithmic|useful|ideal|minimal traffic|bytes\s*/\s*(?:time|latency)", re.IGNORECASE)
_COUNTED = re.compile(r"measured|nsight|\bncu\b|rocprof|counter|dram throughput|profil", re.IGNORECASE)


def counted(sheet: Sheet) -> bool:
    """Whether the bandwidths are what counters measured."""
    return bool(_COUNTED.search(f"{sheet.caption} {' '.join(c.heading for c in sheet.table.columns)}"))


def traffic(sheet: Sheet) -> Iterator[Contradiction]:
    rows = [(row, pair) for row in sheet.plain_rows() if (pair := _pair(sheet, row)) is not None]
    for place, (first, one) in enumerate(rows):
        for second, other in rows[place + 1 :]:
            if sheet.surely_alike(first, second) and not one[2].meets(other[2]):
                yield from _differ(sheet, (first, one), (second, other))
                break


def _pair(sheet: Sheet, row: Row) -> tuple[Cell, Cell, Span] | None:
    """A row's one latency, its one bandwidth, and the bytes that they give; not where its bytes are known anyway."""
    times, rates = sheet.above_zero(row, "latency"), sheet.above_zero(row, "rate")
    if len(times) != 1 or len(rates) != 1 or sheet.bytes_of(row) is not None:
        return None
    return times[0], rates[0], times[0].span.times(rates[0].span)


def _differ(
    sheet: Sheet, first: tuple[Row, tuple[Cell, Cell, Span]], second: tuple[Row, tuple[Cell, Cell, Span]]
) -> Iterator[Contradiction]:
    (row, (_, rate, moved)), (other, (_, rate_there, moved_there)) = first, second
    needed = _NEEDED.search(f"{sheet.caption} {rate.column.heading}") and not counted(sheet)
    what = (
        f"latency x bandwidth is {rounded(moved.middle / 1e6)} MB here and {rounded(moved_there.middle / 1e6)} MB "
        f"for '{called(other)}' at the same shape"
    )
    if needed:
        sheet.note("traffic", rate, rate_there)
        yield sheet.say("traffic", row, what)
        return
    for cell in (rate, rate_there):
        sheet.used.discard((cell.line, cell.index))
        sheet.leave(cell, f"{what}: they agree only if one moves more than it must")
