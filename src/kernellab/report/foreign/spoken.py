"""Figures in the words around a table: bandwidths, shares of the peak and speed-ups, against each other and its rows.

A sentence may speak of what the table does not show. It is a contradiction only where it claims to have reached a figure
of the table's own kind and no row bears it out; else the figure could not be checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kernellab.report.foreign.column import Column, quantity
from kernellab.report.foreign.finding import Contradiction, Gap
from kernellab.report.foreign.ratio import all_ratios
from kernellab.report.foreign.sheet import Sheet, highest, rounded
from kernellab.report.printed import Span, span_of

_FIGURE = r"(?<![\d,.])(\d[\d,]{0,20}(?:\.\d{1,20})?)"
_RATE = re.compile(rf"{_FIGURE}\s{{0,3}}([GMT]i?B/s)", re.IGNORECASE)
_SHARE = re.compile(
    r"(?<![\d.])(\d[\d.]{0,20})(?:\s?(?:–|-|to)\s?(\d[\d.]{0,20}))?\s?%\s*of\s+(?:the\s+)?(?:theoretical\s+)?peak",
    re.IGNORECASE,
)
_PEAK = re.compile(rf"peak\s{{0,3}}(?:of|:|=|is)?\s{{0,3}}{_FIGURE}\s{{0,3}}([GMT]i?B/s)", re.IGNORECASE)
_WORDS = {
    w: n
    for n, w in enumerate(
        ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 2
    )
}
_TIMES = re.compile(rf"(?:{_FIGURE}|\b({'|'.join(_WORDS)}))\s?-?(?:[x×](?![\w\d]|\s*\d)|times\b|fold\b)", re.IGNORECASE)
_FASTER = re.compile(r"faster|speed-?\s?ups?\b|speeds? up|quicker|slower|slow-?downs?", re.IGNORECASE)
_ELSEWHERE = re.compile(r"compil(?:es|ing|ation)|tokens|memory|training|\bprior\b|previous|report", re.IGNORECASE)
_REACHED = re.compile(r"reach|achiev|attain|sustain|deliver|obtain|\bhits?\b|\bgets?\b|up to", re.IGNORECASE)
_A_LIMIT = re.compile(r"theoretical|maxim|limit|available|\bspec|\bhbm|dram", re.IGNORECASE)
_OUT_OF = re.compile(
    r"(?<!bandwidth )(?<!throughput )\bof (?:the |its |a )?$",
    re.IGNORECASE,
)
_MORE = re.compile(r"(?:\bover|more than|at least|exceed\w*|beyond|>)\s*(?:a |an )?$", re.IGNORECASE)
_ABOUT = re.compile(r"(?:nearly|almost|about|around|roughly|approximately|close to|~|≈)\s*(?:a |an )?$", re.IGNORECASE)
_MEAN = re.compile(r"average|\bmean\b|geomean|median|overall", re.IGNORECASE)
_THAN = re.compile(
    r"(?:\bthan|\bover|\bvs\.?|\bversus|\brelative to|\bcompared (?:to|with))\s+(?:the\s+)?([A-Za-z][\w.+-]*)"
)

_Reader = Callable[[re.Match[str]], Span | None]


@dataclass(frozen=True)
class _Said:
    """`before`: the words that lead to it; `around`: those and some that follow."""

    text: str
    sentence: str
    span: Span
    before: str
    around: str


def peaks(sheet: Sheet) -> list[Span]:
    """Those that the caption names."""
    found = [_rate(m) for m in _PEAK.finditer(sheet.caption)]
    return [s for s in found if s and s.low > 0]


def spoken(sheet: Sheet) -> Iterator[Contradiction]:
    known = peaks(sheet)
    words = _PEAK.sub("peak", sheet.caption) if known else sheet.caption
    rates = _said(words, _RATE, _rate)
    shares = _said(sheet.caption, _SHARE, _share)
    rows = [c.span for r in sheet.table.rows for c in sheet.above_zero(r, "rate")]
    yield from _rates(sheet, rates, rows)
    if len(rates) == 1 == len(shares) and known and not _bear_out(rates[0].span, known, shares[0]):
        gives = rounded(100 * rates[0].span.over(known[0]).middle)
        what = f"{rates[0].text} is {gives} % of the peak, not '{shares[0].text}'"
        yield sheet.say("share of peak", None, what)
    yield from _shares(sheet, shares, rows, known)
    yield from _speedups(sheet)


def _rates(sheet: Sheet, rates: Sequence[_Said], rows: Sequence[Span]) -> Iterator[Contradiction]:
    for said in rates:
        if any(said.span.meets(s) for s in rows):
            sheet.note("caption")
        elif rows and _REACHED.search(said.sentence) and not _is_mean(said, rows) and not _is_limit(said):
            sheet.note("caption")
            what = f"it says {said.text}, and no row does; the highest is {rounded(highest(rows) / 1e9)} GB/s"
            yield sheet.say("caption", None, what)
        else:
            _leave(sheet, said)


def _shares(
    sheet: Sheet, shares: Sequence[_Said], rows: Sequence[Span], known: Sequence[Span]
) -> Iterator[Contradiction]:
    denied: list[_Said] = []
    for said in shares:
        if not known or not rows or re.search("flop", said.sentence, re.IGNORECASE):
            _leave(sheet, said)
            continue
        sheet.note("share of peak")
        if not any(_bear_out(rate, known, said) for rate in rows):
            denied.append(said)
            top = max(rows, key=lambda s: s.middle)
            gives = (
                f"the highest row, {rounded(top.middle / 1e9)} GB/s, is {rounded(100 * top.over(known[0]).middle)} %"
            )
            yield sheet.say("share of peak", None, f"it says '{said.text}'; {gives}")
    for one, other in pairwise(denied):
        sheet.note("share of peak")
        if not one.span.meets(other.span):
            yield sheet.say("share of peak", None, f"it says '{one.text}' and '{other.text}' of the same kernels")


def _speedups(sheet: Sheet) -> Iterator[Contradiction]:
    every = all_ratios(sheet)
    shown = " ".join([*(c.heading for c in sheet.table.columns), *(cell for r in sheet.table.rows for cell in r.cells)])
    for said in _said(sheet.caption, _TIMES, _times):
        if not _FASTER.search(said.sentence):
            continue
        if any(_is_it(said, s) for s in every) or _is_mean(said, every):
            sheet.note("caption")
        elif _ELSEWHERE.search(said.sentence) or _of_others(said.sentence, shown) or not _is_told(sheet, said.sentence):
            _leave(sheet, said)
        else:
            sheet.note("caption")
            what = f"it says '{said.text}', and no row does; the highest is {rounded(highest(every))}"
            yield sheet.say("caption", None, what)


def _is_it(said: _Said, ratio: Span) -> bool:
    """As printed; a word such as 'three times', or one that is 'about', may be rounded, and 'over' is from there on."""
    span = said.span
    if not re.search(r"\d", said.text) or _ABOUT.search(said.before):
        span = Span(span.middle * 0.8, span.middle * 1.2)
    return span.meets(ratio) or bool(_MORE.search(said.before) and ratio.high >= span.low)


def _is_limit(said: _Said) -> bool:
    """Whether it is what could be reached: 'of the 1555 GB/s', '2.0 TB/s HBM'."""
    return bool(_A_LIMIT.search(said.around) or _OUT_OF.search(said.before))


def _is_mean(said: _Said, every: Sequence[Span]) -> bool:
    return bool(_MEAN.search(said.sentence) and every) and min(s.low for s in every) <= said.span.middle <= highest(
        every
    )


def _of_others(sentence: str, shown: str) -> bool:
    """Whether it compares with something that the table does not name."""
    named = _THAN.findall(sentence)
    return bool(named) and not any(n.strip(".").lower() in shown.lower() for n in named)


def _is_told(sheet: Sheet, sentence: str) -> bool:
    """Whether the table has what the sentence is about: latencies, or ratios over the same baseline."""
    if any(sheet.above_zero(r, "latency", "base-latency") for r in sheet.table.rows):
        return True
    over = [n.strip(".").lower() for n in _THAN.findall(sentence)]
    claims = [c for c in sheet.table.columns if c.role in ("speedup", "slowdown", "mean")]
    return any(not c.against or not over or any(n in c.against for n in over) for c in claims)


def _bear_out(rate: Span, known: Sequence[Span], said: _Said) -> bool:
    return any(rate.over(peak).meets(said.span) for peak in known)


def _leave(sheet: Sheet, said: _Said) -> None:
    sheet.spoken.append(Gap(sheet.at(None), "", f"'{said.text}': nothing in the table to hold it against"))


def _said(text: str, pattern: re.Pattern[str], read: _Reader) -> list[_Said]:
    found = []
    for sentence in re.split(r"(?<=[.;!?])\s+", text):
        for match in pattern.finditer(sentence):
            span = read(match)
            if span is not None:
                before, after = sentence[max(0, match.start() - 30) : match.start()], sentence[match.end() :][:20]
                found.append(_Said(match[0], sentence, span, before, f"{before} {after}"))
    return found


def _rate(found: re.Match[str]) -> Span | None:
    return quantity(re.sub(r"^peak\D*", "", found[0].lower()), Column("", "rate", 1e9))


def _share(found: re.Match[str]) -> Span | None:
    ends = [s for s in (span_of(found[1]), span_of(found[2] or "")) if s]
    return Span(min(s.low for s in ends), max(s.high for s in ends)).scaled(0.01) if ends else None


def _times(found: re.Match[str]) -> Span | None:
    return span_of(found[1]) if found[1] else span_of(str(_WORDS[found[2].lower()]))
