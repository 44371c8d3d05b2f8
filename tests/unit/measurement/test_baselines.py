from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kernellab.measurement.base import SETS
from kernellab.measurement.baselines import Baselines, available
from kernellab.measurement.ring import Ring
from kernellab.run.base import WorkerFault
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Task

FILE = """
from kernellab.tasks import STANDARD, Buffer, Task, Tunable

def reference(x):
    return 2 * x

def broken(x, y):
    raise ValueError("this baseline has never worked")

def silent_exit(x, y):
    raise SystemExit(4)

def in_blocks(x, y, block, offset):
    for at in range(0, len(x), block):
        y[at:at + block] = 2 * x[at:at + block] + offset

TASK = Task(name="double", about="", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),), reference=reference,
            baselines={"broken": broken, "exits": silent_exit,
                       "blocks": Tunable(in_blocks, {"block": (16, 64), "offset": (0.0, 1.0)})},
            tune=({"N": 64},), held_out=({"N": 65},), edge=({"N": 1},), distributions=STANDARD)
"""
CPUS = sorted(os.sched_getaffinity(0))


@pytest.fixture(scope="module")
def baselines() -> Iterator[Baselines]:
    made = Baselines(with_torch=False)
    yield made
    made.close()


@pytest.fixture(scope="module")
def locator(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("task") / "double.py"
    path.write_text(FILE)
    return str(path)


@pytest.mark.parametrize("name", TASKS)
def test_numpy_fills_the_second_sides_outputs_with_the_right_answer(name: str, baselines: Baselines) -> None:
    task = TASKS[name]
    ring = Ring(task, task.edge[-1], 2, bytes(range(32)), 1 << 20)
    try:
        worker = baselines.start(task, name, "numpy", ring, 1, CPUS).ready()
        try:
            for number in range(SETS):
                filling = ring.fill(number, 2, 1)
                assert worker.run(ring.set_calls(number, 2), 10.0).seconds > 0
                assert ring.check(number, filling) == (None, len(filling.patterns))
        finally:
            worker.close()
    finally:
        ring.close()


def start_and_close(baselines: Baselines, task: Task, locator: str, name: str) -> None:
    ring = Ring(task, {"N": 64}, 1, bytes(range(32)), 1 << 20)
    try:
        worker = baselines.start(task, locator, name, ring, 1, CPUS)
        try:
            worker.ready()
        finally:
            worker.close()
    finally:
        ring.close()


def test_a_baseline_from_a_task_file_runs(baselines: Baselines, locator: str) -> None:
    task = load_task(locator)
    ring = Ring(task, {"N": 64}, 1, bytes(range(32)), 1 << 20)
    worker = baselines.start(task, locator, "numpy", ring, 1, CPUS).ready()
    try:
        ring.fill(0, 1, 1)
        worker.run([0], 10.0)
        x, y = ring.inputs.array(ring.calls[0].inputs[0]), ring.sides[1].array(ring.calls[0].outputs[0])
        assert np.array_equal(y, 2 * x)
    finally:
        worker.close()
        ring.close()


def test_a_baseline_that_raises_is_a_fault_with_its_message(baselines: Baselines, locator: str) -> None:
    with pytest.raises(WorkerFault, match="ValueError: this baseline has never worked") as caught:
        start_and_close(baselines, load_task(locator), locator, "broken")
    assert caught.value.cause == "crash"


def test_a_baseline_that_ends_its_process_is_a_fault(baselines: Baselines, locator: str) -> None:
    with pytest.raises(WorkerFault, match="exit code 4"):
        start_and_close(baselines, load_task(locator), locator, "exits")


def test_starting_does_not_wait_for_the_baseline(baselines: Baselines, locator: str) -> None:
    """Several start at once, and one that is no good is only known when it is waited for."""
    task = load_task(locator)
    ring = Ring(task, {"N": 64}, 1, bytes(range(32)), 1 << 20)
    workers = {name: baselines.start(task, locator, name, ring, 1, CPUS) for name in ("broken", "numpy")}
    try:
        with pytest.raises(WorkerFault, match="never worked"):
            workers["broken"].ready()
        filling = ring.fill(0, 1, 1)
        workers["numpy"].ready().run([0], 10.0)
        assert ring.check(0, filling) == (None, len(filling.patterns))
    finally:
        for worker in workers.values():
            worker.close()
        ring.close()


def test_a_fault_leaves_the_host_ready_for_the_next(baselines: Baselines, locator: str) -> None:
    task = load_task(locator)
    with pytest.raises(WorkerFault):
        start_and_close(baselines, task, locator, "broken")
    start_and_close(baselines, task, locator, "numpy")


def test_a_baselines_process_rests_between_calls(baselines: Baselines, locator: str) -> None:
    task = load_task(locator)
    ring = Ring(task, {"N": 64}, 1, bytes(range(32)), 1 << 20)
    worker = baselines.start(task, locator, "numpy", ring, 1, CPUS).ready()
    try:
        clock = (~worker._process.pid << 3) | 2
        before = time.clock_gettime(clock)
        sum(range(500_000))
        assert time.clock_gettime(clock) == before
    finally:
        worker.close()
        ring.close()


def test_only_torch_can_be_missing_and_then_with_the_way_to_get_it() -> None:
    names, missing = available(TASKS["softmax"])
    assert "numpy" in names
    assert {*names, *missing} == {"numpy", "torch"}
    assert all("pip install" in reason for reason in missing.values())


def test_a_baseline_with_knobs_runs_at_every_setting_each_on_its_own(baselines: Baselines, locator: str) -> None:
    task = load_task(locator)
    names = [n for n in available(task)[0] if n.startswith("blocks")]
    assert names == [f"blocks[block={b},offset={o}]" for b in (16, 64) for o in (0.0, 1.0)]
    ring = Ring(task, {"N": 64}, 1, bytes(range(32)), 1 << 20)
    try:
        for name in names:
            worker = baselines.start(task, locator, name, ring, 1, CPUS).ready()
            try:
                filling = ring.fill(0, 1, 1)
                worker.run([0], 10.0)
                fault, _ = ring.check(0, filling)
                assert (fault is None) == name.endswith("offset=0.0]"), name
            finally:
                worker.close()
    finally:
        ring.close()
