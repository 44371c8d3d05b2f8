"""Numbers as they are printed: a rounded figure stands for every value that rounds to it, and arithmetic keeps that width.

So 7.82 ms is anything from 7.815 to 7.825 ms, and two printed figures contradict each other only if no values behind them
could agree. Thousands may be set off by commas, spaces or apostrophes (1,024, 1 000), and a comma that cannot be one of
those is a decimal comma (1,5).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

_GROUPS = r"\d{1,3}(?:,\d{3})+(?![\d,])|\d{1,3}(?:[ '’_\u00a0\u2009\u202f]\d{3})+(?!\d)"
_PLAIN = r"\d+(?:[.,]\d+)?|[.]\d+"
_NUMBER = re.compile(
    rf"(?P<sign>[-+−]?)(?P<digits>(?:{_GROUPS})(?:\.\d+)?|{_PLAIN})"
    r"(?:[eE](?P<exponent>[-+−]?\d+)|\s*[×x*·]\s*10\s*\^\s*[({]?(?P<power>[-+−]?\d+)[)}]?)?"
)
_GROUPED = re.compile(rf"(?:{_GROUPS})(?:\.\d+)?")
_SLACK = 1e-9
_LONGEST = 400  # characters: what is longer is no figure


@dataclass(frozen=True)
class Span:
    """From `low` to `high`; `middle` is the figure itself, where one was printed, and arithmetic goes by it."""

    low: float
    high: float
    printed: float | None = field(default=None, compare=False)

    def times(self, other: Span) -> Span:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Span(min(ends), max(ends), self.middle * other.middle)

    def over(self, other: Span) -> Span:
        if other.low <= 0 <= other.high:
            raise ValueError("a span that holds zero divides nothing")
        return self.times(Span(1 / other.high, 1 / other.low, 1 / other.middle))

    def scaled(self, factor: float) -> Span:
        return Span(self.low * factor, self.high * factor, self.middle * factor)

    def meets(self, other: Span) -> bool:
        slack = _SLACK * max(abs(self.low), abs(self.high), abs(other.low), abs(other.high))
        return self.low <= other.high + slack and other.low <= self.high + slack

    @property
    def middle(self) -> float:
        return 0.5 * (self.low + self.high) if self.printed is None else self.printed


def exactly(value: float) -> Span:
    return Span(value, value)


def span_of(text: str) -> Span | None:
    """The first number of a text, as wide as its last printed digit; None where there is none, or none that is finite."""
    found = _NUMBER.search(text[:_LONGEST])
    if found is None:
        return None
    digits = found["digits"]
    plain = re.sub(r"[^\d.]", "", digits) if _GROUPED.fullmatch(digits) else digits.replace(",", ".")
    exponent = (found["exponent"] or found["power"] or "0").replace("−", "-")
    decimals = len(plain.partition(".")[2])
    sign = -1.0 if found["sign"] in ("-", "−") else 1.0
    value, half = sign * float(f"{plain}e{exponent}"), float(f"0.5e{int(exponent) - decimals}")
    span = Span(value - half, value + half, value)
    return span if math.isfinite(span.low) and math.isfinite(span.high) else None
