from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from kernellab.build.base import Candidate
from kernellab.core.records import Param
from kernellab.propose.recipe import Recipe
from kernellab.search.surrogate import MOST_KNOWN, Combination, Surrogate, ordered

LINE = Recipe(Candidate("", "line"), {"ROWS": [1, 2, 4, 8, 16], "EXP": ["poly", "libm"]}, "")
OTHER = Recipe(Candidate("", "other"), {"W": [1, 2, 3]}, "")
BARE = Recipe(Candidate("", "bare"), {}, "")
ALL: list[Combination] = [(0, (i, j)) for i in range(5) for j in range(2)]


def favourite(known: dict[Combination, float | None], pending: list[Combination] | None = None) -> Combination:
    left = [c for c in ALL if c not in known and c not in (pending or [])]
    gains = Surrogate([LINE]).improvement(list(known), list(known.values()), pending or [], left)
    return left[int(np.argmax(gains))]


@pytest.mark.parametrize(
    ("choices", "expected"),
    [([1, 2, 4], True), ([4, 2, 1], True), ([0.5, 1.5, 2.5], True), ([1, 4, 2], False), ([1, 2], False),
     ([True, False, True], False), (["a", "b", "c"], False)],
)  # fmt: skip
def test_rising_and_falling_numbers_are_ordered(choices: list[Param], expected: bool) -> None:
    assert ordered(choices) is expected


def test_the_neighbour_of_what_is_fast_is_preferred_to_that_of_what_is_slow() -> None:
    found = favourite({(0, (0, 0)): 0.0, (0, (1, 0)): 0.1, (0, (3, 0)): 1.0, (0, (2, 0)): 0.8})
    assert found in {(0, (4, 0)), (0, (3, 1))}


def test_effects_of_single_parameters_are_put_together() -> None:
    """Seen apart, more rows and the other exponential both help; together they were never tried."""
    known: dict[Combination, float | None] = {(0, (0, 0)): 0.0, (0, (4, 0)): 1.0, (0, (0, 1)): 1.0, (0, (1, 0)): 0.1}
    assert favourite(known) in {(0, (4, 1)), (0, (3, 1))}


def test_a_failure_speaks_against_its_neighbours_and_not_against_its_recipe() -> None:
    model = Surrogate([LINE, OTHER])
    failed: Combination = (0, (0, 0))
    near, far = model.improvement([failed, (1, (0,))], [None, 0.0], [], [(0, (1, 0)), (0, (4, 1))])
    unharmed = model.improvement([(1, (0,))], [0.0], [], [(0, (4, 1))])[0]
    assert near < far
    assert far == pytest.approx(unharmed, rel=0.1)


def test_where_nothing_ran_yet_what_is_far_from_the_failures_comes_first() -> None:
    assert favourite({(0, (0, 0)): None}) == (0, (4, 1))


def test_what_is_pending_is_not_asked_for_again_next_door() -> None:
    known: dict[Combination, float | None] = {(0, (0, 0)): 0.0, (0, (1, 0)): 0.3, (0, (2, 0)): 1.0}
    first = favourite(known)
    model, left = Surrogate([LINE]), [c for c in ALL if c not in known and c != first]
    without = model.improvement(list(known), list(known.values()), [], left)
    beside = model.improvement(list(known), list(known.values()), [first], left)
    nearest = min(range(len(left)), key=lambda i: abs(left[i][1][0] - first[1][0]) + 3 * (left[i][1][1] != first[1][1]))
    assert beside[nearest] < without[nearest]


def test_equal_values_and_recipes_without_parameters_do_no_harm() -> None:
    model = Surrogate([BARE, LINE])
    gains = model.improvement([(0, ()), (1, (0, 0))], [1.0, 1.0], [], [(1, c) for _, c in ALL[1:]])
    assert np.isfinite(gains).all()
    assert (gains > 0).all()


def test_a_long_history_is_cut_to_the_best_and_the_latest() -> None:
    wide = Recipe(Candidate("", "wide"), {"I": list(range(40)), "J": list(range(40))}, "")
    known = [(0, c) for c in itertools.product(range(40), range(20))]
    values = [-math.dist(c[1], (3, 3)) for c in known]
    assert len(known) > MOST_KNOWN
    left: list[Combination] = [(0, (3, 20)), (0, (39, 39))]
    near, far = Surrogate([wide]).improvement(known, values, [], left)
    assert np.isfinite([near, far]).all()
