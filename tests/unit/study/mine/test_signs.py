"""The test and the correction, against values that can be worked out by hand."""

from __future__ import annotations

import random

import pytest

from kernellab.studies.mine.signs import RATE, adjusted, level_after_selection, signed_rank_p, worth_testing


def test_unanimous_pairs_have_the_chance_of_all_heads() -> None:
    assert signed_rank_p([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) == pytest.approx(1 / 2**6)
    assert signed_rank_p([0.1] * 8) == pytest.approx(1 / 2**8)
    assert signed_rank_p([-0.1] * 8) == 1.0


def test_no_difference_is_no_evidence() -> None:
    assert signed_rank_p([]) == 1.0
    assert signed_rank_p([0.0, 0.0, 0.0]) == 1.0
    assert signed_rank_p([1.0, -1.0]) == pytest.approx(3 / 4)


def test_a_textbook_case() -> None:
    """W- = 9 of 9 pairs: P(W- <= 9) = 33 / 512."""
    gains = [1, 2, 3, -4, -5, 6, 7, 8, 9]
    assert signed_rank_p(gains) == pytest.approx(33 / 512)


def test_large_samples_agree_with_the_exact_count() -> None:
    dice = random.Random(1)
    gains = [dice.gauss(0.2, 1) for _ in range(60)]
    exact, near = signed_rank_p(gains), signed_rank_p([*gains, 1e-12])  # the smallest rank moves next to nothing
    assert near == pytest.approx(exact, rel=0.15)


def test_benjamini_yekutieli_by_hand() -> None:
    harmonic = 1 + 1 / 2 + 1 / 3
    assert adjusted([0.01, 0.02, 0.9]) == pytest.approx([0.03 * harmonic, 0.03 * harmonic, 1.0])
    assert adjusted([]) == []


def test_intervals_of_the_few_that_were_selected_are_wider() -> None:
    assert level_after_selection(20, 20) == pytest.approx(0.95)
    assert level_after_selection(1, 20) == pytest.approx(0.9975)


def test_tests_that_even_unanimous_pairs_could_not_carry_are_left_out() -> None:
    assert worth_testing([20, 5, 4]) == 20  # 2^-5 is above 5 % / (2 * 1.5)
    assert worth_testing([20, 6, 4]) == 6
    assert worth_testing([4, 4]) == 5
    assert worth_testing([]) == 0
    sizes = [12] * 10 + [6] * 30
    least = worth_testing(sizes)
    kept = [2.0**-n for n in sizes if n >= least]
    assert least == 12
    assert max(adjusted(kept)) <= RATE
