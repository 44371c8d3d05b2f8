"""Exact intervals: against published values, against the binomial they come from, and with weights."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernellab.search.soft.interval import Rate, clopper_pearson, incomplete_beta


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (8, 10, 0.4439, 0.9748), (50, 100, 0.3983, 0.6017), (1, 1, 0.025, 1.0)],
)  # fmt: skip
def test_known_intervals(hits: int, n: int, low: float, high: float) -> None:
    assert clopper_pearson(hits, n) == pytest.approx((low, high), abs=5e-5)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 60), st.data(), st.floats(0.01, 0.99))
def test_the_incomplete_beta_function_is_the_tail_of_a_binomial(n: int, data: st.DataObject, p: float) -> None:
    k = data.draw(st.integers(1, n))
    tail = math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
    assert incomplete_beta(p, k, n - k + 1) == pytest.approx(tail, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 200), st.data())
def test_an_interval_holds_its_value_and_narrows_with_trials(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    low, high = clopper_pearson(hits, n)
    assert 0 <= low <= hits / n <= high <= 1
    wider = clopper_pearson(10 * hits, 10 * n)
    assert wider[1] - wider[0] < high - low


def test_a_weight_moves_value_and_ends_by_the_odds() -> None:
    plain, weighted = Rate.of(8, 2), Rate.of(8, 2, 10.0)
    assert plain is not None
    assert weighted is not None
    assert plain.value == 0.8
    assert weighted.value == pytest.approx(80 / 82)
    for p, w in ((plain.low, weighted.low), (plain.high, weighted.high)):
        assert w / (1 - w) == pytest.approx(10 * p / (1 - p))


def test_no_hits_among_few_seen_leave_room_for_many_unseen() -> None:
    rate = Rate.of(0, 100, 10.0)
    assert rate is not None
    assert (rate.value, rate.low) == (0.0, 0.0)
    assert 0.2 < rate.high < 0.4


def test_nothing_counted_is_no_rate() -> None:
    assert Rate.of(0, 0) is None
    assert Rate.of(0, 5, 0.0) is None
