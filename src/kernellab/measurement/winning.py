"""The rule of a win: the one place that says when a confirmed kernel is faster than the fastest baseline."""

from __future__ import annotations

from collections.abc import Sequence

from kernellab.core.records import Timing
from kernellab.ledger.records import Calibration
from kernellab.measurement.stats import Estimate, median, paired_speedup


def wins(timing: Timing, calibration: Calibration, win_floor: float) -> bool:
    """The interval's lower end above the threshold, counted with the pairs that were set aside too, and nothing of it from a
    machine too busy to tell."""
    threshold = win_threshold(win_floor, calibration.noise_floor)
    return not too_busy(timing, calibration) and _certain(timing) > threshold


def too_busy(timing: Timing, calibration: Calibration) -> bool:
    """Whether the comparison itself was disturbed, or flattered by what was set aside, or a baseline whose calibration was
    disturbed may be the fastest: once at least it was faster than the chosen one is here. (An A/A that is disturbed raises
    the threshold.)"""
    return timing.disturbed or flattered(timing) or bool(maybe_faster(timing, calibration))


def maybe_faster(timing: Timing, calibration: Calibration) -> str:
    """A baseline that was disturbed and yet faster once than the chosen one is here; '' where there is none."""
    chosen = median(timing.baseline_s)
    others = (name for name in calibration.disturbed if name != timing.baseline)
    return next((name for name in others if min(calibration.baselines[name][0]) < chosen), "")


def why_no_win(timing: Timing, calibration: Calibration, win_floor: float) -> str:
    """Every reason that keeps a confirmed kernel from being a win, in words; '' for a win."""
    tries, threshold = len(timing.dropped) + len(timing.candidate_s), win_threshold(win_floor, calibration.noise_floor)
    told = []
    if timing.disturbed:
        share = f"{len(timing.dropped)} of {tries}" if timing.dropped else f"all {tries}"
        told.append(f"{share} pairs were disturbed")
    elif flattered(timing):
        told.append(f"counted with the {len(timing.dropped)} pairs that were set aside, it is slower than that")
    if faster := maybe_faster(timing, calibration):
        seen = f"{min(calibration.baselines[faster][0]) * 1e3:.3f} ms"
        told.append(f"baseline {faster} was disturbed, took {seen} once and may be the fastest")
    if timing.speedup_low <= threshold:
        what = "the machine's noise" if threshold > win_floor else "the least that counts as faster"
        told.append(f"the lower end must exceed {threshold:.3f}, {what}")
    elif (low := _certain(timing)) <= threshold and not told:
        told.append(f"counted with the {len(timing.dropped)} pairs that were set aside, its lower end is {low:.3f}")
    return "; ".join(told)


def flattered(timing: Timing) -> bool:
    """Whether the pairs that were set aside, counted as they were measured, bring the speed-up below what the others claim.

    Others on the machine disturb either arm. A kernel that can make its slow samples look disturbed chooses which ones stay,
    and may do so in fewer than half of its pairs."""
    return bool(timing.dropped) and _of_all(timing).value < timing.speedup_low


def _certain(timing: Timing) -> float:
    """The lower end that holds with and without the pairs that were set aside."""
    return min(timing.speedup_low, _of_all(timing).low) if timing.dropped else timing.speedup_low


def _of_all(timing: Timing) -> Estimate:
    """The speed-up with the pairs that were set aside, as they were measured. In simulation, with their median alone to hold
    against, 6 % of the claims of a kernel that has slow samples set aside were false (one with two speeds: up to 14 %);
    with their interval 0.3 to 0.7 % (at most 2 %)."""
    first, second = [pair[0] for pair in timing.dropped], [pair[1] for pair in timing.dropped]
    return paired_speedup([*timing.candidate_s, *first], [*timing.baseline_s, *second])


def win_threshold(win_floor: float, noise: float) -> float:
    """What the lower bound of a confirmed speed-up has to exceed."""
    return max(win_floor, 1 + noise)


def noise_floor(first: Sequence[float], second: Sequence[float]) -> float:
    """How far the median ratio of two measurements of the same thing lies from 1, here and now."""
    ratio = paired_speedup(first, second).value
    return max(ratio, 1 / ratio) - 1
