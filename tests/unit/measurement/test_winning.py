"""The rule of a win, with figures made up for it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.recorded import calibration

from kernellab.core.records import Timing
from kernellab.measurement.winning import noise_floor, too_busy, why_no_win, win_threshold, wins


def timing(low: float = 1.5, **changes: Any) -> Timing:
    facts: dict[str, Any] = {
        "baseline": "baseline", "threads": 1, "calls": 1, "candidate_s": [1.0], "baseline_s": [2.0], "speedup": 2.0,
        "speedup_low": low, "speedup_high": 2.5, "latency_s": 1.0, "gb_per_s": 1.0, "floor_s": 0.5,
        "memory_floor_s": 0.5, "of_floor": 0.5, "of_memory_floor": 0.5, "checked": 1, "stopped": "budget",
    }  # fmt: skip
    return Timing(**{**facts, **changes})


@pytest.mark.parametrize(
    ("low", "noise", "won"),
    [(1.02, 0.0, True), (1.01, 0.0, False), (1.0101, 0.0, True), (1.05, 0.05, False), (1.0501, 0.05, True)],
)
def test_the_lower_end_has_to_exceed_the_floor_and_the_noise(low: float, noise: float, won: bool) -> None:
    assert wins(timing(low), calibration(noise_floor=noise), 1.01) is won


def test_nothing_is_won_on_a_machine_too_busy_to_tell() -> None:
    assert wins(timing(), calibration(), 1.01)
    assert not wins(timing(disturbed=True), calibration(), 1.01)


@pytest.mark.parametrize(("aside", "busy"), [(1.0, True), (1.5, True), (1.59, False), (9.0, False)])
def test_nothing_is_won_by_setting_slow_samples_aside(aside: float, busy: bool) -> None:
    """Of five pairs two were dropped, in which the candidate was slower than it claims, or was not."""
    measured = timing(
        1.58, candidate_s=[1.0] * 3, baseline_s=[1.6, 2.0, 1.55], dropped=[(1.0, aside)] * 2, processes=[]
    )
    assert too_busy(measured, calibration()) is busy
    assert wins(measured, calibration(), 1.01) is not busy


def test_a_win_holds_with_the_pairs_that_were_set_aside_by_its_interval_not_its_median_alone() -> None:
    """Of 200 calls 105 are fast: by luck the median over all of them is, and half of the slow ones were set aside."""
    kept, aside = [0.8] * 105 + [1.5] * 48, [(1.5, 1.0)] * 47
    measured = timing(1.25, candidate_s=kept, baseline_s=[1.0] * len(kept), dropped=aside)
    assert not too_busy(measured, calibration())
    assert not wins(measured, calibration(), 1.01)
    words = "counted with the 47 pairs that were set aside, its lower end is 0.667"
    assert why_no_win(measured, calibration(), 1.01) == words
    assert wins(measured.model_copy(update={"dropped": []}), calibration(), 1.01)


@pytest.mark.parametrize(("seen", "busy"), [(1.9, True), (2.0, False), (2.1, False)])
def test_a_disturbed_baseline_that_was_once_faster_than_the_chosen_one_may_be_the_fastest(
    seen: float, busy: bool
) -> None:
    baselines = {"baseline": [[2.0], [2.0]], "other": [[9.0, seen], [2.0, 2.0]]}
    assert too_busy(timing(), calibration(baselines=baselines, disturbed=["other"])) is busy
    assert not too_busy(timing(), calibration(baselines=baselines, disturbed=["baseline"]))
    assert not too_busy(timing(), calibration(baselines=baselines))


def test_the_threshold_is_the_larger_of_floor_and_noise() -> None:
    assert (win_threshold(1.01, 0.001), win_threshold(1.01, 0.05)) == (1.01, 1.05)


@pytest.mark.parametrize(
    ("first", "second", "floor"),
    [([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], 0.0), ([1.0, 1.0, 9.0], [1.1, 1.1, 1.0], 0.1), ([1.1], [1.0], 0.1)],
)
def test_the_noise_floor_is_the_median_ratios_distance_from_one_on_either_side(
    first: list[float], second: list[float], floor: float
) -> None:
    assert noise_floor(first, second) == pytest.approx(floor)


@pytest.mark.parametrize(
    ("measured", "changes", "words"),
    [
        (timing(1.02), {}, ""),
        (timing(1.0), {}, "the lower end must exceed 1.010, the least that counts as faster"),
        (timing(1.03), {"noise_floor": 0.05}, "the lower end must exceed 1.050, the machine's noise"),
        (timing(disturbed=True), {}, "all 1 pairs were disturbed"),
        (timing(disturbed=True, dropped=[(1.0, 9.0)]), {}, "1 of 2 pairs were disturbed"),
        (
            timing(1.58, candidate_s=[1.0] * 3, baseline_s=[1.6, 2.0, 1.55], dropped=[(1.0, 1.0)] * 2),
            {},
            "counted with the 2 pairs that were set aside, it is slower than that",
        ),
        (
            timing(),
            {"baselines": {"baseline": [[2.0], [2.0]], "other": [[9.0, 1.9], [2.0, 2.0]]}, "disturbed": ["other"]},
            "baseline other was disturbed, took 1900.000 ms once and may be the fastest",
        ),
    ],
)
def test_what_is_no_win_has_its_reason_and_a_win_none(measured: Timing, changes: dict[str, Any], words: str) -> None:
    against = calibration(**{"noise_floor": 0.0, **changes})
    assert why_no_win(measured, against, 1.01) == words
    assert wins(measured, against, 1.01) is (words == "")
