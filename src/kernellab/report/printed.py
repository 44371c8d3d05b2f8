"""Numbers as they are printed: a rounded figure stands for every value that rounds to it, and arithmetic keeps that width.

So 7.82 ms is anything from 7.815 to 7.825 ms, and two printed figures contradict each other only if no values behind them
could agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+−]?\d+)?|[-+−]?\.\d+(?:[eE][-+−]?\d+)?")
_SLACK = 1e-9


@dataclass(frozen=True)
class Span:
    low: float
    high: float

    def times(self, other: Span) -> Span:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Span(min(ends), max(ends))

    def over(self, other: Span) -> Span:
        if other.low <= 0 <= other.high:
            raise ValueError("a span that holds zero divides nothing")
        return self.times(Span(1 / other.high, 1 / other.low))

    def scaled(self, factor: float) -> Span:
        return Span(self.low * factor, self.high * factor)

    def meets(self, other: Span) -> bool:
        slack = _SLACK * max(abs(self.low), abs(self.high), abs(other.low), abs(other.high))
        return self.low <= other.high + slack and other.low <= self.high + slack

    @property
    def middle(self) -> float:
        return 0.5 * (self.low + self.high)


def exactly(value: float) -> Span:
    return Span(value, value)


def span_of(text: str) -> Span | None:
    """The first number of a text, as wide as its last printed digit; None where there is none."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    plain = found[0].replace(",", "").replace("−", "-")
    mantissa, _, exponent = plain.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** (int(exponent or 0) - digits)
    value = float(plain)
    return Span(value - half, value + half)
