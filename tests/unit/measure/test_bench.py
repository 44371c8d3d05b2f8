"""The bench on real workers. The kernels spin for a set number of iterations, so their ratio is known beforehand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kernellab.build.base import Built
from kernellab.core.errors import EnvironmentFault
from kernellab.core.records import Rejected, Timing
from kernellab.core.settings import Effort
from kernellab.measure.bench import Arm, Bench, Pairs
from kernellab.measure.rig import threads_cpus
from kernellab.measure.ring import Ring
from kernellab.measure.roofline import Floor
from kernellab.run import cpu
from kernellab.sandbox.host import Sandbox
from kernellab.search.stage import wins
from kernellab.tasks.spec import Task

pytestmark = pytest.mark.backend_c
DIMS = {"N": 4096}
EFFORT = Effort(least_pairs=5, trial_pairs=11, confirm_pairs=15, narrow=0.0, trials=1, confirmations=1)
FLOOR = Floor(1e-6, 1e-6, "memory", 1)
SLOTS = 16
SPIN = """void k(const float *x, float *y, long n) {
    volatile long i = 0; while (i < %d) i++;
    for (long j = 0; j < n; j++) y[j] = 2 * x[j]; %s }"""


@pytest.fixture(scope="module")
def ring(double_task: Task) -> Iterator[Ring]:
    made = Ring(double_task, DIMS, SLOTS, bytes(range(32)), 1 << 20)
    yield made
    made.close()


@pytest.fixture
def arm(ring: Ring, sandbox: Sandbox, build: Callable[..., Built]) -> Iterator[Callable[..., Arm]]:
    with ExitStack() as stack:

        def start(source: str, name: str = "candidate", side: int = 0) -> Arm:
            built = build(source, shapes=(DIMS,))
            worker = cpu.start(sandbox, built, ring.inputs, ring.sides[side], ring.calls, 1, threads_cpus(1))
            stack.callback(worker.close)
            return Arm(name, worker, side)

        yield start


def bench(ring: Ring, floor: Floor = FLOOR, sample_s: float = 0.002) -> Bench:
    return Bench(ring, floor, sample_s, timeout_s=5.0)


def spin(iterations: int, more: str = "") -> str:
    return SPIN % (iterations, more)


def test_a_kernel_compared_with_itself_comes_out_near_one(ring: Ring, arm: Any) -> None:
    one = arm(spin(1_000_000))
    pairs, stopped = bench(ring).compare(one, one, 15)
    assert stopped == "budget"
    assert len(pairs.first) == len(pairs.second) >= 15 - len(pairs.dropped)
    assert 0.75 < pairs.speedup().value < 1.33  # others use this machine too


def test_a_kernel_that_does_a_quarter_of_the_work_comes_out_clearly_faster(ring: Ring, arm: Any) -> None:
    short = bench(ring, sample_s=0.0004)  # the shorter, the likelier is a whole sample without a neighbour's turn
    timing = short.confirm(arm(spin(100_000)), arm(spin(400_000), "slow", 1), EFFORT)
    assert isinstance(timing, Timing)
    assert 2 < timing.speedup < 8  # four, on a machine that others use too
    assert timing.speedup_low <= timing.speedup <= timing.speedup_high
    assert (timing.baseline, timing.threads, timing.stopped) == ("slow", 1, "budget")
    assert timing.checked >= 1
    assert timing.of_floor == timing.floor_s / timing.latency_s
    assert timing.gb_per_s == pytest.approx(2 * 4 * 4096 / timing.latency_s / 1e9)


def test_a_trial_clearly_slower_than_the_best_so_far_is_given_up_early(ring: Ring, arm: Any) -> None:
    patient = EFFORT.model_copy(update={"trial_pairs": 101})  # others use this machine too: most pairs may be set aside
    short = bench(ring, sample_s=0.0004)
    timing = short.trial(arm(spin(200_000)), arm(spin(100_000), "fast", 1), patient, incumbent=3.0)
    assert isinstance(timing, Timing)
    assert timing.stopped == "raced"
    assert len(timing.candidate_s) <= 9


@pytest.fixture
def busy() -> Iterator[None]:
    """Somebody else wants every processor all the time."""
    loops = []
    for number in sorted(os.sched_getaffinity(0)):
        loops.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        os.sched_setaffinity(loops[-1].pid, {number})
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def test_a_machine_too_busy_to_measure_on_is_recorded_and_wins_nothing(ring: Ring, arm: Any, busy: None) -> None:
    effort = EFFORT.model_copy(update={"confirm_pairs": 3})
    slow = spin(60_000_000)  # longer than any turn of the scheduler
    timing = bench(ring, sample_s=0.02).confirm(arm(spin(20_000_000)), arm(slow, "slow", 1), effort)
    assert isinstance(timing, Timing)
    assert timing.disturbed
    assert len(timing.candidate_s) > effort.confirm_pairs
    assert timing.speedup_low > 1.01
    least = min(timing.baseline_s)
    calm: dict[str, Any] = {
        "noise_floor": 0.0,
        "baselines": {"slow": [[least], [least]], "other": [[0.9 * least, 9.0], [least, least]]},
    }
    assert not wins(timing, calm, 1.01)
    quiet = timing.model_copy(update={"disturbed": False})
    assert wins(quiet, calm, 1.01)
    assert wins(quiet, {**calm, "disturbed": ["slow"]}, 1.01)
    assert not wins(quiet, {**calm, "disturbed": ["other"]}, 1.01)
    calm["baselines"]["other"][0][0] = max(timing.baseline_s)
    assert wins(quiet, {**calm, "disturbed": ["other"]}, 1.01)


def test_a_confirmation_never_stops_early(ring: Ring, arm: Any) -> None:
    eager = EFFORT.model_copy(update={"narrow": 10.0})
    timing = bench(ring).confirm(arm(spin(200_000)), arm(spin(200_000), "same", 1), eager)
    assert isinstance(timing, Timing)
    assert timing.stopped == "budget"
    assert len(timing.candidate_s) + len(timing.dropped) >= eager.confirm_pairs


def test_a_trial_stops_when_its_interval_is_narrow_enough(ring: Ring, arm: Any) -> None:
    eager = EFFORT.model_copy(update={"narrow": 10.0})
    timing = bench(ring).trial(arm(spin(200_000)), arm(spin(200_000), "same", 1), eager, incumbent=0.0)
    assert isinstance(timing, Timing)
    assert timing.stopped == "narrow"


def test_short_samples_get_more_calls(ring: Ring, arm: Any) -> None:
    short, long = arm(spin(1000)), arm(spin(4_000_000), "long", 1)
    bench(ring).compare(short, long, 5)
    assert short.calls > 1
    assert long.calls == 1


def test_an_arm_compared_with_itself_gets_no_more_calls_than_it_needs(ring: Ring, arm: Any) -> None:
    one = arm(spin(1_000_000))
    sample_s = 3 * min(one.worker.run([0], 5.0).seconds for _ in range(5))
    bench(ring, sample_s=sample_s).pair(one, one, Pairs(), oracle=False)
    assert one.calls <= 6


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
    found = bench(ring).confirm(arm(source), arm(spin(1000), "honest", 1), EFFORT)
    assert isinstance(found, Rejected)
    assert (found.cause, found.case) == (cause, "timed call")


def test_an_unfit_baseline_is_an_error_not_a_verdict_on_the_candidate(ring: Ring, arm: Any) -> None:
    with pytest.raises(EnvironmentFault, match="the baseline broken broke off"):
        bench(ring).confirm(
            arm(spin(1000)), arm("void k(const float *x, float *y, long n) { y[0] = 0; }", "broken", 1), EFFORT
        )


def test_what_beats_the_machines_floor_is_too_good(ring: Ring, arm: Any) -> None:
    found = bench(ring, Floor(10.0, 10.0, "memory", 1)).trial(arm(spin(1000)), arm(spin(1000), "same", 1), EFFORT, 0.0)
    assert isinstance(found, Rejected)
    assert found.cause == "too-good"
    assert "beats what the machine can do" in found.reason


def test_the_conditions_of_a_measurement_are_read_when_it_is_done(ring: Ring, arm: Any) -> None:
    asked: list[int] = []

    def conditions() -> dict[str, int | str]:
        asked.append(1)
        return {"celsius": 40 + len(asked), "held_back_by": "nothing"}

    judged = Bench(ring, FLOOR, 0.002, 5.0, conditions)
    one, other = arm(spin(1000)), arm(spin(1000), "same", 1)
    timings = [judged.trial(one, other, EFFORT, 0.0), judged.confirm(one, other, EFFORT)]
    assert all(isinstance(t, Timing) for t in timings)
    assert [t.conditions for t in timings if isinstance(t, Timing)] == [
        {"celsius": 41, "held_back_by": "nothing"}, {"celsius": 42, "held_back_by": "nothing"},
    ]  # fmt: skip


def test_a_confirmation_checks_as_many_calls_in_full_as_the_effort_says(ring: Ring, arm: Any) -> None:
    """Beside those there is the one at the start, and those that the dice add."""
    for checks in (1, 6):
        one = arm(spin(1000))
        found = bench(ring).confirm(one, arm(spin(1000), "same", 1), EFFORT.model_copy(update={"checks": checks}))
        assert isinstance(found, Timing)
        assert found.checked >= checks


def test_an_arm_is_proven_by_one_call_against_the_oracle(ring: Ring, arm: Any) -> None:
    assert bench(ring).prove(arm(spin(10))) == ""
    wrong = "void k(const float *x, float *y, long n) { for (long j = 0; j < n; j++) y[j] = 3 * x[j]; }"
    assert "4096 of 4096 elements wrong" in bench(ring).prove(arm(wrong))


def test_pairs_give_the_first_arms_speedup_over_the_second() -> None:
    assert Pairs([1.0, 1.0, 1.0], [3.0, 3.0, 3.0]).speedup().value == 3.0
