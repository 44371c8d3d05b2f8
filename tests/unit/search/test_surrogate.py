from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from numpy.typing import NDArray

from kernellab.build.base import Candidate
from kernellab.core.records import Param
from kernellab.propose.recipe import Recipe
from kernellab.search.surrogate import MOST_KNOWN, Combination, Surrogate, ordered

LINE = Recipe(Candidate("", "line"), {"ROWS": [1, 2, 4, 8, 16], "EXP": ["poly", "libm"]}, "")
OTHER = Recipe(Candidate("", "other"), {"W": [1, 2, 3]}, "")
BARE = Recipe(Candidate("", "bare"), {}, "")
ALL: list[Combination] = [(0, (i, j)) for i in range(5) for j in range(2)]


def gains(
    recipes: list[Recipe],
    known: dict[Combination, float | None],
    left: list[Combination],
    pending: list[Combination] | None = None,
) -> NDArray[np.float64]:
    """Half of the trials are learned before the candidates are named, half of them afterwards."""
    model = Surrogate(recipes)
    for number, (combination, value) in enumerate(known.items()):
        if number == len(known) // 2:
            model.consider(left)
        model.learn(combination, value)
    assert model.candidates == left
    return model.improvement(pending or [])


def favourite(known: dict[Combination, float | None], pending: list[Combination] | None = None) -> Combination:
    left = [c for c in ALL if c not in known and c not in (pending or [])]
    return left[int(np.argmax(gains([LINE], known, left, pending)))]


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
    near, far = gains([LINE, OTHER], {(0, (0, 0)): None, (1, (0,)): 0.0}, [(0, (1, 0)), (0, (4, 1))])
    unharmed = gains([LINE, OTHER], {(1, (0,)): 0.0}, [(0, (4, 1))])[0]
    assert near < far
    assert far == pytest.approx(unharmed, rel=0.1)


def test_where_nothing_ran_yet_what_is_far_from_the_failures_comes_first() -> None:
    assert favourite({(0, (0, 0)): None}) == (0, (4, 1))


def test_what_is_pending_is_not_asked_for_again_next_door() -> None:
    known: dict[Combination, float | None] = {(0, (0, 0)): 0.0, (0, (1, 0)): 0.3, (0, (2, 0)): 1.0}
    first = favourite(known)
    left = [c for c in ALL if c not in known and c != first]
    without, beside = gains([LINE], known, left), gains([LINE], known, left, [first])
    nearest = min(range(len(left)), key=lambda i: abs(left[i][1][0] - first[1][0]) + 3 * (left[i][1][1] != first[1][1]))
    assert beside[nearest] < without[nearest]


def test_what_is_pending_leaves_nothing_behind() -> None:
    model = Surrogate([LINE])
    model.consider(ALL[2:])
    for combination, value in zip(ALL[:2], (0.0, 1.0), strict=True):
        model.learn(combination, value)
    before = model.improvement()
    model.improvement(ALL[3:6])
    np.testing.assert_array_equal(model.improvement(), before)


def test_equal_values_and_recipes_without_parameters_do_no_harm() -> None:
    found = gains([BARE, LINE], {(0, ()): 1.0, (1, (0, 0)): 1.0}, [(1, c) for _, c in ALL[1:]])
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_what_is_worked_in_trial_by_trial_is_the_process_as_the_book_has_it() -> None:
    """Mean and variance of a Gaussian process by one solution of the whole system."""
    known: dict[Combination, float | None] = {(0, (0, 0)): 0.4, (0, (3, 1)): 1.1, (1, (2,)): 0.2, (0, (4, 0)): 0.9}
    left: list[Combination] = [(0, (1, 0)), (0, (4, 1)), (1, (0,)), (1, (1,))]

    def alike(a: Combination, b: Combination) -> float:
        if a[0] != b[0]:
            return 0.1
        tables = [[math.exp(-abs(i - j) / 2) for j in range(5)] for i in range(5)], [[1, 0.2], [0.2, 1]]
        parts = [t[i][j] for t, i, j in zip(tables if a[0] == 0 else tables[:1], a[1], b[1], strict=True)]
        return 0.1 + 0.9 * (sum(parts) / len(parts) + math.prod(parts)) / 2

    y = np.array([v for v in known.values() if v is not None])
    y = (y - y.mean()) / y.std()
    matrix = np.array([[alike(a, b) for b in known] for a in known]) + 0.02 * np.eye(len(known))
    across = np.array([[alike(a, b) for b in left] for a in known])
    solved = np.linalg.solve(matrix, np.column_stack([y, across]))
    spread = np.sqrt(float(y @ solved[:, 0]) / len(y) * (1 - np.einsum("ij,ij->j", across, solved[:, 1:])))
    z = (across.T @ solved[:, 0] - y.max()) / spread
    normal = statistics.NormalDist()
    expected = [s * (v * normal.cdf(v) + normal.pdf(v)) for s, v in zip(spread, z, strict=True)]
    np.testing.assert_allclose(gains([LINE, OTHER], known, left), expected, rtol=1e-9)


def test_a_long_history_is_cut_to_the_best_and_the_latest() -> None:
    wide = Recipe(Candidate("", "wide"), {"I": list(range(40)), "J": list(range(40))}, "")
    points = [(0, c) for c in itertools.product(range(40), range(20))]
    assert len(points) > 2 * MOST_KNOWN
    known: dict[Combination, float | None] = {p: -math.dist(p[1], (3, 3)) for p in points}
    near, far = gains([wide], known, [(0, (3, 20)), (0, (39, 39))])
    assert np.isfinite([near, far]).all()
