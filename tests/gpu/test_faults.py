"""What a kernel can do to its process, and that the next kernel does not notice."""

from __future__ import annotations

import numpy as np
import pytest

from kernellab.core.records import Passed, Rejected
from kernellab.run.base import WorkerFault
from kernellab.run.cuda import CudaDevice
from kernellab.tasks.spec import Task
from kernellab.verdict.cases import Case, CaseTable
from kernellab.verdict.judge import Judge

from . import kernels
from .bed import Bed, pid
from .conftest import Build, Judged, Opened

pytestmark = pytest.mark.gpu


def fault_in(bed: Bed, timeout_s: float = 5.0) -> WorkerFault:
    with pytest.raises(WorkerFault) as caught:
        bed.run(timeout_s=timeout_s)
    return caught.value


def works(opened: Opened) -> bool:
    with opened() as bed:
        bed.put(np.arange(4096, dtype=np.float32))
        bed.run()
        return bool((bed.got() == 2 * np.arange(4096, dtype=np.float32)).all())


@pytest.mark.parametrize(
    "source",
    [kernels.WRITES_INPUT, kernels.FAR_AWAY, kernels.MISALIGNED, kernels.TRAP],
    ids=["writes an input", "illegal address", "misaligned", "trap"],
)
def test_a_sticky_fault_is_a_crash_and_costs_the_process_alone(source: str, gpu: CudaDevice, opened: Opened) -> None:
    assert works(opened)
    before = pid(gpu)
    with opened(source) as bed:
        bed.put(np.full(4096, 3, np.float32))
        fault = fault_in(bed)
        assert fault.cause == "crash"
        assert fault.reason.startswith("the GPU reports: ")
        assert fault.reason.endswith(" during a call")
        assert (bed.inputs.read(bed.calls[0].inputs[0]) == 3).all(), "inputs are read-only to a runner"
        assert fault_in(bed).cause == "lost-worker"
    assert works(opened)
    assert pid(gpu) != before


def test_a_call_that_does_not_return_is_killed_at_the_time_out(gpu: CudaDevice, opened: Opened) -> None:
    before = pid(gpu)
    with opened(kernels.ENDLESS) as bed:
        fault = fault_in(bed, timeout_s=0.5)
        assert (fault.cause, "did not return within 0.5 s during a call" in fault.reason) == ("timeout", True)
    assert works(opened)
    assert pid(gpu) != before


def test_faults_are_verdicts_and_an_honest_kernel_passes_after_each(judged: Judged) -> None:
    for source in (kernels.FAR_AWAY, kernels.WRITES_INPUT):
        found = judged(source)
        assert isinstance(found, Rejected)
        assert (found.cause, found.case) == ("crash", "N=1, normal"), found
        assert isinstance(judged(), Passed)


def test_a_hang_is_a_verdict_too(gpu: CudaDevice, gpu_build: Build, double_task: Task, opened: Opened) -> None:
    with CaseTable(double_task, [Case({"N": 7}, "normal", "edge")], bytes(32), gpu) as table:
        table.timeouts[0] = 0.5
        found = Judge(gpu).verify(gpu_build(kernels.ENDLESS, shapes=({"N": 7},)), table, "screen")
    assert isinstance(found, Rejected)
    assert (found.cause, found.case) == ("timeout", "N=7, normal")
    assert works(opened)


def test_a_launch_that_the_device_refuses_leaves_the_process(gpu: CudaDevice, opened: Opened) -> None:
    assert works(opened)
    before = pid(gpu)
    with opened(kernels.COOPERATIVE, kernels.COOPERATIVE_LAUNCH.replace(", zero=True", "") % 1_000_000) as bed:
        fault = fault_in(bed)
        assert fault.cause == "plan", fault.reason
        assert "cannot be launched: cooperative launch too large" in fault.reason
    assert works(opened)
    assert pid(gpu) == before


def test_one_refused_within_a_plan_of_several_is_a_fault_that_harms_nobody(opened: Opened) -> None:
    """It fails while the plan is captured: whatever the driver calls that, the next kernel runs."""
    with opened(kernels.COOPERATIVE, kernels.COOPERATIVE_LAUNCH % 1_000_000) as bed:
        assert fault_in(bed).cause in ("plan", "crash")
    assert works(opened)


def test_more_memory_than_the_quota_is_refused_before_anything_runs(
    gpu: CudaDevice, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert works(opened)
    before = pid(gpu)
    monkeypatch.setattr(gpu, "vram_bytes", 64 << 20)
    with opened(kernels.SCRATCH, kernels.SCRATCH_LAUNCH % 1000) as bed:
        bed.run()
    with pytest.raises(
        WorkerFault, match=r"needs 0\.13 GB of scratch beside its buffers; the quota is 0\.07 GB"
    ) as caught:
        with opened(kernels.SCRATCH, kernels.SCRATCH_LAUNCH % (32 << 20)):
            pass
    assert caught.value.cause == "memory"
    assert pid(gpu) == before


def test_the_scratch_of_every_shape_that_is_loaded_counts(
    gpu: CudaDevice, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "vram_bytes", 64 << 20)
    launch = kernels.SCRATCH_LAUNCH % (8 << 20)  # 34 MB for each
    with opened(kernels.SCRATCH, launch) as bed:
        bed.run()
    with pytest.raises(WorkerFault, match=r"needs 0\.07 GB of scratch"):
        with opened(kernels.SCRATCH, launch, shapes=({"N": 4096}, {"N": 7})):
            pass


def test_a_quota_exceeded_is_a_verdict(
    gpu: CudaDevice, judged: Judged, monkeypatch: pytest.MonkeyPatch, opened: Opened
) -> None:
    monkeypatch.setattr(gpu, "vram_bytes", 64 << 20)
    found = judged(kernels.SCRATCH, kernels.SCRATCH_LAUNCH % (32 << 20))
    assert isinstance(found, Rejected)
    assert (found.cause, found.case) == ("memory", "loading")
