"""Means with an interval over what they are means of."""

from __future__ import annotations

import pytest

from kernellab.measurement.bootstrap import Interval, mean_interval, ratio_interval


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


def test_a_ratio_of_means_draws_both_at_the_same_places() -> None:
    first = [1.0, 2.0, 4.0, 8.0]
    assert ratio_interval(first, [3 * value for value in first]) == Interval(3.0, 3.0, 3.0)
    found = ratio_interval(first, [8.0, 4.0, 2.0, 1.0])
    assert found.value == 1.0
    assert 1 / 8 < found.low < 1 < found.high < 8
    many = [n**1.5 for n in range(20)]
    assert (
        ratio_interval(many, many[::-1]) == ratio_interval(many, many[::-1]) != ratio_interval(many, many[::-1], seed=1)
    )


def test_where_the_first_is_often_nothing_the_ratio_has_no_upper_end() -> None:
    found = ratio_interval([0.0, 1.0], [1.0, 1.0])
    assert (found.value, found.low, found.high) == (2.0, 1.0, float("inf"))
    assert ratio_interval([0.0, 1.0], [0.0, 2.0]) == Interval(2.0, 2.0, 2.0), "where both are nothing, nothing is said"


def test_one_value_has_no_interval_in_words() -> None:
    assert Interval(0.5, 0.25, 0.75).words() == "0.500 [0.250, 0.750]"
    assert Interval(0.5, 0.5, 0.5).words(several=False) == "0.500"
