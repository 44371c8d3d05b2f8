from __future__ import annotations

import os
from typing import Any

import pytest

from kernellab.build.c import CBuilder
from kernellab.core.errors import EnvironmentFault
from kernellab.measurement.rig import threads_cpus
from kernellab.measurement.ring import Ring
from kernellab.measurement.roofline import (
    Ceilings,
    Fastest,
    ceiling_elements,
    fastest_of,
    floor_for,
    floor_of,
    measure_ceilings,
)
from kernellab.run import cpu
from kernellab.run.base import Sample, WorkerFault
from kernellab.run.worker import Worker
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.builtin import TASKS

CEILINGS = Ceilings(copy=10e9, read=20e9, flops=100e9)


@pytest.fixture(scope="module")
def start(sandbox: Sandbox) -> Any:
    def started(built: Any, ring: Ring) -> Worker:
        return cpu.start(sandbox, built, ring.inputs, ring.sides[0], ring.calls, 1, threads_cpus(1))

    return started


@pytest.mark.heavy
@pytest.mark.backend_c
def test_the_measured_ceilings_are_positive_and_plausible(builder: CBuilder, start: Any) -> None:
    found = measure_ceilings(builder, start, 8 << 20, 1 << 20, 1, 0.002)
    assert 1e8 < found.copy < 1e13
    assert 1e8 < found.read < 1e13
    assert 1e8 < found.flops < 1e13
    assert found.bytes_per_s == max(found.copy, found.read)


class Clocked:
    """A worker whose calls take so many seconds, and which notes what it is told to do."""

    def __init__(self, seconds: float, preempted: bool = False, fault: WorkerFault | None = None) -> None:
        self._sample, self._fault = (seconds, preempted), fault
        self.told: list[tuple[str, int, float]] = []
        self.closed = False

    def prepare(self, calls: list[int], timeout_s: float) -> float:
        self.told.append(("prepare", len(calls), timeout_s))
        return 0.0

    def run(self, calls: list[int], timeout_s: float, counted: bool = False) -> Sample:
        assert counted
        self.told.append(("run", len(calls), timeout_s))
        if self._fault is not None:
            raise self._fault
        return Sample(self._sample[0] * len(calls), self._sample[1])

    def close(self) -> None:
        self.closed = True


@pytest.mark.backend_c
def test_ceilings_are_bytes_and_operations_over_the_fastest_calls_seconds(builder: CBuilder) -> None:
    workers = [Clocked(0.002), Clocked(0.004), Clocked(0.5)]
    left: Any = iter(workers)
    n = 1 << 20
    found = measure_ceilings(builder, lambda built, ring: next(left), 8 * n, 1 << 20, 3, 0.001)
    assert found.copy == pytest.approx(2 * 4 * n / 0.002), "read and written"
    assert found.read == pytest.approx(4 * n / 0.004)
    assert found.flops == pytest.approx(3 * 2 * 8 * 8_000_000 / 0.5), "of all threads, a multiply and an add"
    assert not found.disturbed
    assert all(worker.closed for worker in workers)
    for worker in workers:
        assert [(what, timeout) for what, _, timeout in worker.told] == [("prepare", 30.0), ("run", 30.0)] * 12
    assert workers[2].told[0][1] == 1, "a call of the peak is long enough by itself"
    assert workers[0].told[0][1] > 1


@pytest.mark.backend_c
@pytest.mark.parametrize("busy", [0, 1, 2])
def test_ceilings_are_disturbed_where_any_of_them_is(busy: int, builder: CBuilder) -> None:
    workers: Any = iter([Clocked(0.01, preempted=n == busy) for n in range(3)])
    assert measure_ceilings(builder, lambda built, ring: next(workers), 1 << 17, 1 << 20, 1, 1e-9).disturbed


@pytest.mark.backend_c
def test_an_own_kernel_that_breaks_off_is_the_machines_fault(builder: CBuilder) -> None:
    worker: Any = Clocked(0.01, fault=WorkerFault("crash", "gone"))
    with pytest.raises(EnvironmentFault, match="the laboratory's own copy kernel broke off: gone") as fault:
        measure_ceilings(builder, lambda built, ring: worker, 1 << 17, 1 << 20, 1, 1e-9)
    assert fault.value.fix == "try again when the machine is less busy"
    assert worker.closed


@pytest.mark.backend_c
def test_an_own_kernel_that_breaks_off_once_is_started_again(builder: CBuilder) -> None:
    """A machine that stands still between its reply and its end looks like hidden work."""
    broken = [Clocked(0.01, fault=WorkerFault("hidden-work", "went on computing")) for _ in range(2)]
    workers: Any = iter([*broken, *(Clocked(0.01) for _ in range(3))])
    assert not measure_ceilings(builder, lambda built, ring: next(workers), 1 << 17, 1 << 20, 1, 1e-9).disturbed
    assert all(worker.closed for worker in broken)


@pytest.mark.parametrize(("nbytes", "elements"), [
    (0, 1 << 14), (1 << 17, 1 << 14), ((1 << 17) + 8 * 1023, 1 << 14), ((1 << 17) + 8 * 1024, (1 << 14) + 1024),
    (512 << 20, 64 << 20), (1 << 40, 64 << 20),
])  # fmt: skip
def test_a_ceiling_is_taken_at_about_the_size_of_the_task(nbytes: int, elements: int) -> None:
    assert ceiling_elements(nbytes) == elements


@pytest.mark.parametrize(("moved", "written", "flops", "floor"), [
    (300, 100, 0, (100 / 20e9 + 200 / 10e9, "memory")),
    (150, 100, 0, (150 / 10e9, "memory")),
    (50, 100, 0, (100 / 10e9, "memory")),
    (100, 0, 500, (100 / 20e9, "memory")),  # as long as the arithmetic
    (100, 0, 501, (501 / 100e9, "arithmetic")),
])  # fmt: skip
def test_the_floor_of_bytes_and_operations(moved: int, written: int, flops: int, floor: tuple[float, str]) -> None:
    seconds, _, bound = floor_of(moved, written, flops, CEILINGS)
    assert (seconds, bound) == (pytest.approx(floor[0]), floor[1])


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
