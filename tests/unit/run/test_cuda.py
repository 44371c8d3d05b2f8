"""What the GPU device decides before it asks its runner: what a runner is told, the quota, its own kernels' cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernellab.build import nvrtc_job
from kernellab.build.base import Built, Part
from kernellab.build.cache import CodeCache
from kernellab.build.plan import BufferArg, FloatArg, IntArg, Plan, ScratchArg, Step
from kernellab.core.ids import canonical_json
from kernellab.core.records import Artifact
from kernellab.run.base import Call, WorkerFault
from kernellab.run.cuda import CudaDevice, _own_kernels, _setup
from kernellab.run.device_arena import DeviceArena
from kernellab.tasks.spec import Dims

NOBODY: Any = None
ARTIFACT = Artifact(
    id="a", backend="cuda", code="c", plans="p", log="l", compiler="none", flags=[], static_bytes=0, build_s=0.0
)
SHAPES: tuple[Dims, ...] = ({"N": 64}, {"N": 7})


def built(scratch: int = 1 << 20) -> Built:
    args = [BufferArg(index=0), BufferArg(index=1), ScratchArg(index=0), IntArg(value=-3), FloatArg(value=0.5)]
    step = Step(kernel="k<float, 2>", grid=[4, 2], block=[64], args=args, shared=65536, cluster=[2], cooperative=True)
    plan = Plan(scratch=[scratch, 16], zeroed=[1], steps=[step, Step(kernel="end", grid=[1], block=[32], args=[])])
    return Built(ARTIFACT, (Part(SHAPES[0], b"code", plan), Part(SHAPES[1], b"other code", plan)))


def laid_out(shapes: tuple[Dims, ...] = SHAPES) -> tuple[DeviceArena, DeviceArena, list[Call]]:
    inputs, outputs = (DeviceArena(NOBODY, name, bytes(16)) for name in ("in", "out"))
    calls = [Call(d, (inputs.declare((d["N"],), "float32"),), (outputs.declare((d["N"],), "float32"),)) for d in shapes]
    return inputs, outputs, calls


def device(vram_bytes: int) -> CudaDevice:
    """One that has a quota and no GPU: what it refuses beforehand it refuses without."""
    made = CudaDevice.__new__(CudaDevice)
    made.vram_bytes = vram_bytes
    return made


def test_a_runner_is_told_plans_and_calls_by_number_and_nothing_about_shapes() -> None:
    inputs, outputs, calls = laid_out((SHAPES[1], SHAPES[0], SHAPES[1]))
    told = _setup(built(), calls, [inputs.serial, outputs.serial])
    assert [c["plan"] for c in told["calls"]] == [1, 0, 1]
    for call, bound in zip(calls, told["calls"], strict=True):
        wanted = [[inputs.serial, call.inputs[0].data], [outputs.serial, call.outputs[0].data]]
        assert bound["buffers"] == wanted
    plan = told["plans"][0]
    assert (plan["scratch"], plan["zeroed"], len(plan["steps"])) == ([1 << 20, 16], [1], 2)
    assert told["bundles"] == [len(b"code"), len(b"other code")]
    assert [p["bundle"] for p in told["plans"]] == [0, 1]
    assert plan["steps"][0] == {
        "kernel": "k<float, 2>", "grid": [4, 2], "block": [64], "shared": 65536, "cluster": [2], "cooperative": True,
        "args": [["buffer", 0], ["buffer", 1], ["scratch", 0], ["int", -3], ["float", 0.5]],
    }  # fmt: skip
    assert canonical_json(told)


@pytest.mark.parametrize(("shapes", "needs"), [(SHAPES[:1], "1.00"), (SHAPES, "2.00"), (SHAPES * 3, "2.00")])
def test_the_quota_counts_the_scratch_of_every_plan_that_is_loaded_once(shapes: tuple[Dims, ...], needs: str) -> None:
    inputs, outputs, calls = laid_out(shapes)
    with pytest.raises(WorkerFault, match=f"needs {needs} GB of scratch beside its buffers") as caught:
        device(900_000_000).start(built(1_000_000_000), inputs, outputs, calls)
    assert caught.value.cause == "memory"
    assert "the quota is 0.90 GB of GPU memory" in caught.value.reason


def test_the_quota_counts_the_buffers_too() -> None:
    inputs, outputs, calls = laid_out()
    inputs.size = outputs.size = 500_000_000
    with pytest.raises(WorkerFault, match=r"the quota is 0\.90 GB"):
        device(900_000_000).start(built(16), inputs, outputs, calls)


@pytest.mark.heavy
@pytest.mark.skipif(bool(nvrtc_job.PROBLEM), reason=nvrtc_job.PROBLEM)
def test_its_own_kernels_are_compiled_once_for_each_architecture(tmp_path: Path) -> None:
    cache = CodeCache(tmp_path)
    first = _own_kernels(cache, "sm_90a")
    kept = [p for p in tmp_path.rglob("*") if p.is_file()]
    stamps = [p.stat().st_mtime_ns for p in kept]
    assert _own_kernels(cache, "sm_90a") == first
    assert [p.stat().st_mtime_ns for p in kept] == stamps
    assert _own_kernels(cache, "sm_80") != first
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 2
