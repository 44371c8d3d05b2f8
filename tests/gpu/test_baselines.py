"""Torch on the laboratory's own buffers, in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.measurement.device_ring import DeviceRing
from kernellab.measurement.gpu_baselines import GpuBaselines
from kernellab.run.base import Runner, WorkerFault
from kernellab.run.cuda import CudaDevice
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.crew import Crew
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, Task

pytestmark = pytest.mark.gpu
FILE = """
from kernellab.tasks import STANDARD, Buffer, Task, Tunable

def plain(x):
    return 2 * x

def wrong(x):
    return 2.01 * x

def broken(x):
    raise ValueError("this baseline has never worked")

def tuned(x, factor, fails):
    if fails:
        raise ValueError("no such setting")
    return factor * x

TASK = Task(name="double", about="", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),), reference=plain,
            gpu_baselines={"plain": plain, "wrong": wrong, "broken": broken,
                           "tuned": Tunable(tuned, {"factor": (2, 3), "fails": (0, 1)})},
            tune=({"N": 4096},), held_out=({"N": 65},), edge=({"N": 1},), distributions=STANDARD)
"""


@pytest.fixture(scope="module")
def baselines(gpu: CudaDevice, own_home: None) -> GpuBaselines:
    pytest.importorskip("torch")
    return GpuBaselines(gpu)


@pytest.fixture(scope="module")
def locator(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("task") / "double.py"
    path.write_text(FILE)
    return str(path)


def close(runners: dict[str, Runner], ring: DeviceRing) -> None:
    for runner in runners.values():
        runner.close()
    ring.close()


def right(gpu: CudaDevice, crew: Crew, baselines: GpuBaselines, task: Task, where: str, name: str, dims: Dims) -> str:
    """What is wrong with a baseline's timed answers, or ''."""
    ring = DeviceRing(gpu, task, dims, 2, bytes(range(32)), 2, crew)
    runners = baselines.start(task, where, [name], ring)
    try:
        runner = runners[name].ready()
        filling = ring.fill(1, 2, 1)
        sample = runner.run(ring.set_calls(1, 2), 60.0, counted=True)
        assert 0 < sample.seconds < 1
        fault, checked = ring.check(1, filling)
        assert checked == 2
        return fault.reason if fault is not None else ""
    finally:
        close(runners, ring)


@pytest.mark.parametrize(
    ("task", "name"),
    [("softmax", "torch.eager"), ("softmax_bf16", "torch.graph"), ("particle_filter", "torch.softmax"),
     ("softmax_bf16", "triton-rows[num_warps=8]"), ("softmax", "triton-tutorial[num_warps=4,num_stages=2]"),
     ("particle_filter_bf16", "triton-plain[block=1024,num_warps=4]"),
     ("stencil3x3", "triton-plain[rows=4,columns=256,num_warps=4]"),
     ("stencil5x5_f16", "triton-plain[rows=1,columns=1024,num_warps=8]")],
)  # fmt: skip
def test_a_baseline_fills_the_second_sides_outputs_with_right_answers(
    task: str, name: str, gpu: CudaDevice, crew: Crew, baselines: GpuBaselines
) -> None:
    sizes = {"particle": {"N": 5000}, "stencil": {"H": 67, "W": 129, "C": 3}, "softmax": {"M": 64, "N": 781}}
    dims = next(d for family, d in sizes.items() if task.startswith(family))
    assert right(gpu, crew, baselines, TASKS[task], task, name, dims) == ""


def test_baselines_from_a_task_file_run_and_a_wrong_one_is_seen(
    gpu: CudaDevice, crew: Crew, baselines: GpuBaselines, locator: str
) -> None:
    task = load_task(locator)
    assert right(gpu, crew, baselines, task, locator, "plain", {"N": 4096}) == ""
    assert "elements wrong" in right(gpu, crew, baselines, task, locator, "wrong", {"N": 4096})


def test_a_baseline_that_raises_is_a_reason_and_the_host_goes_on(
    gpu: CudaDevice, crew: Crew, baselines: GpuBaselines, locator: str
) -> None:
    task = load_task(locator)
    ring = DeviceRing(gpu, task, {"N": 4096}, 1, bytes(range(32)), 1, crew)
    runners = baselines.start(task, locator, ["broken", "plain"], ring)
    try:
        with pytest.raises(WorkerFault, match="ValueError: this baseline has never worked") as caught:
            runners["broken"].ready()
        assert caught.value.cause == "crash"
        runners["plain"].ready().run([0], 30.0)
    finally:
        close(runners, ring)


def test_the_settings_of_a_baseline_share_a_process_and_a_bad_one_harms_no_other(
    gpu: CudaDevice, crew: Crew, baselines: GpuBaselines, locator: str
) -> None:
    task = load_task(locator)
    ring = DeviceRing(gpu, task, {"N": 4096}, 1, bytes(range(32)), 1, crew)
    names = [f"tuned[factor={factor},fails={fails}]" for factor in (2, 3) for fails in (1, 0)]
    runners = baselines.start(task, locator, names, ring)
    try:
        for name in names[::2]:
            with pytest.raises(WorkerFault, match="ValueError: no such setting"):
                runners[name].ready()
        for name, factor in zip(names[1::2], (2, 3), strict=True):
            filling = ring.fill(0, 1, 1)
            runners[name].ready().run([0], 30.0)
            fault, checked = ring.check(0, filling)
            assert (fault is None, checked) == (factor == 2, 1)
        runners[names[1]].close()
        runners[names[3]].run([0], 30.0)
    finally:
        close(runners, ring)
