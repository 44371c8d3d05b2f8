from __future__ import annotations

import numpy as np
import pytest

from kernellab.search.prior.trees import Forest

STUMP = Forest(np.array([[1]], np.int16), np.array([[0.5]], np.float32), np.array([[-1.0, 2.0]], np.float32), 10.0)


def test_what_is_above_goes_right_and_what_is_not_known_left() -> None:
    assert STUMP(np.array([[9, 0.6], [9, 0.5], [9, np.nan]])).tolist() == [12.0, 9.0, 9.0]
    assert STUMP(np.zeros((0, 2))).tolist() == []


def test_many_rows_are_the_same_as_each_alone() -> None:
    dice = np.random.default_rng(0)
    forest = Forest(
        dice.integers(0, 5, (7, 7)).astype(np.int16), dice.normal(size=(7, 7)).astype(np.float32),
        dice.normal(size=(7, 8)).astype(np.float32), 0.25,
    )  # fmt: skip
    table = dice.normal(size=(5000, 5))
    assert forest(table)[4321] == forest(table[4321:4322])[0]


def test_trees_that_are_not_complete_are_refused() -> None:
    with pytest.raises(ValueError, match="not complete"):
        Forest(np.zeros((1, 2), np.int16), np.zeros((1, 2), np.float32), np.zeros((1, 3), np.float32), 0.0)
