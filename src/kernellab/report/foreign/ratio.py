"""Speed-ups, slow-downs and ratios of bandwidths against the figures they are quotients of; rows against their order.

Which two figures a ratio is of, a table often leaves open: any pair that could be meant and fits will do. It is a
contradiction only where a baseline is known and no pair fits; where none is known, the ratio could not be checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from kernellab.report.foreign.column import BASELINE, Role
from kernellab.report.foreign.finding import Contradiction
from kernellab.report.foreign.sheet import Sheet, apart, called
from kernellab.report.foreign.table import Cell, Row
from kernellab.report.foreign.traffic import counted
from kernellab.report.printed import Span

CLAIMS: tuple[Role, ...] = ("speedup", "slowdown", "rate-ratio")
_TIMES: tuple[Role, ...] = ("latency", "base-latency")
_OF_ONE_KERNEL = re.compile(
    r"\bfwd|forward|\bbwd|backward|\bp\d\d|percentile|\bmin\b|\bmax\b|best|worst|total|cold|warm|\be2e|end-to-end|host|launch|"
    r"\bstd|mean|median|average|prefill|decode"
)
_NO_QUOTIENT = re.compile(
    r"paired|geo(?:metric)?[\s-]?mean|\bmean of|averag|per[- ](?:problem|task|run)|harmonic", re.IGNORECASE
)
_PROPORTIONS = (5 / 4, 4 / 3, 3 / 2, 5 / 3, 2, 5 / 2, 3, 4, 5)
_MARK = re.compile(r"\W*(?:base(?:line)?|ref(?:erence)?)?\W*", re.IGNORECASE)


@dataclass(frozen=True)
class _Quotient:
    """`binding`: where none of these fits, the claim is false."""

    span: Span
    of: tuple[Cell, ...]
    binding: bool


def ratios(sheet: Sheet) -> Iterator[Contradiction]:
    for row in sheet.table.rows:
        for claim in sheet.above_zero(row, *CLAIMS):
            if sheet.is_summary(row):
                _summary(sheet, claim)
            else:
                yield from _claim(sheet, row, claim)


def _claim(sheet: Sheet, row: Row, claim: Cell) -> Iterator[Contradiction]:
    found = quotients(sheet, row, claim)
    meant = claim.column
    for quotient in found:
        inverse = Span(1 / quotient.span.high, 1 / quotient.span.low, 1 / quotient.span.middle)
        if quotient.span.meets(claim.span) or (meant.either and inverse.meets(claim.span)):
            sheet.note("speed-up", claim, *quotient.of)
            return
    binding = [q for q in found if q.binding]
    if not binding or _NO_QUOTIENT.search(f"{sheet.caption} {meant.heading}"):
        sheet.leave(claim, "the table does not say of which figures it is the quotient" if found else _why_none(claim))
        return
    sheet.note("speed-up", claim, *binding[0].of)
    name = "bandwidths" if meant.role == "rate-ratio" else "latencies"
    gives, said = apart(binding[0].span.middle, claim.span.middle)
    what = f"the quotient of the {name} is {gives}, not {said}"
    yield sheet.say("speed-up", row, what)


def _why_none(claim: Cell) -> str:
    sort = "bandwidth" if claim.column.role == "rate-ratio" else "latency"
    return f"no {sort} of a baseline, and no row that says 1.00"


def _summary(sheet: Sheet, claim: Cell) -> None:
    """A mean lies among what it is a mean of, if all of that is shown."""
    shown = [c.span for r in sheet.plain_rows() for c in sheet.above_zero(r, *CLAIMS) if c.index == claim.index]
    if shown and min(s.low for s in shown) <= claim.span.high and claim.span.low <= max(s.high for s in shown):
        sheet.note("speed-up", claim)
    else:
        sheet.leave(claim, "it is no mean of the rows that are shown")


def quotients(sheet: Sheet, row: Row, claim: Cell) -> list[_Quotient]:
    """How many times as fast, over each baseline that may be meant; for a slow-down how many times as slow."""
    rates = claim.column.role == "rate-ratio"
    pairs = [] if rates else list(_in_row(sheet, row, claim.column.against))
    pairs += _between_rows(sheet, row, claim, ("rate",) if rates else _TIMES, binding=True)
    if not rates:
        pairs += _between_rows(sheet, row, claim, ("rate",), binding=False)
    turned = claim.column.role == "slowdown"
    return [_Quotient(_over(b, o, turned), (b, o), binding) for b, o, binding in pairs]


def _over(base: Cell, own: Cell, turned: bool) -> Span:
    more_is_faster = own.column.role == "rate"
    return own.span.over(base.span) if more_is_faster != turned else base.span.over(own.span)


def _in_row(sheet: Sheet, row: Row, against: str) -> Iterator[tuple[Cell, Cell, bool]]:
    """Two latencies of one row: the named baseline's over another, else any two but for an own one over a baseline's."""
    times = sheet.above_zero(row, *_TIMES)
    named = [c for c in times if _speaks_of(against, c.column.heading)]
    if named and len(named) < len(times):
        owns = sorted((c for c in times if c not in named), key=lambda c: c.column.role == "base-latency")
        yield from ((base, own, True) for base in named for own in owns)
        return
    bases = [c for c in times if c.column.role == "base-latency"]
    one_kernel = sum(bool(_OF_ONE_KERNEL.search(c.column.heading.lower())) for c in times) > 1
    binding = not one_kernel and (not against or bool(BASELINE.search(against)))
    both = sorted(permutations(times, 2), key=lambda pair: pair[0] not in bases)
    for base, own in both:
        if not (own in bases and base not in bases):
            yield base, own, binding


def _speaks_of(against: str, text: str) -> bool:
    words = [w for w in re.findall(r"[a-z]\w+", against) if w not in ("the", "best", "our", "ours")]
    return any(re.search(rf"\b{re.escape(w)}", text.lower()) for w in words)


def _between_rows(
    sheet: Sheet, row: Row, claim: Cell, roles: tuple[Role, ...], binding: bool
) -> Iterator[tuple[Cell, Cell, bool]]:
    """The same column in the row of a baseline: one by its name, or one whose ratio in this column is 1.00. That may be
    a kernel that gained nothing over a baseline of its own, so it binds only as the lone one, at either end."""
    own = sheet.above_zero(row, *roles)
    alike = [r for r in sheet.plain_rows() if sheet.alike(row, r)]
    named = [r for r in alike if _speaks_of(claim.column.against, sheet.named(r))]
    ones = [r for r in alike if _is_one(sheet, r, claim.index)]
    bases = named or [r for r in alike if r in ones or (r is not row and sheet.is_baseline(r))]
    known = [r for r in bases if r in named or sheet.is_baseline(r) or (ones == [r] and r in (alike[0], alike[-1]))]
    sure = binding and len(own) == 1 and any(sheet.surely_alike(row, r) for r in known if r is not row)
    for base in sorted(bases, key=lambda r: r is row):
        for cell in sheet.above_zero(base, *roles):
            yield from ((cell, mine, sure) for mine in own if mine.index == cell.index)


def _is_one(sheet: Sheet, row: Row, index: int) -> bool:
    said = [c.span for c in sheet.above_zero(row, *CLAIMS) if c.index == index]
    return any(s.low < 1 < s.high for s in said) or bool(row.cells[index] and _MARK.fullmatch(row.cells[index]))


def order(sheet: Sheet) -> Iterator[Contradiction]:
    """Where only the kernel differs, less time means more bandwidth and more speed-up; ranks follow the latency."""
    timed = []
    for row in sheet.plain_rows():
        times = sheet.above_zero(row, "latency")
        if len(times) == 1:
            timed.append((times[0], row))
    timed.sort(key=lambda pair: pair[0].span.middle)
    for place, (fast, first) in enumerate(timed):
        for slow, second in timed[place + 1 :]:
            if fast.span.high < slow.span.low and sheet.surely_alike(first, second):
                yield from _ordered(sheet, (fast, first), (slow, second))
                break


def _ordered(sheet: Sheet, quick: tuple[Cell, Row], tardy: tuple[Cell, Row]) -> Iterator[Contradiction]:
    (fast, first), (slow, second) = quick, tardy
    for one, other in _comparable(sheet, first, second):
        sheet.note("order", fast, slow, one, other)
        lower, upper = (other, one) if one.column.role == "slowdown" else (one, other)
        if lower.span.high < upper.span.low:
            word = "higher" if one.column.role == "slowdown" else "lower"
            what = f"it takes less time than '{called(second)}' and has the {word} {one.column.heading}"
            yield sheet.say("order", first, what)
    ranks = [*sheet.table.spans(first, "rank")[:1], *sheet.table.spans(second, "rank")[:1]]
    if len(ranks) == 2:
        sheet.note("order", fast, slow, *ranks)
        if ranks[0].span.middle > ranks[1].span.middle:
            yield sheet.say("order", first, f"it is faster than '{called(second)}' and ranked behind it")


def _comparable(sheet: Sheet, first: Row, second: Row) -> Iterator[tuple[Cell, Cell]]:
    """Figures of one column that follow the time: bandwidths of equal bytes, and ratios over one baseline."""
    roles: list[Role] = []
    if _one_traffic(sheet, first, second):
        roles.append("rate")
    if not sheet.above_zero(first, "base-latency") and any(map(sheet.is_baseline, sheet.plain_rows())):
        roles += ["speedup", "slowdown"]
    there = {c.index: c for c in sheet.above_zero(second, *roles)}
    for cell in sheet.above_zero(first, *roles):
        if cell.index in there and not cell.column.either:
            yield cell, there[cell.index]


def _one_traffic(sheet: Sheet, first: Row, second: Row) -> bool:
    """Whether two rows surely move the same bytes: as a column says or, where nothing tells them, unless latency x
    bandwidth are about in the proportion of small numbers, as those of a copy and an addition are."""
    if sheet.above_zero(first, "bytes") and sheet.above_zero(second, "bytes"):
        one, other = (sheet.above_zero(row, "bytes")[0] for row in (first, second))
        return one.span.meets(other.span)
    rates = [sheet.above_zero(row, "rate") for row in (first, second)]
    if counted(sheet):
        return False
    if sheet.bytes_of(first) is not None or any(len(r) != 1 for r in rates):
        return False  # held against bytes / latency already
    times = [sheet.above_zero(row, "latency")[0].span for row in (first, second)]
    moved = [t.times(r[0].span) for t, r in zip(times, rates, strict=True)]
    return not any(moved[1].over(moved[0]).meets(Span(0.98 * p, 1.02 * p)) for p in _PROPORTIONS)


def all_ratios(sheet: Sheet) -> Sequence[Span]:
    """Every ratio that the rows say or give: what a caption's speed-up may be."""
    rows = sheet.plain_rows()
    said = [c.span for r in sheet.table.rows for c in sheet.above_zero(r, "speedup", "slowdown", "mean", "median")]
    gives = []
    for row in rows:
        times = [(c, sheet.above_zero(row, *_TIMES)) for c in sheet.above_zero(row, *_TIMES)]
        gives += [a.span.over(b.span) for a, others in times for b in others if a is not b]
        for other in rows:
            if other is not row and sheet.alike(row, other):
                gives += [a.span.over(b.span) for a in sheet.above_zero(row, *_TIMES)
                          for b in sheet.above_zero(other, *_TIMES) if a.index == b.index]  # fmt: skip
    return [*said, *gives]
