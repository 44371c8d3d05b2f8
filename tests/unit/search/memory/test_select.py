from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.search.archive import AnyTrial
from kernellab.search.memory.buckets import buckets
from kernellab.search.memory.islands import Islands
from kernellab.search.memory.select import _why, contrastive_select, effect, softmax, worth
from kernellab.search.memory.specimen import recall

from .specimens import CUDA, ROWS, failed, measured, read, rejected

SCHEMES = st.sampled_from(["bucket", "island"])
TAUS = st.sampled_from([0.0, 0.05, 0.3, 2.0, math.inf])
STEPS = st.lists(
    st.tuples(st.sampled_from([ROWS, CUDA]), st.floats(0.2, 9), st.sampled_from([1, 2, 4, 8])), max_size=25
)


def history(steps: list[tuple[str, float, int]]) -> list[AnyTrial]:
    """Every fifth fails."""
    return [
        failed(i, text=t) if i % 5 == 4 else measured(i, v, text=t, params={"ROWS": r, "UNROLL": i % 3})
        for i, (t, v, r) in enumerate(steps)
    ]


def numbers(found: list[Any]) -> list[int]:
    return [e.specimen.number for e in found]


@given(STEPS, st.integers(0, 30), SCHEMES, TAUS, st.integers(0, 99))
def test_never_more_than_asked_never_one_twice_and_all_where_there_are_enough(
    steps: list[tuple[str, float, int]], n: int, scheme: Any, tau: float, seed: int
) -> None:
    found = numbers(contrastive_select(history(steps), n, scheme, tau, random.Random(seed), read))
    assert len(found) == len(set(found)) == min(n, len(steps))


@given(STEPS, st.integers(0, 8), SCHEMES, TAUS, st.integers(0, 99))
def test_a_seed_repeats_the_choice(
    steps: list[tuple[str, float, int]], n: int, scheme: Any, tau: float, seed: int
) -> None:
    once, again = (contrastive_select(history(steps), n, scheme, tau, random.Random(seed), read) for _ in range(2))
    assert once == again


@given(STEPS, st.integers(1, 6), st.integers(0, 99))
def test_at_temperature_0_the_best_buckets_come_in_order_whatever_the_seed(
    steps: list[tuple[str, float, int]], n: int, seed: int
) -> None:
    trials = history(steps)
    found = contrastive_select(trials, n, "bucket", 0.0, random.Random(seed), read)
    count = sum(b.score is not None for b in buckets(recall(trials, read)))
    assert [e.bucket for e in found][:count] == list(range(min(n, count, len(found))))
    assert numbers(found) == numbers(contrastive_select(trials, n, "bucket", 0.0, random.Random(seed + 1), read))
    if any(t.status == "measured" for t in trials):
        best = max((s for s in recall(trials) if s.timing), key=lambda s: (s.score or 0.0, -s.number))
        assert found[0].specimen.number == best.number


@given(STEPS, st.integers(0, 10), TAUS, st.integers(0, 99))
def test_no_bucket_twice_before_every_other_had_its_turn(
    steps: list[tuple[str, float, int]], n: int, tau: float, seed: int
) -> None:
    trials = history(steps)
    found = contrastive_select(trials, n, "bucket", tau, random.Random(seed), read)
    count = sum(b.score is not None for b in buckets(recall(trials, read)))
    turn = [e.bucket for e in found if e.specimen.timing is not None][:count]
    assert len(turn) == len(set(turn))


@given(STEPS, st.integers(1, 10), TAUS, st.integers(0, 99))
def test_the_fastest_is_always_shown_and_first(
    steps: list[tuple[str, float, int]], n: int, tau: float, seed: int
) -> None:
    trials = history(steps)
    timed = [s for s in recall(trials) if s.timing]
    found = contrastive_select(trials, n, "bucket", tau, random.Random(seed), read)
    if timed:
        assert found[0].specimen.number == max(timed, key=lambda s: (s.score or 0.0, -s.number)).number


def test_failures_are_owed_no_turn() -> None:
    trials: list[AnyTrial] = [measured(i, 2.0 + i / 500, params={"ROWS": i, "UNROLL": 1}) for i in range(6)]
    trials += [failed(6), measured(7, 4.0)]
    assert [e.bucket for e in contrastive_select(trials, 4, rng=random.Random(0), read=read)] == [0, 1, 1, 1]


def test_at_infinite_temperature_every_bucket_beside_the_fastest_is_as_likely() -> None:
    speeds = [16.0, 8.0, 4.0, 4.01, 3.99, 2.0, 1.0]  # four buckets under the fastest, one of three members
    trials: list[AnyTrial] = [measured(i, v, 0.001) for i, v in enumerate(speeds)]
    dice = random.Random(1)
    drawn = Counter(contrastive_select(trials, 2, "bucket", math.inf, dice)[1].bucket for _ in range(4000))
    assert sorted(drawn) == [1, 2, 3, 4]
    assert all(abs(count - 1000) < 120 for count in drawn.values())


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9))
def test_softmax_is_uniform_at_infinity_and_a_choice_at_0(utility: list[float]) -> None:
    assert softmax(utility, math.inf) == pytest.approx([1 / len(utility)] * len(utility))
    assert softmax(utility, 0.0)[utility.index(max(utility))] == 1.0
    assert softmax(utility, 1e-12)[utility.index(max(utility))] > 0
    assert sum(softmax(utility, 0.3)) == pytest.approx(1.0)


def test_a_near_pair_with_a_plain_effect_beats_a_far_pair_with_a_larger_one() -> None:
    fast = measured(0, 4.0, params={"ROWS": 4, "UNROLL": 2})
    near = measured(1, 3.0, params={"ROWS": 2, "UNROLL": 2})
    far = measured(2, 2.9, text=CUDA, params={"THREADS": 256})
    a, b, c = recall([fast, near, far], read)
    assert worth(a, b) > worth(a, c) > 0
    found = contrastive_select([fast, far, near], 2, "bucket", 0.0, read=read)
    assert numbers(found) == [0, 1]
    assert found[1].beside is not None
    assert found[1].beside.number == 0
    assert found[1].why == "differs from trial 0 in ROWS only, and is clearly slower"


def test_an_effect_within_the_noise_is_worth_nothing() -> None:
    a, b = recall([measured(0, 2.0, 0.3), measured(1, 1.9, 0.3, params={"ROWS": 2, "UNROLL": 1})])
    assert effect(a, b) == 0.0
    assert worth(a, b) == 0.0


def test_failures_can_be_shown_with_their_reason_or_left_out() -> None:
    trials: list[AnyTrial] = [measured(0, 2.0), failed(1, params={"ROWS": 2, "UNROLL": 1}), rejected(2, text=CUDA)]
    found = contrastive_select(trials, 2, "bucket", 0.0, read=read)
    assert numbers(found) == [0, 1]
    assert found[1].why == "differs from trial 0 in ROWS only, and failed: build-failed: no such intrinsic"
    assert numbers(contrastive_select(trials, 3, "bucket", 0.0, failures=False)) == [0]


def test_a_ledger_of_failures_only_still_gives_exemplars() -> None:
    found = contrastive_select([failed(0), rejected(1)], 2, "bucket", 0.3)
    assert sorted(numbers(found)) == [0, 1]
    assert all("failed" in e.why for e in found)


def test_other_shapes_are_not_mixed_in() -> None:
    trials: list[AnyTrial] = [measured(0, 9.0, dims={"M": 1, "N": 1}), measured(1, 2.0)]
    assert numbers(contrastive_select(trials, 5)) == [1]


def test_the_island_scheme_stays_on_one_island_while_it_has_trials() -> None:
    trials: list[AnyTrial] = [measured(i, 1.0 + i, text=f"s{i % 3}") for i in range(12)]
    islands = Islands.rebuild(recall(trials), 3, every=100)
    for seed in range(5):
        found = contrastive_select(trials, 4, "island", 0.3, random.Random(seed), islands=islands)
        assert len({e.island for e in found}) == 1
        assert {e.specimen.trial.proposal.source for e in found} == {found[0].specimen.trial.proposal.source}
    assert len(contrastive_select(trials, 12, "island", 0.3, random.Random(0), islands=islands)) == 12


def test_guests_can_be_shown_on_the_island_they_visit() -> None:
    trials: list[AnyTrial] = [measured(0, 1.0, text="a"), measured(1, 5.0, text="b")]
    islands = Islands.rebuild(recall(trials), 2, every=2)
    assert all(
        len(contrastive_select(trials, 2, "island", 0.0, random.Random(s), islands=islands)) == 2 for s in range(4)
    )


@pytest.mark.parametrize(("n", "tau"), [(-1, 0.3), (1, -0.1), (1, math.nan)])
def test_senseless_wishes_are_refused(n: int, tau: float) -> None:
    with pytest.raises(ValueError, match="cannot choose"):
        contrastive_select([measured(0, 1.0)], n, tau=tau)


def test_an_empty_ledger_gives_nothing() -> None:
    assert contrastive_select([], 3) == []


def test_what_stands_alone_is_a_starting_point_or_says_how_it_failed() -> None:
    good, bad = recall([measured(0, 1.5), failed(1)], read)
    assert _why(good, None) == "a starting point"
    assert _why(bad, None) == "failed: build-failed: no such intrinsic"
