from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernellab.measurement.stats import Estimate, estimate, median, paired_speedup, replicated_speedup

VALUES = st.lists(st.floats(0.01, 100), min_size=1, max_size=60)


def resampled(values: list[float], level: float, draws: int = 40_000) -> tuple[float, float]:
    """The percentile bootstrap of the median by brute force, as the inverse of the empirical distribution."""
    rng = np.random.default_rng(7)
    array = np.array(values)
    medians = np.sort(np.median(array[rng.integers(len(values), size=(draws, len(values)))], axis=1))
    tail = (1 - level) / 2
    return float(medians[math.ceil(tail * draws) - 1]), float(medians[math.ceil((1 - tail) * draws) - 1])


@pytest.mark.parametrize("n", [5, 7, 11, 21, 31, 61])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_exact_interval_agrees_with_a_monte_carlo_bootstrap(n: int, level: float) -> None:
    values = sorted(np.random.default_rng(n).lognormal(0, 0.2, n).tolist())
    low, high = resampled(values, level)
    found = estimate(values, level)
    ranks = [values.index(v) for v in (found.low, found.high)]
    assert abs(ranks[0] - values.index(low)) <= 1  # a probability right at the limit may fall either way
    assert abs(ranks[1] - values.index(high)) <= 1


@pytest.mark.parametrize("n", [4, 6, 10, 20, 40])
def test_for_even_n_the_interval_holds_the_monte_carlo_one(n: int) -> None:
    """The median of an even resample lies between two values; the exact ranks are the outer ones."""
    values = sorted(np.random.default_rng(n).lognormal(0, 0.2, n).tolist())
    low, high = resampled(values, 0.95)
    found = estimate(values)
    step = max(np.diff(values))
    assert found.low <= low + step
    assert found.high >= high - step
    assert found.low <= found.value <= found.high


def exact_ranks(n: int, level: Fraction) -> tuple[int, int]:
    """By whole numbers: the share of all n**n resamples whose lower (for the low end) or upper median is no larger than the
    k-th value, for the first k at which it is enough."""

    def reached(k: int, hits: int) -> Fraction:
        counted = sum(math.comb(n, i) * k**i * (n - k) ** (n - i) for i in range(hits, n + 1))
        return Fraction(counted, n**n)

    tail = (1 - level) / 2
    low = next(k for k in range(1, n + 1) if reached(k, (n + 1) // 2) >= tail)
    high = next(k for k in range(1, n + 1) if reached(k, n // 2 + 1) >= 1 - tail)
    return low - 1, high - 1


@pytest.mark.parametrize("level", [Fraction(9, 10), Fraction(95, 100), Fraction(99, 100)])
def test_the_ends_are_the_values_that_all_resamples_would_give(level: Fraction) -> None:
    for n in range(1, 42):
        found = estimate([float(v) for v in range(n)], float(level))
        assert (found.low, found.high) == exact_ranks(n, level), n


def test_the_ends_of_five_values_by_counting_every_resample() -> None:
    medians = sorted(sorted(picked)[2] for picked in itertools.product(range(5), repeat=5))
    share = [sum(m <= k for m in medians) / len(medians) for k in range(5)]
    for level in (0.5, 0.8, 0.9, 0.95):
        tail = (1 - level) / 2
        low, high = (next(k for k in range(5) if share[k] >= p) for p in (tail, 1 - tail))
        found = estimate([0.0, 1.0, 2.0, 3.0, 4.0], level)
        assert (found.low, found.high) == (low, high)


@pytest.mark.parametrize(("n", "usual", "wide"), [(3, (0, 2), (0, 2)), (5, (0, 4), (0, 4)), (11, (2, 8), (1, 9)),
                                                  (31, (10, 20), (8, 22)), (111, (45, 65), (42, 68))])  # fmt: skip
def test_the_ranks_that_published_intervals_rest_on(n: int, usual: tuple[int, int], wide: tuple[int, int]) -> None:
    values = [float(v) for v in range(n)]
    for level, ranks in ((0.95, usual), (0.99, wide)):
        found = estimate(values, level)
        assert (found.low, found.high) == ranks


@pytest.mark.parametrize("n", [1, 2, 3])
def test_with_very_few_values_the_interval_is_all_of_them(n: int) -> None:
    values = [1.0, 2.0, 4.0][:n]
    found = estimate(values)
    assert (found.low, found.high, found.n) == (values[0], values[-1], n)


def test_no_values_are_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        estimate([])


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = estimate([1.5] * 9)
    assert found == Estimate(1.5, 1.5, 1.5, 9)
    assert found.half_width == 0


def test_ties_at_the_ends_do_not_disturb() -> None:
    found = estimate([1.0] * 10 + [2.0] + [3.0] * 10)
    assert (found.low, found.value, found.high) == (1.0, 2.0, 3.0)


@given(VALUES)
def test_the_interval_holds_the_median_and_both_ends_are_values(values: list[float]) -> None:
    found = estimate(values)
    assert found.low <= found.value <= found.high
    assert found.low in values
    assert found.high in values


@given(VALUES, st.lists(st.floats(0.5, 0.999), min_size=2, max_size=4))
def test_a_higher_level_never_gives_a_narrower_interval(values: list[float], levels: list[float]) -> None:
    found = [estimate(values, level) for level in sorted(levels)]
    for narrow, wide in itertools.pairwise(found):
        assert wide.low <= narrow.low
        assert wide.high >= narrow.high


@settings(max_examples=50)
@given(VALUES, st.randoms())
def test_the_order_of_values_does_not_matter(values: list[float], shuffler) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    assert estimate(shuffled) == estimate(values)


@given(VALUES, st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_scaling_the_values_scales_the_estimate(values: list[float], factor: float) -> None:
    plain, scaled = estimate(values), estimate([v * factor for v in values])
    assert (scaled.value, scaled.low, scaled.high) == (plain.value * factor, plain.low * factor, plain.high * factor)


def test_the_interval_covers_the_true_median_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    found = [estimate(rng.lognormal(0, 0.1, 31).tolist()) for _ in range(400)]
    covered = sum(e.low <= 1 <= e.high for e in found)
    assert 0.90 <= covered / 400 <= 0.99


def test_more_values_give_a_narrower_interval() -> None:
    values = np.random.default_rng(1).lognormal(0, 0.1, 401).tolist()
    widths = [estimate(values[:n]).half_width for n in (11, 101, 401)]
    assert widths[0] > widths[1] > widths[2]


def test_a_speedup_is_the_median_of_paired_ratios() -> None:
    assert paired_speedup([1.0, 2.0, 4.0], [2.0, 2.0, 20.0]).value == 2.0


def test_pairs_cancel_a_drift_that_both_arms_share() -> None:
    drift = np.linspace(1, 3, 31)
    assert paired_speedup((0.5 * drift).tolist(), drift.tolist()) == Estimate(2.0, 2.0, 2.0, 31)


def test_unpaired_samples_are_an_error() -> None:
    with pytest.raises(ValueError):
        paired_speedup([1.0], [1.0, 2.0])


@pytest.mark.parametrize(("values", "middle"), [([3.0], 3.0), ([4.0, 1.0], 2.5), ([9.0, 1.0, 5.0], 5.0)])
def test_the_median_of_even_counts_is_the_mean_of_the_middle_two(values: list[float], middle: float) -> None:
    assert median(values) == middle


def test_half_width_is_relative_and_takes_the_farther_side() -> None:
    assert Estimate(2.0, 1.9, 2.4, 5).half_width == pytest.approx(0.2)


def test_one_process_or_none_named_is_the_plain_interval() -> None:
    candidate, baseline = [1.0, 1.1, 0.9, 1.05], [2.0, 2.1, 1.9, 2.2]
    plain = paired_speedup(candidate, baseline)
    assert replicated_speedup(candidate, baseline, []) == plain
    assert replicated_speedup(candidate, baseline, [4]) == plain


def test_processes_that_disagree_widen_the_interval_by_students_quantile() -> None:
    """Medians of 2, 2.2 and 2.42: equal steps in logarithms, so the mean is 2.2 and the spread log(1.1)."""
    found = replicated_speedup([1.0] * 9, [2.0] * 3 + [2.2] * 3 + [2.42] * 3, [3, 3, 3])
    reach = 4.303 * math.log(1.1) / math.sqrt(3)
    assert found.value == pytest.approx(2.2)
    assert found.low == pytest.approx(2.2 * math.exp(-reach))
    assert found.high == pytest.approx(2.2 * math.exp(reach))
    assert found.n == 9


def test_two_processes_have_students_quantile_of_one_degree_of_freedom() -> None:
    found = replicated_speedup([1.0] * 4, [2.0, 2.0, 2.2, 2.2], [2, 2])
    reach = 12.706 * (math.log(2.2 / 2.0) / math.sqrt(2)) / math.sqrt(2)
    centre = math.sqrt(2.0 * 2.2)
    assert found.value == pytest.approx(2.1)
    assert (found.low, found.high) == (
        pytest.approx(centre * math.exp(-reach)),
        pytest.approx(centre * math.exp(reach)),
    )


@pytest.mark.parametrize(("processes", "quantile"), [(3, 4.303), (4, 3.182), (5, 2.776), (6, 2.571), (7, 2.447), (8, 2.365),
                                                     (9, 2.306), (10, 2.262), (11, 2.228), (12, 2.228), (20, 2.228)])  # fmt: skip
def test_every_number_of_processes_has_its_quantile(processes: int, quantile: float) -> None:
    """Evenly spaced in logarithms, each with so many pairs alike that only the spread between processes counts."""
    logs = np.linspace(-1, 1, processes)
    ratios = np.exp(np.repeat(logs, 41)).tolist()
    found = replicated_speedup([1.0] * len(ratios), ratios, [41] * processes)
    reach = quantile * logs.std(ddof=1) / math.sqrt(processes)
    assert math.log(found.high) == pytest.approx(reach)
    assert math.log(found.low) == pytest.approx(-reach)


def test_each_process_speaks_by_the_median_of_its_own_pairs() -> None:
    """Two pairs of the first, three of the second, one of the third, as they were recorded one after the other."""
    ratios = [1.0, 3.0, 5.0, 6.0, 9.0, 4.0]
    medians = np.log([2.0, 6.0, 4.0])
    found = replicated_speedup([1.0] * 6, ratios, [2, 3, 1])
    reach = 4.303 * medians.std(ddof=1) / math.sqrt(3)
    assert found.low == pytest.approx(math.exp(medians.mean() - reach))
    assert found.high == pytest.approx(math.exp(medians.mean() + reach))


def test_processes_that_agree_leave_the_interval_of_the_pairs() -> None:
    rng = np.random.default_rng(3)
    baseline = np.exp(rng.normal(0.5, 0.05, 40)).tolist() * 5
    found = replicated_speedup([1.0] * 200, baseline, [40] * 5)
    assert found == paired_speedup([1.0] * 200, baseline)


@given(st.lists(st.integers(1, 8), min_size=2, max_size=14), st.integers(0, 2**32 - 1))
def test_the_interval_of_several_processes_is_never_narrower_than_that_of_their_pairs(
    counts: list[int], seed: int
) -> None:
    ratios = np.random.default_rng(seed).lognormal(0, 0.1, sum(counts)).tolist()
    pooled, found = estimate(ratios), replicated_speedup([1.0] * len(ratios), ratios, counts)
    assert found.low <= pooled.low <= found.value <= pooled.high <= found.high


def test_with_luck_between_processes_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Each process has luck of its own, four times what its pairs show: the plain interval misses most of the time."""
    rng = np.random.default_rng(11)
    plain = replicated = 0
    for _ in range(400):
        luck = rng.normal(0, 0.004, 5)
        ratios = np.exp(np.repeat(luck, 41) + rng.normal(0, 0.003, 205)).tolist()
        plain += (p := estimate(ratios)).low <= 1.0 <= p.high
        replicated += (r := replicated_speedup([1.0] * 205, ratios, [41] * 5)).low <= 1.0 <= r.high
    assert plain < 200
    assert replicated >= 370
