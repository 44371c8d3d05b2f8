"""The arithmetic of a GPU's rig; rings and baselines on a GPU are in tests/gpu."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.core.errors import EnvironmentFault
from kernellab.measurement.base import SETS
from kernellab.measurement.cuda_rig import SAMPLE_S, CudaRig, InTurn, pool_size
from kernellab.run.base import WorkerFault
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Dims

NOBODY: Any = None
SOFTMAX = TASKS["softmax_bf16"].on("cuda")


@pytest.fixture(scope="module")
def rig() -> Iterator[CudaRig]:
    """Without baselines it asks nothing of its device before a ring is wanted."""
    made = CudaRig(NOBODY, NOBODY, ())
    yield made
    made.crew.close()


@pytest.mark.parametrize(
    ("floor_s", "slots"),
    [(1.0, 1), (60e-6, 1), (59e-6, 1), (29e-6, 2), (19e-6, 3), (4.5e-6, 10), (0.1e-6, 29)],
)
def test_even_a_kernel_at_its_floor_fills_a_sample(floor_s: float, slots: int, rig: CudaRig) -> None:
    assert SAMPLE_S == 60e-6
    assert rig.slots(SOFTMAX, {"M": 1024, "N": 1024}, floor_s) == slots


def test_a_longer_sample_takes_more_slots_up_to_the_most() -> None:
    patient = CudaRig(NOBODY, NOBODY, (), sample_s=1e-3)
    try:
        assert patient.slots(SOFTMAX, {"M": 1024, "N": 1024}, 98.5e-6) == 10
        assert patient.slots(SOFTMAX, {"M": 1024, "N": 1024}, 1e-9) == 64
    finally:
        patient.crew.close()


def test_large_buffers_leave_room_for_few_slots(rig: CudaRig) -> None:
    gigabyte: Dims = {"M": 1 << 15, "N": 1 << 14}  # in, and as much out
    assert rig.slots(SOFTMAX, gigabyte, 1e-9) == 2
    assert rig.slots(SOFTMAX, {"M": 1 << 16, "N": 1 << 15}, 1e-9) == 1


@given(m=st.integers(1, 1 << 17), n=st.integers(1, 1 << 13), floor_s=st.floats(0, 1))
def test_there_is_always_a_slot_and_never_too_much_memory(m: int, n: int, floor_s: float, rig: CudaRig) -> None:
    slots = rig.slots(SOFTMAX, {"M": m, "N": n}, floor_s)
    assert 1 <= slots <= 64
    assert slots == 1 or slots * SETS * 4 * m * n <= 8 << 30


def test_without_a_baseline_there_is_nothing_to_measure_against_and_it_says_so(rig: CudaRig) -> None:
    with pytest.raises(
        EnvironmentFault, match="task 'softmax_bf16' has no baseline that can run on this GPU"
    ) as caught:
        rig.start_baselines(SOFTMAX, "softmax_bf16", rig.names, NOBODY)
    assert "gpu_baselines" in caught.value.fix


@pytest.mark.parametrize("name", TASKS)
def test_every_timed_shape_has_room_for_a_sample(name: str, rig: CudaRig) -> None:
    """At 5 TB/s: more than any device of this size reads."""
    task = TASKS[name].on("cuda")
    for dims in task.tune:
        floor_s = task.least_bytes(dims) / 5e12
        assert rig.slots(task, dims, floor_s) * (floor_s + 2e-6) >= SAMPLE_S


@pytest.mark.parametrize(
    ("slots", "checks", "pool"), [(1, 4, 3), (1, 8, 5), (3, 4, 3), (30, 4, 30), (64, 16, 64), (1, 0, 2)]
)
def test_every_slot_of_a_sample_can_have_a_known_answer(slots: int, checks: int, pool: int) -> None:
    assert pool_size(SOFTMAX, {"M": 64, "N": 64}, slots, checks) == pool


def test_the_pool_stops_where_memory_does_and_is_one_where_two_do_not_fit() -> None:
    gigabytes: Dims = {"M": 1 << 15, "N": 1 << 15}  # 2 GB in, 4 GB of bounds
    assert pool_size(SOFTMAX, gigabytes, 8, 16) == 4
    assert pool_size(SOFTMAX, {"M": 1 << 16, "N": 1 << 15}, 8, 16) == 2
    assert pool_size(SOFTMAX, {"M": 1 << 18, "N": 1 << 15}, 8, 16) == 1


@pytest.mark.parametrize("name", TASKS)
def test_at_every_timed_shape_all_slots_are_checked(name: str, rig: CudaRig) -> None:
    task = TASKS[name].on("cuda")
    for dims in task.tune:
        slots = rig.slots(task, dims, task.least_bytes(dims) / 5e12)
        assert pool_size(task, dims, slots, 4) >= slots


class Counted:
    def __init__(self, number: int) -> None:
        self.number, self.closed, self.starts, self.is_ready = number, False, True, False

    def ready(self) -> Any:
        self.is_ready = True
        if not self.starts:
            raise WorkerFault("crash", "does not start: out of memory")
        return self

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("started", [0, 3])
def test_runners_come_one_after_the_other_and_none_is_left_open(started: int) -> None:
    made: list[Counted] = []

    def start() -> Any:
        made.append(Counted(len(made)))
        return made[-1]

    turns = InTurn([start() for _ in range(started)], start, 3)
    for number, runner in enumerate(turns):
        assert runner.number == number
        assert [r.closed for r in made[:number]] == [True] * number
        if number == 1:
            break
    turns.close()
    assert len(made) == (started or 2)
    assert all(r.closed for r in made)


def test_nobody_starts_beside_what_is_timed() -> None:
    """All are ready when the first is handed out, also where one of them does not start."""
    made = [Counted(0), Counted(1), Counted(2)]
    made[1].starts = False
    turns = InTurn(list[Any](made), lambda: Counted(3), 3)
    first = next(iter(turns))
    assert first is made[0]
    assert all(runner.is_ready for runner in made)
    assert [runner.closed for runner in made] == [False, True, False]
    turns.close()


def test_one_that_had_no_memory_beside_the_judge_is_started_again() -> None:
    made: list[Counted] = []

    def start() -> Any:
        made.append(Counted(len(made)))
        return made[-1]

    turns = InTurn([start(), start()], start, 3)
    made[1].starts = False
    assert [runner.number for runner in turns] == [0, 2, 3]
    assert all(r.closed for r in made)


def test_one_that_does_not_start_by_itself_either_says_so() -> None:
    class Broken(Counted):
        def ready(self) -> Any:
            raise WorkerFault("crash", "does not start: out of memory")

    made = [Broken(0), Broken(1)]
    for runner in InTurn([made[0]], lambda: made[1], 1):
        with pytest.raises(WorkerFault, match="out of memory"):
            runner.ready()
    assert all(r.closed for r in made)
