"""Percentages of speed: '30 % faster', in a column or in the words around a table.

People mean two things by it: 1.30 times as fast, or 30 % less time. Either will do; it is a contradiction where the table
has the latencies and neither fits any two of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernellab.report.foreign.finding import Contradiction, Gap
from kernellab.report.foreign.ratio import all_ratios, quotients
from kernellab.report.foreign.sheet import Sheet, rounded
from kernellab.report.foreign.table import Cell, Row
from kernellab.report.printed import Span, span_of

_WHAT = (
    r"faster|quicker|slower|speed-?\s?up|less time|lower latency|"
    r"(?:latency |time )?(?:reduction|improvement|decrease)(?: in (?:latency|time|runtime))?"
)
_SAID = re.compile(
    rf"(?<![\d.])(\d[\d.]{{0,10}})(?:\s?(?:–|-|to)\s?(\d[\d.]{{0,10}}))?\s?%\s+(?:{_WHAT})", re.IGNORECASE
)
_HEADING = re.compile(r"faster|slower|improve|gain|reduc|speed-?\s?up|saved|saving", re.IGNORECASE)
_NOT_TIME = re.compile(
    r"memory|vram|energy|power|accura|compil|size|cost|bandwidth|throughput|tokens|error", re.IGNORECASE
)
_ABOUT = re.compile(
    r"(?:about|around|roughly|nearly|almost|up to|approximately|over|more than|~|≈|>)\s*$", re.IGNORECASE
)
_OTHERS = re.compile(
    r"\bprior\b|previous|paper|report|average|mean|overall|end-to-end|model|train|tuning", re.IGNORECASE
)


def percentages(sheet: Sheet) -> Iterator[Contradiction]:
    for row in sheet.plain_rows():
        yield from _columns(sheet, row)
    yield from _caption(sheet)


def _meanings(percent: Span) -> list[Span]:
    """As ratios of times, the slower over the faster: 30 % is 1.30, or 1 / 0.70."""
    more = Span(1 + percent.low / 100, 1 + percent.high / 100, 1 + percent.middle / 100)
    if percent.high >= 100:
        return [more, percent.scaled(0.01)]  # a speed-up of 130 % may be 1.3
    return [more, Span(1 / (1 - percent.low / 100), 1 / (1 - percent.high / 100), 1 / (1 - percent.middle / 100))]


def _fits(percent: Span, ratio: Span) -> bool:
    inverse = Span(1 / ratio.high, 1 / ratio.low, 1 / ratio.middle)
    return any(m.meets(r) for m in _meanings(percent) for r in (ratio, inverse))


def _columns(sheet: Sheet, row: Row) -> Iterator[Contradiction]:
    for index, (column, cell) in enumerate(zip(sheet.table.columns, row.cells, strict=True)):
        heading = column.heading
        if not _HEADING.search(heading) or _NOT_TIME.search(heading) or not ("%" in heading or "%" in cell):
            continue
        if (span := span_of(cell)) is None or span.low <= 0 or re.search(r"[x×]", cell):
            continue
        claim = Cell(row.line, index, column, span)
        found = quotients(sheet, row, claim)
        fitting = next((q for q in found if _fits(span, q.span)), None)
        binding = [q for q in found if q.binding]
        if fitting is not None:
            sheet.note("percentage", claim, *fitting.of)
        elif binding:
            sheet.note("percentage", claim, *binding[0].of)
            gives = rounded(binding[0].span.middle)
            what = f"the quotient of the latencies is {gives}: that is not {rounded(span.middle)} % ({heading})"
            yield sheet.say("percentage", row, what)


def _caption(sheet: Sheet) -> Iterator[Contradiction]:
    every = list(all_ratios(sheet))
    timed = any(sheet.above_zero(r, "latency", "base-latency") for r in sheet.table.rows)
    for sentence in re.split(r"(?<=[.;!?])\s+", sheet.caption):
        for match in _SAID.finditer(sentence):
            ends = [s for s in (span_of(match[1]), span_of(match[2] or "")) if s]
            percent = Span(min(s.low for s in ends), max(s.high for s in ends))
            if _ABOUT.search(sentence[: match.start()]):
                percent = Span(percent.low * 0.8, percent.high * 1.2)
            if any(_fits(percent, r) for r in every):
                sheet.note("percentage")
            elif not timed or not every or _NOT_TIME.search(sentence) or _OTHERS.search(sentence):
                sheet.spoken.append(Gap(sheet.at(None), "", f"'{match[0]}': nothing in the table to hold it against"))
            else:
                sheet.note("percentage")
                top = rounded(max(r.middle for r in every))
                yield sheet.say(
                    "percentage", None, f"it says '{match[0]}', and no two latencies do; the highest ratio is {top}"
                )
