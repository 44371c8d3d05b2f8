from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from kernellab.build.c import CBuilder
from kernellab.measurement.rig import CpuRig, threads_cpus
from kernellab.run.base import Runner
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.builtin import TASKS

pytestmark = pytest.mark.backend_c
SEED = bytes(range(32))


@pytest.fixture(scope="module")
def rig(sandbox: Sandbox, builder: CBuilder, own_home: None) -> Iterator[CpuRig]:
    made = CpuRig(sandbox, builder, ["numpy"], 1, 0.002)
    yield made
    made.close()


def test_a_rig_knows_its_device_its_threads_and_its_baselines(rig: CpuRig) -> None:
    assert (rig.device.kind, rig.threads, rig.names, rig.conditions()) == ("cpu", 1, ("numpy",), {})
    assert list(rig.device.cpus) == sorted(os.sched_getaffinity(0))


def test_its_baselines_fill_its_rings_with_right_answers(rig: CpuRig) -> None:
    task = TASKS["stencil3x3"]
    dims = task.edge[-1]
    ring = rig.ring(task, dims, 2, SEED, checks=3)
    runners: dict[str, Runner] = rig.start_baselines(task, task.name, rig.names, ring)
    try:
        assert list(runners) == ["numpy"]
        filling = ring.fill(1, 2, 1)
        runners["numpy"].ready().run(ring.set_calls(1, 2), 10.0)
        assert ring.check(1, filling) == (None, len(filling.patterns))
    finally:
        for runner in runners.values():
            runner.close()
        ring.close()


@pytest.mark.heavy
def test_slots_and_ceilings_are_those_of_the_processor(rig: CpuRig) -> None:
    task = TASKS["softmax"]
    assert rig.slots(task, {"M": 64, "N": 64}, 1e-3) == 1
    assert rig.slots(task, {"M": 64, "N": 64}, 1e-5) > 50
    now, best = rig.ceilings(1 << 20)
    assert best.copy >= now.copy > 1e8
    again, still = rig.ceilings(1 << 20)
    assert still.copy == max(best.copy, again.copy), "the best is remembered"


def test_threads_take_as_many_processors_as_there_are_of_them() -> None:
    own = sorted(os.sched_getaffinity(0))
    assert [list(threads_cpus(n)) for n in (1, len(own))] == [own, own]
    assert list(threads_cpus(2)) == own[:2]
