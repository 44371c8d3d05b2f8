from __future__ import annotations

import os
from typing import Any

import pytest

from kernellab.build.c import CBuilder
from kernellab.measure.rig import threads_cpus
from kernellab.measure.ring import Ring
from kernellab.measure.roofline import Ceilings, Fastest, fastest_of, floor_for, measure_ceilings
from kernellab.run import cpu
from kernellab.run.base import Sample
from kernellab.run.worker import Worker
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.builtin import TASKS

CEILINGS = Ceilings(copy=10e9, read=20e9, flops=100e9)


@pytest.fixture(scope="module")
def start(sandbox: Sandbox) -> Any:
    def started(built: Any, ring: Ring) -> Worker:
        return cpu.start(sandbox, built, ring.inputs, ring.sides[0], ring.calls, 1, threads_cpus(1))

    return started


@pytest.mark.backend_c
def test_the_measured_ceilings_are_positive_and_plausible(builder: CBuilder, start: Any) -> None:
    found = measure_ceilings(builder, start, 8 << 20, 1 << 20, 1, 0.002)
    assert 1e8 < found.copy < 1e13
    assert 1e8 < found.read < 1e13
    assert 1e8 < found.flops < 1e13
    assert found.bytes_per_s == max(found.copy, found.read)


@pytest.mark.backend_c
def test_the_ceilings_can_be_measured_for_more_than_64_threads(builder: CBuilder, start: Any) -> None:
    assert measure_ceilings(builder, start, 1 << 17, 1 << 20, 96, 0.0005).flops > 0


def test_a_task_that_reads_as_much_as_it_writes_is_bound_by_copying() -> None:
    dims = {"H": 100, "W": 100, "C": 1}
    floor = floor_for(TASKS["stencil3x3"], dims, CEILINGS, 1)
    assert floor.memory_s == pytest.approx(80_000 / 10e9)
    assert (floor.seconds, floor.bound, floor.threads) == (floor.memory_s, "memory", 1)


def test_bytes_read_beyond_those_written_go_at_the_better_ceiling() -> None:
    n = 1_000_000
    floor = floor_for(TASKS["particle_filter"], {"N": n}, CEILINGS, 2)
    written, read = 4 * n + 4, 8 * n + 4
    assert floor.memory_s == pytest.approx(2 * written / 10e9 + (read - written) / 20e9)
    assert floor.threads == 2


def test_arithmetic_binds_where_it_takes_longer() -> None:
    slow = Ceilings(copy=10e9, read=20e9, flops=1e9)
    floor = floor_for(TASKS["softmax"], {"M": 10, "N": 10}, slow, 1)
    assert floor.bound == "arithmetic"
    assert floor.seconds == pytest.approx(1400 / 1e9)
    assert floor.memory_s == pytest.approx(800 / 10e9)


def test_the_floor_grows_with_the_task_and_falls_with_the_ceilings() -> None:
    task = TASKS["softmax"]
    small, large = (floor_for(task, {"M": m, "N": 64}, CEILINGS, 1).seconds for m in (64, 128))
    faster = floor_for(task, {"M": 64, "N": 64}, Ceilings(20e9, 40e9, 200e9), 1).seconds
    assert large == pytest.approx(2 * small)
    assert faster == pytest.approx(small / 2)


def test_one_thread_may_run_anywhere_and_several_are_bound_to_as_many_processors() -> None:
    own = sorted(os.sched_getaffinity(0))
    assert list(threads_cpus(1)) == own
    assert list(threads_cpus(len(own))) == own


def scripted(flags: list[bool]) -> Any:
    """Samples of 1, 2, 3, ... seconds; the flags say which were preempted."""
    samples = (Sample(float(n), flag) for n, flag in enumerate(flags, 1))
    return lambda: next(samples)


def test_the_fastest_of_a_dozen_clean_samples_counts() -> None:
    assert fastest_of(scripted([False] * 30)) == Fastest(1.0, disturbed=False)


def test_disturbed_samples_are_replaced_and_may_still_be_the_fastest() -> None:
    """Nothing makes a machine faster than it is: a preempted sample bounds it from below like any other."""
    assert fastest_of(scripted([True] * 11 + [False] * 12)) == Fastest(1.0, disturbed=False)


def test_a_machine_that_leaves_no_dozen_clean_samples_is_too_busy_to_tell() -> None:
    assert fastest_of(scripted([True, True, False] * 20)) == Fastest(1.0, disturbed=True)


def test_the_better_of_two_measurements_is_sure_where_either_is() -> None:
    busy = Ceilings(1e9, 9e9, 1e9, disturbed=True)
    assert CEILINGS.at_least(busy) == busy.at_least(CEILINGS) == Ceilings(10e9, 20e9, 100e9)
    assert busy.at_least(busy).disturbed
