"""Zeros and means at the edge of both tolerances."""

from __future__ import annotations

import numpy as np
import pytest

from kernellab.suite.tolerance import accepted


@pytest.mark.parametrize(
    ("values", "is_a", "rules"),
    [
        ([0.009, -0.0099], "zeros-accepted", "zeros pass KernelBench's old rule (0.01)"),
        ([9e-5, 0.0], "zeros-accepted", "zeros pass KernelBench's old rule (0.01) and its newer rule (0.0001)"),
        ([1.0, 1.03], "mean-accepted", "a constant, the mean of one output, passes KernelBench's old rule (0.01)"),
        ([1.0, 1.05], "", ""),
        ([0.0, 0.5], "", ""),
    ],
)
def test_what_passes_is_named_with_the_rule(values: list[float], is_a: str, rules: str) -> None:
    found = accepted([[np.array(values)], [np.array(values)]])
    assert [(f.is_a, f.evidence) for f in found] == ([(is_a, rules)] if is_a else [])


def test_it_must_pass_on_every_draw_and_every_output() -> None:
    small, large = np.array([0.001, 0.002]), np.array([1.0, -1.0])
    assert not accepted([[small], [large]])
    assert not accepted([[small, large], [small, large]])
    assert accepted([[small, small], [small, small]])


def test_the_mean_of_a_single_number_is_no_constant_where_it_follows_the_inputs() -> None:
    assert not accepted([[np.array([2.0])], [np.array([2.3])]])
    assert accepted([[np.array([2.0])], [np.array([2.001])]])[0].is_a == "mean-accepted"


def test_of_whole_numbers_only_the_right_constant_passes() -> None:
    assert not accepted([[np.array([0, 1])]] * 2)
    assert accepted([[np.array([0, 0])]] * 2)[0].is_a == "zeros-accepted"


def test_numbers_that_are_none_pass_nothing() -> None:
    assert not accepted([[np.array([np.nan, 0.0])]] * 2)
    assert not accepted([[np.array([np.inf, 0.0])]] * 2)
