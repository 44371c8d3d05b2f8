from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernellab.build.c import CBuilder
from kernellab.graph.source import Request
from kernellab.measurement.host_rig import HostRig
from kernellab.measurement.rig import CpuRig
from kernellab.measurement.ring import Ring
from kernellab.run.host import HostDevice, Problem
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.spec import Task

pytestmark = pytest.mark.backend_c


@pytest.fixture(scope="module")
def own(sandbox: Sandbox, builder: CBuilder, own_home: None) -> Iterator[CpuRig]:
    made = CpuRig(sandbox, builder, ["numpy"], 1, 0.002)
    yield made
    made.close()


def test_a_solution_is_timed_on_the_processors_own_buffers(own: CpuRig, sandbox: Sandbox, double_task: Task) -> None:
    rig = HostRig(own, HostDevice(sandbox, Problem(Request(""), (None,), ("",), (), ()), "x.py", 1, [0]))
    assert (rig.device.trust, rig.threads, rig.names, rig.conditions()) == ("host", 1, ("numpy",), {})
    ring = rig.ring(double_task, {"N": 16}, rig.slots(double_task, {"N": 16}, 1e-3), bytes(range(32)), 4)
    try:
        assert isinstance(ring, Ring)
        assert ring.dims == {"N": 16}
    finally:
        ring.close()


def test_its_baselines_are_the_processors_own(own: CpuRig, sandbox: Sandbox) -> None:
    rig = HostRig(own, HostDevice(sandbox, Problem(Request(""), (None,), ("",), (), ()), "x.py", 1, [0]))
    from kernellab.tasks.builtin import TASKS

    task = TASKS["softmax"]
    ring = rig.ring(task, task.edge[0], 1, bytes(range(32)), 4)
    try:
        for runner in rig.baseline_again(task, "softmax", "numpy", ring, 1):
            assert runner.ready().run([0], 30.0).seconds > 0
    finally:
        ring.close()
