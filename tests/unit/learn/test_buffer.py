"""The buffer keeps what teaches, and its bound is where it neither grows nor runs empty."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.learn.buffer import ProblemBuffer, most_from_buffer

SHARES = st.floats(0, 1)


@given(SHARES, SHARES, SHARES)
def test_the_bound_is_where_what_leaves_is_what_enters(fresh: float, buffered: float, eps: float) -> None:
    bound = most_from_buffer(fresh, buffered)
    assert 0 <= bound <= 1
    enters, leaves = (1 - eps) * (1 - fresh), eps * buffered
    if eps < bound - 1e-9:
        assert leaves <= enters + 1e-12
    if eps > bound + 1e-9:
        assert leaves >= enters - 1e-12


@given(SHARES, SHARES, SHARES)
def test_more_trivial_problems_never_allow_more(fresh: float, buffered: float, more: float) -> None:
    bound = most_from_buffer(fresh, buffered)
    assert most_from_buffer(max(fresh, more), buffered) <= bound + 1e-12 or buffered == 0
    assert most_from_buffer(fresh, max(buffered, more)) <= bound + 1e-12


@pytest.mark.parametrize(
    ("fresh", "buffered", "bound"),
    [(0.42, 0.18, 0.58 / 0.76), (0.5, 0.5, 0.5), (1.0, 0.3, 0.0), (0.3, 0.0, 1.0), (1.0, 0.0, 1.0), (0.0, 1.0, 0.5)],
)
def test_the_bound_in_numbers(fresh: float, buffered: float, bound: float) -> None:
    assert most_from_buffer(fresh, buffered) == pytest.approx(bound)


@pytest.mark.parametrize(("fresh", "buffered"), [(-0.1, 0.5), (0.5, 1.1), (float("nan"), 0.5)])
def test_what_is_no_share_is_refused(fresh: float, buffered: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        most_from_buffer(fresh, buffered)


@given(st.floats(0.05, 0.9), st.floats(0.05, 0.95), st.integers(0, 2**32))
def test_at_the_bound_the_buffer_does_not_run_empty(fresh: float, buffered: float, seed: int) -> None:
    """A thousand draws at a tenth below the bound, problems trivial by coins of these shares: what was gained is kept."""
    coin, numbers = random.Random(seed), itertools.count()
    buffer = ProblemBuffer(lambda: next(numbers), random.Random(seed + 1), most=0.9, size=10**6)
    sizes = []
    for _ in range(100):
        batch = buffer.draw(10)
        assert buffer.eps <= 0.9
        buffer.told(batch, [coin.random() < (fresh if drawn.place is None else buffered) for drawn in batch])
        sizes.append(len(buffer))
    assert max(sizes[-50:]) > 0


@given(st.integers(0, 2**32))
def test_beyond_the_bound_a_buffer_would_run_empty(seed: int) -> None:
    """The same coins with eps held above the bound, counted by hand: the drift is downwards."""
    fresh, buffered = 0.8, 0.8
    bound = most_from_buffer(fresh, buffered)
    eps = min(1.0, bound + 0.3)
    coin, held = random.Random(seed), 400
    for _ in range(2000):
        if held and coin.random() < eps:
            held -= coin.random() < buffered
        else:
            held += coin.random() >= fresh
    assert held < 400


def test_what_teaches_enters_and_what_no_longer_does_leaves() -> None:
    numbers = itertools.count()
    buffer = ProblemBuffer(lambda: next(numbers), random.Random(0), most=1.0)
    assert buffer.eps == 0.0
    first = buffer.draw(4)
    assert [drawn.place for drawn in first] == [None] * 4
    buffer.told(first, [True, False, False, True])
    assert len(buffer) == 2
    again = [drawn for _ in range(20) for drawn in buffer.draw(3) if drawn.place is not None]
    assert {drawn.problem for drawn in again} == {1, 2}
    buffer.told([next(drawn for drawn in again if drawn.problem == 1)], [True])
    assert len(buffer) == 1


def test_a_batch_holds_a_buffered_problem_once() -> None:
    buffer = ProblemBuffer(lambda: "new", random.Random(1), most=1.0)
    buffer.told(buffer.draw(1), [False])
    for _ in range(50):
        assert sum(drawn.place is not None for drawn in buffer.draw(6)) <= 1


def test_the_oldest_leave_where_there_are_too_many() -> None:
    numbers = itertools.count()
    buffer = ProblemBuffer(lambda: next(numbers), random.Random(2), most=0.0, size=3)
    buffer.told(buffer.draw(5), [False] * 5)
    assert len(buffer) == 3
    assert sorted(buffer._held.values()) == [2, 3, 4]


def test_a_policy_that_finds_all_trivial_is_asked_afresh() -> None:
    buffer = ProblemBuffer(lambda: "new", random.Random(3), most=0.9)
    buffer.told(buffer.draw(1), [False])
    for _ in range(200):
        buffer.told(batch := buffer.draw(2), [drawn.place is None for drawn in batch])
    assert buffer.eps < 0.7  # hardly anything enters; the share that may leave is only what one added draw allows for


@pytest.mark.parametrize("settings", [{"most": 1.1}, {"size": 0}, {"window": 0}])
def test_settings_that_mean_nothing_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="give 0 <= most <= 1"):
        ProblemBuffer(lambda: 0, random.Random(0), **settings)  # type: ignore[arg-type]
