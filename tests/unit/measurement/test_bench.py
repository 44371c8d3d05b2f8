"""The bench's rules, on runners whose clock is a script; and a few of them on real workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain, cycle, repeat
from typing import Any

import pytest
from tests.support.recorded import calibration
from tests.support.scripted_runner import Compute, Script, ScriptedRunner, doubled

from kernellab.build.base import Built
from kernellab.core.errors import EnvironmentFault
from kernellab.core.records import Rejected, Timing
from kernellab.core.settings import EFFORTS, Effort
from kernellab.measurement.bench import PATIENCE, Arm, Bench, Busy, Pairs
from kernellab.measurement.rig import threads_cpus
from kernellab.measurement.ring import Ring
from kernellab.measurement.roofline import Floor
from kernellab.measurement.stats import replicated_speedup
from kernellab.measurement.winning import wins
from kernellab.run import cpu
from kernellab.run.base import WorkerFault
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.spec import Task

pytestmark = pytest.mark.backend_c
DIMS = {"N": 4096}
EFFORT = Effort(least_pairs=5, trial_pairs=11, confirm_pairs=15, processes=3, narrow=0.0, trials=1, confirmations=1)
FLOOR = Floor(1e-6, 1e-6, "memory", 1)
SLOTS = 16
SAMPLE_S = 0.002
SPIN = """void k(const float *x, float *y, long n) {
    volatile long i = 0; while (i < %d) i++;
    for (long j = 0; j < n; j++) y[j] = 2 * x[j]; %s }"""


@pytest.fixture(scope="module")
def ring(double_task: Task) -> Iterator[Ring]:
    made = Ring(double_task, DIMS, SLOTS, bytes(range(32)), 1 << 20)
    yield made
    made.close()


def steady(seconds: float) -> Script:
    return repeat((seconds, False))


def scripted(ring: Ring, script: Script, compute: Compute = doubled) -> Arm:
    return Arm("candidate", ScriptedRunner(ring, 0, script, compute), 0)


def baseline(ring: Ring, script: Script) -> Arm:
    return Arm("baseline", ScriptedRunner(ring, 1, script), 1, trusted=True)


def runner(arm: Arm) -> ScriptedRunner:
    assert isinstance(arm.worker, ScriptedRunner)
    return arm.worker


def bench(ring: Ring, floor: Floor = FLOOR, **more: Any) -> Bench:
    return Bench(ring, floor, SAMPLE_S, timeout_s=5.0, **more)


def wrong_at(ring: Ring, share: Iterator[bool]) -> Compute:
    """Right, but for the calls that the script says."""

    def compute(where: Ring, number: int, side: int) -> None:
        doubled(where, number, side)
        if next(share):
            where.sides[side].array(where.calls[number].outputs[0])[5] += 1

    return compute


def test_a_pair_is_a_sample_of_each_arm_on_different_sets_and_one_processor(ring: Ring) -> None:
    first, second = scripted(ring, steady(0.004)), baseline(ring, steady(0.008))
    pairs = Pairs()
    for _ in range(8):
        bench(ring).pair(first, second, pairs)
    assert (pairs.first, pairs.second, pairs.dropped) == ([0.004] * 8, [0.008] * 8, [])
    ours, theirs = runner(first), runner(second)
    assert all(a != b for a, b in zip(ours.samples, theirs.samples, strict=True))
    assert ours.pinned == theirs.pinned
    assert ours.prepared == ours.samples, "what is prepared is what is then run"
    assert first.checked == 8


def test_seconds_are_a_calls_whatever_a_sample_holds(ring: Ring) -> None:
    first, second = scripted(ring, steady(0.0005)), baseline(ring, steady(0.004))
    pairs, _ = bench(ring).compare(first, second, 5)
    assert (first.calls, second.calls) == (4, 1)
    assert pairs.first == pytest.approx([0.0005] * 5)
    assert pairs.speedup().value == pytest.approx(8.0)


def test_samples_too_short_to_clock_do_not_count_and_grow(ring: Ring) -> None:
    script = chain([(0.004, False)], steady(0.0002))  # the warm-up misleads: one call seems to be enough
    first, second = scripted(ring, script), baseline(ring, steady(0.004))
    pairs, _ = bench(ring).compare(first, second, 3)
    assert first.calls == 10
    assert pairs.first == pytest.approx([0.0002] * 3)


def test_no_sample_holds_more_calls_than_there_are_slots(ring: Ring) -> None:
    first, second = scripted(ring, steady(1e-6)), baseline(ring, steady(0.004))
    bench(ring).compare(first, second, 3)
    assert first.calls == SLOTS


def test_a_pair_in_which_either_arm_was_preempted_is_set_aside_and_sends_the_next_elsewhere(ring: Ring) -> None:
    flags = cycle([False, True, False])
    first, second = scripted(ring, ((0.004, f) for f in flags)), baseline(ring, steady(0.004))
    pairs, _ = bench(ring).compare(first, second, 9)
    assert len(pairs.first) == 9
    assert 4 <= len(pairs.dropped) <= 5
    assert not pairs.disturbed
    if len(os.sched_getaffinity(0)) > 1:
        assert len(set(runner(first).pinned)) > 1


@pytest.mark.parametrize(
    ("kept", "dropped", "disturbed"), [(9, 8, False), (8, 8, True), (25, 466, True), (1, 0, False)]
)
def test_half_of_all_tries_set_aside_is_a_disturbed_measurement(kept: int, dropped: int, disturbed: bool) -> None:
    pairs = Pairs([1.0] * kept, [2.0] * kept, [(1.0, 2.0)] * dropped)
    pairs.settle()
    assert pairs.disturbed == disturbed


def test_a_measurement_ends_when_its_tries_are_spent_and_says_so(ring: Ring) -> None:
    first, second = scripted(ring, repeat((0.004, True))), baseline(ring, steady(0.004))
    pairs, stopped = bench(ring).compare(first, second, 10)
    assert stopped == "budget"
    assert pairs.disturbed
    assert len(pairs.first) == 10 * PATIENCE, "nothing else is left to show"


@pytest.mark.parametrize(
    "script", [steady(0.004), ((0.004, f) for f in cycle([True, False, False]))], ids=["calm", "busy"]
)
def test_every_try_of_a_confirmation_is_judged_in_full_dropped_ones_too(ring: Ring, script: Script) -> None:
    first, second = scripted(ring, script), baseline(ring, steady(0.004))
    pairs, _ = bench(ring).compare(first, second, 30)
    assert first.checked == len(pairs.first) + len(pairs.dropped)


def test_a_kernel_that_waits_until_the_checks_are_over_waits_for_ever(ring: Ring) -> None:
    """Wrong from its hundredth sample on, and most of its samples are set aside: the checks last as long as the tries."""
    turn = chain(repeat(False, 100), repeat(True))
    busy = ((0.004, f) for f in cycle([True, False, True]))
    first, second = scripted(ring, busy, wrong_at(ring, turn)), baseline(ring, steady(0.004))
    found = bench(ring).confirm(repeat((first, second)), EFFORT.model_copy(update={"confirm_pairs": 300}))
    assert isinstance(found, Rejected)
    assert (found.cause, found.case) == ("wrong-output", "timed call")


def test_one_wrong_call_among_all_of_a_confirmation_is_found_in_its_sample(ring: Ring) -> None:
    for when in (1, 7, 14):
        turn = chain(repeat(False, when), [True], repeat(False))
        first, second = scripted(ring, steady(0.004), wrong_at(ring, turn)), baseline(ring, steady(0.004))
        found = bench(ring).confirm(repeat((first, second)), EFFORT)
        assert isinstance(found, Rejected), when


def test_a_kernel_that_is_wrong_in_one_call_of_a_sample_is_found_at_once(ring: Ring) -> None:
    for slot in (0, 15):

        def compute(where: Ring, number: int, side: int, bad: int = slot) -> None:
            doubled(where, number, side)
            if number % SLOTS == bad:
                where.sides[side].array(where.calls[number].outputs[0])[5] += 1

        first, second = scripted(ring, steady(1e-4), compute), baseline(ring, steady(0.004))
        first.calls = SLOTS
        found = bench(ring).confirm(repeat((first, second)), EFFORT)
        assert isinstance(found, Rejected)
        assert len(runner(first).samples) <= 3, "but for the warm-up and calls made alone"


def test_a_short_cut_taken_only_where_it_is_timed_meets_the_other_distributions_there(ring: Ring) -> None:
    """Right on the inputs that are timed and wrong on large ones: the judge would never see it take the short cut."""

    def compute(where: Ring, number: int, side: int) -> None:
        doubled(where, number, side)
        call = where.calls[number]
        if abs(where.inputs.array(call.inputs[0])).max() > 100:
            where.sides[side].array(call.outputs[0])[...] = 0

    first, second = scripted(ring, steady(0.004), compute), baseline(ring, steady(0.004))
    found = bench(ring).confirm(repeat((first, second)), EFFORT)
    assert isinstance(found, Rejected)
    assert (found.cause, found.case) == ("wrong-output", "timed call")


def test_rehearsals_are_not_counted(ring: Ring) -> None:
    first, second = scripted(ring, steady(0.004)), baseline(ring, steady(0.004))
    pairs, _ = bench(ring).compare(first, second, 6, rehearsed=True)
    assert len(pairs.first) == 6
    others = ring.others()
    assert others == len(ring.task.distributions) - 1
    assert len(runner(first).samples) == 1 + 6 + others, "one warm-up, the pairs, and one for each other distribution"
    assert len(runner(second).samples) == 1 + 6


def test_a_confirmation_is_a_fixed_number_of_pairs_from_each_of_several_processes(ring: Ring) -> None:
    opened: list[tuple[Arm, Arm]] = []

    def arms() -> Iterator[tuple[Arm, Arm]]:
        for seconds in (0.004, 0.005, 0.006, 0.007):
            opened.append((scripted(ring, steady(seconds)), baseline(ring, steady(0.010))))
            yield opened[-1]

    timing = bench(ring).confirm(arms(), EFFORT.model_copy(update={"narrow": 10.0}))
    assert isinstance(timing, Timing)
    assert len(opened) == 3
    assert timing.processes == [5, 5, 5]
    assert timing.candidate_s == [0.004] * 5 + [0.005] * 5 + [0.006] * 5
    assert (timing.stopped, timing.checked) == ("budget", 15)
    assert timing.speedup == pytest.approx(2.0)
    found = replicated_speedup(timing.candidate_s, timing.baseline_s, timing.processes)
    assert (timing.speedup_low, timing.speedup_high) == (found.low, found.high)
    assert timing.speedup_low < 1.3, "three processes that differ so much say little"


def test_a_process_that_is_disturbed_ends_the_confirmation_and_wins_nothing(ring: Ring) -> None:
    groups = iter([steady(0.001), repeat((0.001, True)), steady(0.001)])
    timing = bench(ring).confirm(((scripted(ring, script), baseline(ring, steady(0.010))) for script in groups), EFFORT)
    assert isinstance(timing, Timing)
    assert timing.disturbed
    assert len(timing.processes) == 2
    assert timing.speedup_low > 1.01
    assert not wins(timing, calibration(), 1.01)
    assert wins(timing.model_copy(update={"disturbed": False}), calibration(), 1.01)


def test_a_win_does_not_rest_on_a_baseline_that_was_disturbed_when_it_was_chosen(ring: Ring) -> None:
    arms = ((scripted(ring, steady(0.001)), baseline(ring, steady(0.010))) for _ in range(3))
    timing = bench(ring).confirm(arms, EFFORT)
    assert isinstance(timing, Timing)
    baselines = {"baseline": [[0.01], [0.01]], "other": [[0.009, 9.0], [0.01, 0.01]]}
    assert wins(timing, calibration(baselines=baselines, disturbed=["baseline"]), 1.01)
    assert not wins(timing, calibration(baselines=baselines, disturbed=["other"]), 1.01)
    baselines["other"][0][0] = 0.011
    assert wins(timing, calibration(baselines=baselines, disturbed=["other"]), 1.01)


def test_a_trial_clearly_slower_than_the_best_so_far_is_given_up_early(ring: Ring) -> None:
    first, second = scripted(ring, steady(0.008)), baseline(ring, steady(0.004))
    timing = bench(ring).trial(first, second, EFFORT, incumbent=3.0)
    assert isinstance(timing, Timing)
    assert timing.stopped == "raced"
    assert len(timing.candidate_s) == 3


def test_a_trial_that_may_be_the_best_is_not_given_up(ring: Ring) -> None:
    first, second = scripted(ring, steady(0.004)), baseline(ring, steady(0.008))
    timing = bench(ring).trial(first, second, EFFORT, incumbent=1.9)
    assert isinstance(timing, Timing)
    assert (timing.stopped, len(timing.candidate_s)) == ("budget", EFFORT.trial_pairs)


def test_a_trial_stops_when_its_interval_is_narrow_enough(ring: Ring) -> None:
    eager = EFFORT.model_copy(update={"narrow": 0.01})
    timing = bench(ring).trial(scripted(ring, steady(0.004)), baseline(ring, steady(0.004)), eager, incumbent=0.0)
    assert isinstance(timing, Timing)
    assert (timing.stopped, len(timing.candidate_s), timing.processes) == ("narrow", 5, [])


def test_the_figures_of_a_timing_follow_from_its_samples(ring: Ring) -> None:
    timing = bench(ring).trial(scripted(ring, steady(0.004)), baseline(ring, steady(0.008)), EFFORT, 0.0)
    assert isinstance(timing, Timing)
    assert (timing.latency_s, timing.speedup, timing.baseline, timing.threads) == (0.004, 2.0, "baseline", 1)
    assert timing.of_floor == timing.floor_s / timing.latency_s
    assert timing.gb_per_s == pytest.approx(2 * 4 * 4096 / timing.latency_s / 1e9)


def too_good(ring: Ring, floor_s: float, sure: bool, script: Script | None = None) -> Timing | Rejected | Busy:
    """A call of 4 ms against a floor of 10 ms that is `floor_s` when it is measured again."""
    it = bench(ring, Floor(0.010, 0.010, "memory", 1), floor_again=lambda: (Floor(floor_s, floor_s, "memory", 1), sure))
    return it.trial(scripted(ring, script or steady(0.004)), baseline(ring, steady(0.004)), EFFORT, 0.0)


def test_what_beats_the_machines_floor_is_too_good(ring: Ring) -> None:
    found = too_good(ring, 0.010, sure=True)
    assert isinstance(found, Rejected)
    assert found.cause == "too-good"
    assert "faster than what this machine can do at best: 4000.0 us a call, 10000.0 us (memory)" in found.reason


def test_a_floor_that_was_taken_on_a_busy_machine_is_measured_again_first(ring: Ring) -> None:
    found = too_good(ring, 0.003, sure=True)
    assert isinstance(found, Timing)
    assert found.floor_s == 0.003


def test_where_the_ceilings_cannot_be_relied_on_the_answer_is_busy(ring: Ring) -> None:
    found = too_good(ring, 0.010, sure=False)
    assert isinstance(found, Busy)
    assert "others use this machine" in found.reason


def test_a_disturbed_measurement_is_never_called_too_good(ring: Ring) -> None:
    assert isinstance(too_good(ring, 0.010, sure=True, script=repeat((0.004, True))), Busy)


@pytest.mark.parametrize(("latency", "sure"), [(0.0081, True), (0.0081, False)])
def test_a_floor_that_is_kept_is_not_measured_again(ring: Ring, latency: float, sure: bool) -> None:
    assert isinstance(too_good(ring, 0.0, sure, steady(latency)), Timing)


def test_a_candidate_that_breaks_off_is_rejected_with_its_cause(ring: Ring) -> None:
    first, second = scripted(ring, steady(0.004)), baseline(ring, steady(0.004))
    runner(first).fault = WorkerFault("crash", "SIGSEGV during a call")
    found = bench(ring).confirm([(first, second)], EFFORT)
    assert isinstance(found, Rejected)
    assert (found.cause, found.reason, found.case) == ("crash", "SIGSEGV during a call", "timed call")


def test_an_unfit_baseline_is_an_error_not_a_verdict_on_the_candidate(ring: Ring) -> None:
    first, second = scripted(ring, steady(0.004)), baseline(ring, steady(0.004))
    runner(second).fault = WorkerFault("crash", "gone")
    with pytest.raises(EnvironmentFault, match="the baseline baseline broke off: gone"):
        bench(ring).confirm([(first, second)], EFFORT)


@pytest.mark.parametrize("who", [0, 1], ids=["candidate", "baseline"])
def test_who_stood_still_is_no_verdict(ring: Ring, who: int) -> None:
    arms = scripted(ring, steady(0.004)), baseline(ring, steady(0.004))
    runner(arms[who]).fault = WorkerFault("stood-still", "could not be stopped within 4 s")
    for found in (bench(ring).confirm([arms], EFFORT), bench(ring).trial(*arms, EFFORT, 1.0)):
        assert isinstance(found, Busy)
        assert "could not be stopped within 4 s" in found.reason


def test_a_baseline_is_not_left_out_for_standing_still(ring: Ring) -> None:
    arm = baseline(ring, steady(0.004))
    runner(arm).fault = WorkerFault("stood-still", "could not be stopped within 4 s")
    with pytest.raises(EnvironmentFault, match="the baseline baseline stood still"):
        bench(ring).prove(arm)


def test_a_call_that_does_the_next_ones_work_is_found_by_calling_it_alone(ring: Ring) -> None:
    def compute(where: Ring, number: int, side: int) -> None:
        for ahead in (number, number + 1):
            if ahead // SLOTS == number // SLOTS:
                doubled(where, ahead, side)

    first, second = scripted(ring, steady(0.0005), compute), baseline(ring, steady(0.004))
    found = bench(ring).confirm(repeat((first, second)), EFFORT.model_copy(update={"confirm_pairs": 300}))
    assert isinstance(found, Rejected)
    assert found.cause == "hidden-work"
    assert "calls that had not been made yet" in found.reason


def test_the_conditions_of_a_measurement_are_read_when_it_is_done(ring: Ring) -> None:
    asked: list[int] = []

    def conditions() -> dict[str, int | str]:
        asked.append(1)
        return {"celsius": 40 + len(asked), "held_back_by": "nothing"}

    judged = bench(ring, conditions=conditions)
    one, other = scripted(ring, steady(0.004)), baseline(ring, steady(0.004))
    timings = [judged.trial(one, other, EFFORT, 0.0), judged.confirm(repeat((one, other)), EFFORT)]
    assert [t.conditions for t in timings if isinstance(t, Timing)] == [
        {"celsius": 41, "held_back_by": "nothing"}, {"celsius": 42, "held_back_by": "nothing"},
    ]  # fmt: skip


def test_a_gambler_escapes_a_confirmation_at_most_once_in_a_thousand() -> None:
    """Wrong in one call of sixteen; every pair holds a call that is judged in full."""
    for effort in EFFORTS.values():
        assert effort.confirm_pairs % effort.processes == 0
        assert effort.processes >= 3
        assert (15 / 16) ** effort.confirm_pairs <= 1e-3


@pytest.fixture
def arm(ring: Ring, sandbox: Sandbox, build: Callable[..., Built]) -> Iterator[Callable[..., Arm]]:
    with ExitStack() as stack:

        def start(source: str, name: str = "candidate", side: int = 0) -> Arm:
            built = build(source, shapes=(DIMS,))
            worker = cpu.start(sandbox, built, ring.inputs, ring.sides[side], ring.calls, 1, threads_cpus(1))
            stack.callback(worker.close)
            return Arm(name, worker, side)

        yield start


def spin(iterations: int, more: str = "") -> str:
    return SPIN % (iterations, more)


@pytest.mark.heavy
def test_a_kernel_that_does_a_tenth_of_the_work_comes_out_faster(ring: Ring, arm: Any) -> None:
    timing = bench(ring).confirm(repeat((arm(spin(40_000)), arm(spin(400_000), "slow", 1))), EFFORT)
    assert isinstance(timing, Timing)
    assert timing.speedup > 2  # ten, on a machine that others use too
    assert timing.speedup_low <= timing.speedup <= timing.speedup_high
    assert timing.checked >= len(timing.candidate_s) + len(timing.dropped)


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("static int calls; " + spin(1000, "calls++;"), "static-memory"),
        ("static int warm; " + spin(1000, "if (warm) y[0] += 1; warm = 1;"), "wrong-output"),
        ("static int warm; " + spin(1000, "if (warm) y[-1] = 1; warm = 1;"), "out-of-bounds"),
        ("static int warm; " + spin(1000, "if (warm) __builtin_trap(); warm = 1;"), "crash"),
        ("void k(const float *x, float *y, long n) { y[0] = 2 * x[0]; }", "unwritten"),
        ("void k(const float *x, float *y, long n) { for (long j = 0; j < n; j++) y[j] = 0; }", "wrong-output"),
    ],
    ids=["counts", "wrong later", "outside later", "crash later", "unwritten", "wrong"],
)
def test_a_candidate_that_is_unfit_in_the_timed_calls_is_rejected_with_its_cause(
    source: str, cause: str, ring: Ring, arm: Any
) -> None:
    found = bench(ring).confirm([(arm(source), arm(spin(1000), "honest", 1))], EFFORT)
    assert isinstance(found, Rejected)
    assert found.cause == cause


def test_an_arm_is_proven_by_one_call_with_a_known_answer(ring: Ring, arm: Any) -> None:
    assert bench(ring).prove(arm(spin(10))) == ("", True)
    wrong = "void k(const float *x, float *y, long n) { for (long j = 0; j < n; j++) y[j] = 3 * x[j]; }"
    reason, usable = bench(ring).prove(arm(wrong))
    assert ("4096 of 4096 elements wrong" in reason, usable) == (True, False)


def test_pairs_give_the_first_arms_speedup_over_the_second() -> None:
    assert Pairs([1.0, 1.0, 1.0], [3.0, 3.0, 3.0]).speedup().value == 3.0
