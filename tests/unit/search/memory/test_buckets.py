from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from kernellab.core.records import MeasuredTrial
from kernellab.search.memory.buckets import LEAST, MOST, WIDEST, buckets, together
from kernellab.search.memory.specimen import Specimen, recall

from .specimens import failed, measured, rejected

TIMED = st.lists(st.tuples(st.floats(0.1, 20), st.floats(0, 0.4)), max_size=40)


def specimens(figures: list[tuple[float, float]]) -> list[Specimen]:
    return recall([measured(i, speedup, noise) for i, (speedup, noise) in enumerate(figures)])


@given(TIMED)
def test_every_trial_is_in_exactly_one_bucket_and_buckets_come_best_first(figures: list[tuple[float, float]]) -> None:
    found = buckets(specimens(figures))
    assert sorted(s.number for b in found for s in b.members) == list(range(len(figures)))
    scores = [s.score for b in found for s in b.members]
    assert scores == sorted(scores, key=lambda s: -(s or 0))
    assert len(found) <= MOST


@given(TIMED)
def test_a_new_bucket_is_opened_only_by_a_kernel_clearly_slower_than_the_last_leader(
    figures: list[tuple[float, float]],
) -> None:
    """... or by one whose median lies further away than the widest bucket."""
    found = buckets(specimens(figures), most=1000)
    for above, below in itertools.pairwise(found):
        gap = above.leader.score - below.leader.score  # type: ignore[operator]
        assert gap > LEAST
        assert below.leader.spread[1] < above.leader.spread[0] or gap > WIDEST


@given(TIMED)
def test_whoever_shares_a_bucket_overlaps_its_leader_or_is_within_the_least_width(
    figures: list[tuple[float, float]],
) -> None:
    for bucket in buckets(specimens(figures), most=1000):
        assert all(together(bucket.leader, s) for s in bucket.members)


@given(st.floats(0.5, 10), st.floats(1.0, 1.4))
def test_two_kernels_whose_intervals_overlap_share_a_bucket(speedup: float, factor: float) -> None:
    noise = factor - 1
    found = buckets(specimens([(speedup, noise), (speedup / factor, noise)]))
    assert len(found) == 1


def test_clearly_different_kernels_are_apart_and_noise_brings_them_together() -> None:
    assert len(buckets(specimens([(2.0, 0.01), (1.8, 0.01)]))) == 2
    assert len(buckets(specimens([(2.0, 0.2), (1.8, 0.2)]))) == 1


def test_a_hopelessly_broad_interval_does_not_swallow_what_is_far_below() -> None:
    assert len(buckets(specimens([(4.0, 0.9), (1.0, 0.01)]))) == 2


def test_many_levels_are_merged_into_as_many_buckets_as_allowed() -> None:
    found = buckets(specimens([(1.1**i, 0.001) for i in range(40)]), most=5)
    assert 2 <= len(found) <= 5


def test_failures_have_the_last_bucket_and_no_score() -> None:
    found = buckets(recall([failed(0), measured(1, 0.01), rejected(2)]))
    assert [b.score is None for b in found] == [False, True]
    assert [s.number for s in found[-1].members] == [0, 2]


def test_nothing_gives_no_buckets() -> None:
    assert buckets([]) == []


def test_the_score_is_the_logarithm_of_the_speed_up() -> None:
    trial = measured(0, 2.0)
    assert isinstance(trial, MeasuredTrial)
    assert math.isclose(buckets(recall([trial]))[0].score or 0, math.log(2.0))
