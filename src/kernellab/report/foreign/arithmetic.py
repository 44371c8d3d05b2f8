"""Operations a second: against 2 M N K over the latency, against the peak of the device that is named, and as a share of it.

Only a matrix product's operations are known from its shape. A figure above the peak is a contradiction unless sparsity or
another way of counting is spoken of; a share of a peak that nobody states is held against the data sheet's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernellab.report.foreign.device import Device, device_in
from kernellab.report.foreign.finding import Contradiction
from kernellab.report.foreign.sheet import Sheet, apart, rounded
from kernellab.report.foreign.table import Cell, Row
from kernellab.report.printed import Span, exactly, span_of

_PRODUCT = re.compile(r"gemm|mat-?\s?mul|matrix[ -]mult|\bmm\b|\bbmm\b|linear layer", re.IGNORECASE)
_OTHER_COUNT = re.compile(
    r"spars|2:4|strassen|effective|winograd|causal|attention|backward|batch|grouped|int4|fp4|w4a16", re.IGNORECASE
)
_SHARE = re.compile(
    r"%\s*(?:of\s+)?(?:peak|sol|theoretical)|\bmfu\b|peak\s*(?:%|\(%\))|utili[sz]ation|(?:of|/)\s*peak", re.IGNORECASE
)
_PEAK = re.compile(r"peak[^.\d]{0,40}?(\d[\d,]*(?:\.\d+)?)\s*(TFLOP|GFLOP|PFLOP|TOPS)", re.IGNORECASE)
_EXTENT = re.compile(r"\s*(\d[\d,]*)\s*")
_PREFIX = {"g": 1e9, "t": 1e12, "p": 1e15}
_AT_MOST = 1.02
"""Clocks may be a little above the ones of a data sheet."""


def arithmetic(sheet: Sheet) -> Iterator[Contradiction]:
    for row in sheet.plain_rows():
        rates = sheet.above_zero(row, "flops")
        if rates:
            yield from _against_time(sheet, row, rates)
            yield from _against_peak(sheet, row, rates)


def words_of(sheet: Sheet, row: Row) -> str:
    headings = " ".join(c.heading for c in sheet.table.columns)
    return f"{sheet.caption} {headings} {' '.join(row.cells)}"


def _operations(sheet: Sheet, row: Row) -> Span | None:
    """2 M N K, from columns of these names or a shape of three extents; or a product of squares."""
    words = words_of(sheet, row)
    named = {c.heading.strip(" `$").upper(): i for i, c in enumerate(sheet.table.columns)}
    if {"M", "N", "K"} <= named.keys():
        extents = [_EXTENT.fullmatch(row.cells[named[n]]) for n in "MNK"]
    elif _PRODUCT.search(words):
        shape = sheet.table.text(row, "shape") or next(
            (m[0] for c in row.cells if (m := re.search(r"\d+\s?[x×]\s?\d+\s?[x×]\s?\d+", c))), ""
        )
        parts = re.findall(r"\d[\d,]*", shape)
        extents = [_EXTENT.fullmatch(p) for p in (parts * 3 if len(parts) == 1 else parts)]
    else:
        return None
    if len(extents) != 3 or None in extents:
        return None
    sizes = [float(e[1].replace(",", "")) for e in extents if e]
    return exactly(2 * sizes[0] * sizes[1] * sizes[2])


def _against_time(sheet: Sheet, row: Row, rates: list[Cell]) -> Iterator[Contradiction]:
    work, times = _operations(sheet, row), sheet.above_zero(row, "latency", "base-latency")
    if work is None or not times or _OTHER_COUNT.search(words_of(sheet, row)):
        return
    for rate in rates:
        gives = [work.over(t.span) for t in times]
        if any(g.meets(_widened(rate.span)) for g in gives):
            sheet.note("arithmetic", rate, *times)
        elif any(g.scaled(0.5).meets(_widened(rate.span)) for g in gives):
            sheet.leave(rate, "it fits if a multiply-add counts as one operation")
        else:
            sheet.note("arithmetic", rate, *times)
            made, said = apart(gives[0].middle / 1e12, rate.span.middle / 1e12)
            yield sheet.say("arithmetic", row, f"2MNK over the latency is {made} TFLOP/s, not {said}")


def _widened(span: Span) -> Span:
    """Half a percent to either side: medians of times and of rates need not be of the same sample."""
    return Span(span.low * 0.995, span.high * 1.005, span.middle)


def _against_peak(sheet: Sheet, row: Row, rates: list[Cell]) -> Iterator[Contradiction]:
    words = words_of(sheet, row)
    said = [s.scaled(_PREFIX[m[2][0].lower()]) for m in _PEAK.finditer(sheet.caption) if (s := span_of(m[1]))]
    device = device_in(words) or device_in(sheet.caption)
    if said:
        peaks = [(f"the peak of {rounded(s.middle / 1e12)} TFLOP/s that it states", s) for s in said]
    elif device is not None:
        peaks = [_fact(device, words)]
    else:
        return
    most = max(s.high for _, s in peaks)
    for rate in rates:
        if _OTHER_COUNT.search(words) and rate.span.low > most:
            sheet.leave(rate, "it lies above the peak for dense arithmetic, and the table may count otherwise")
            continue
        sheet.note("beyond the peak", rate)
        if rate.span.low > most * _AT_MOST:
            what = f"{rounded(rate.span.middle / 1e12)} TFLOP/s lies above {peaks[0][0]}"
            yield sheet.say("beyond the peak", row, what)
    yield from _shares(sheet, row, rates, peaks, stated=bool(said))


def _fact(device: Device, words: str) -> tuple[str, Span]:
    kind, value = device.most(words)
    return f"the {rounded(value / 1e12)} TFLOP/s ({kind}) of an {device.name} ({device.source})", exactly(value)


def _shares(
    sheet: Sheet, row: Row, rates: list[Cell], peaks: list[tuple[str, Span]], stated: bool
) -> Iterator[Contradiction]:
    """One rate and one share in a row. A peak that nobody states may be another variant's: half as much again is let go."""
    for index, (column, cell) in enumerate(zip(sheet.table.columns, row.cells, strict=True)):
        shown = _SHARE.search(column.heading) and (column.role in ("share", "figure", "name")) and len(rates) == 1
        span = span_of(cell) if shown else None
        if span is None or sheet.above_zero(row, "rate"):
            continue
        whole = "%" in column.heading or "%" in cell or span.low > 1.5
        share = Cell(row.line, index, column, span.scaled(0.01) if whole else span)
        gives = [rates[0].span.over(p) for _, p in peaks]
        slack = 1.0 if stated else 1.5
        if any(Span(g.low / slack, g.high * slack).meets(_widened(share.span)) for g in gives):
            if stated:
                sheet.note("share of peak", share, *rates)
            else:
                sheet.leave(share, "which peak it is a share of is not said")
            continue
        sheet.note("share of peak", share, *rates)
        made = f"{rounded(rates[0].span.middle / 1e12)} TFLOP/s is {rounded(100 * gives[0].middle)} % of {peaks[0][0]}"
        yield sheet.say("share of peak", row, f"{made}, not {rounded(100 * share.span.middle)} ({column.heading})")
