"""Means with an interval over what they are means of."""

from __future__ import annotations

import pytest

from kernellab.measurement.bootstrap import Interval, mean_interval


def test_the_mean_lies_in_an_interval_that_the_same_values_give_again() -> None:
    values = [n**1.5 for n in range(20)]
    found = mean_interval(values)
    assert found.value == pytest.approx(sum(values) / 20)
    assert values[0] < found.low < found.value < found.high < values[-1]
    assert found == mean_interval(values) != mean_interval(values, seed=1)


def test_values_that_are_all_the_same_leave_no_doubt() -> None:
    assert mean_interval([2.5] * 7) == Interval(2.5, 2.5, 2.5)


def test_more_values_of_the_same_spread_narrow_it() -> None:
    few, many = (mean_interval([0.0, 1.0] * n) for n in (4, 400))
    assert many.high - many.low == pytest.approx((few.high - few.low) / 10, rel=0.2)
