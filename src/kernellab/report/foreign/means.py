"""Means of the rows that are shown: a geometric mean that is none of them.

A mean is over what its author says. Where the table says that there is more than is shown, nothing follows from it; where
all rows are there, a mean that no way of averaging them gives is a contradiction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

from kernellab.report.foreign.finding import Contradiction
from kernellab.report.foreign.ratio import CLAIMS
from kernellab.report.foreign.sheet import Sheet, rounded
from kernellab.report.foreign.table import Cell, Row
from kernellab.report.printed import Span, span_of

_GEOMETRIC = re.compile(r"geo", re.IGNORECASE)
_MORE = re.compile(
    r"subset|selected|represent|excerpt|\bsome of|full (?:table|results|suite)|appendix|weighted|total|\.\.\.|…|top[- ]\d",
    re.IGNORECASE,
)
_THINGS = "tasks|problems|shapes|kernels|sizes|operators|ops|rows|workloads|benchmarks|configurations"
_ACROSS = re.compile(
    rf"(?:all|over|across|of)\s+(?:the\s+)?(\d{{1,6}})\s+(?:\w+\s+){{0,2}}(?:{_THINGS})", re.IGNORECASE
)
_SPOKEN = re.compile(r"geo(?:metric)?[\s-]?mean[^.\d]{0,40}?(\d+(?:\.\d+)?)\s?[x×]", re.IGNORECASE)
_Mean = Callable[[Sequence[float]], float]


def _geometric(values: Sequence[float]) -> float:
    return math.exp(math.fsum(math.log(v) for v in values) / len(values))


def _harmonic(values: Sequence[float]) -> float:
    return len(values) / math.fsum(1 / v for v in values)


def _arithmetic(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _median(values: Sequence[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else 0.5 * (ordered[half - 1] + ordered[half])


_ALL: tuple[_Mean, ...] = (_geometric, _arithmetic, _harmonic, _median)


def means(sheet: Sheet) -> Iterator[Contradiction]:
    rows = sheet.plain_rows()
    if len(rows) < 2 or _shows_a_part(sheet, len(rows)):
        return
    for row in sheet.table.rows:
        for claim in sheet.above_zero(row, *CLAIMS) if sheet.is_summary(row) else ():
            shown = [c for r in rows for c in sheet.above_zero(r, *CLAIMS) if c.index == claim.index]
            yield from _one(sheet, row, claim, shown, rows)
    for match in _SPOKEN.finditer(sheet.caption):
        yield from _spoken(sheet, match, rows)


def _shows_a_part(sheet: Sheet, rows: int) -> bool:
    counts = {int(m[1]) for m in _ACROSS.finditer(sheet.caption)}
    cells = " ".join(c for r in sheet.table.rows for c in r.cells)
    return bool(_MORE.search(f"{sheet.caption} {cells}")) or any(n != rows for n in counts)


def _one(sheet: Sheet, row: Row, claim: Cell, shown: Sequence[Cell], rows: Sequence[Row]) -> Iterator[Contradiction]:
    if len(shown) != len(rows) or sheet.above_zero(row, "latency", "base-latency"):
        return  # a mean's row with latencies of its own may give their quotient
    spans = [c.span for c in shown]
    name = " ".join(row.cells)
    kinds = (_geometric,) if _GEOMETRIC.search(name) else _ALL
    sheet.note("mean", claim, *shown)
    if not any(_between(kind, spans).meets(claim.span) for kind in kinds):
        gives = kinds[0]([s.middle for s in spans])
        word = "geometric mean" if kinds[0] is _geometric and len(kinds) == 1 else "mean, of any kind,"
        told = f"{rounded(gives)}" if len(kinds) == 1 else "another figure"
        yield sheet.say("mean", row, f"the {word} of the {len(spans)} rows is {told}, not {rounded(claim.span.middle)}")


def _spoken(sheet: Sheet, match: re.Match[str], rows: Sequence[Row]) -> Iterator[Contradiction]:
    columns = {c.index for r in rows for c in sheet.above_zero(r, *CLAIMS)}
    said = span_of(match[1])
    if said is None or not columns:
        return
    each = [[c.span for r in rows for c in sheet.above_zero(r, *CLAIMS) if c.index == i] for i in sorted(columns)]
    whole = [spans for spans in each if len(spans) == len(rows)]
    if not whole:
        return
    sheet.note("mean")
    if not any(_between(_geometric, spans).meets(said) for spans in whole):
        gives = rounded(_geometric([s.middle for s in whole[0]]))
        yield sheet.say("mean", None, f"it says '{match[0]}'; the geometric mean of the {len(rows)} rows is {gives}")


def _between(mean: _Mean, spans: Sequence[Span]) -> Span:
    return Span(mean([s.low for s in spans]), mean([s.high for s in spans]))
