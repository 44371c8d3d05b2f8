from __future__ import annotations

import pytest

from kernellab.report.printed import Span, exactly, span_of


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("7.82", 7.815, 7.825), ("4,194.3", 4194.25, 4194.35), ("2.0e-3", 1.95e-3, 2.05e-3), ("1.91×", 1.905, 1.915),
     ("-3", -3.5, -2.5), ("about 12 ms", 11.5, 12.5)],
)  # fmt: skip
def test_a_printed_number_is_as_wide_as_its_last_digit(text: str, low: float, high: float) -> None:
    span = span_of(text)
    assert span is not None
    assert (span.low, span.high) == (pytest.approx(low), pytest.approx(high))


def test_spans_meet_where_they_overlap_or_touch() -> None:
    span = Span(1.0, 2.0)
    assert all(span.meets(other) for other in (Span(1.5, 1.6), Span(0.0, 1.0), Span(2.0, 3.0), Span(0.0, 9.0)))
    assert not any(span.meets(other) for other in (Span(0.0, 0.9), Span(2.1, 3.0)))


def test_what_is_no_number_is_none() -> None:
    assert span_of("—") is None


def test_arithmetic_keeps_the_width() -> None:
    latency, rate = span_of("64.00"), span_of("4,194.3")
    assert latency is not None
    assert rate is not None
    assert latency.times(rate).scaled(1e3).meets(exactly(268_435_456))
    assert not latency.times(Span(4180, 4181)).scaled(1e3).meets(exactly(268_435_456))
    with pytest.raises(ValueError, match="zero"):
        latency.over(Span(-1, 1))
