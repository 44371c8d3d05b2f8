"""The Triton back end with the real sandbox and the real compiler; no GPU is needed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from kernellab.build import triton as backend
from kernellab.build.base import Candidate, NotBuilt
from kernellab.build.bundle import unpack
from kernellab.build.cache import CodeCache
from kernellab.build.cubin import find_tool
from kernellab.build.plan import FloatArg, IntArg, Plan, ScratchArg
from kernellab.build.triton import TritonBuilder, arch_of, missing, sass_of
from kernellab.core.errors import UsageError
from kernellab.core.ids import sha256_hex
from kernellab.core.records import artifact_id
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Task

from .conftest import HEAD, KERNEL, LAUNCH, SHAPES, done, failed

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
SOFTMAX = (
    HEAD
    + '''"""One row a program: the row stays in registers."""
@triton.jit
def softmax_rows(x, y, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n_cols + at, mask=at < n_cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n_cols + at, (e / tl.sum(e, axis=0)).to(y.dtype.element_ty), mask=at < n_cols)

SPACE = {"num_warps": [4, 8]}
TASKS = ("softmax", "softmax_bf16")

def launch(x, y, num_warps=4):
    m, n = x.shape
    softmax_rows[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n), num_warps=num_warps)
'''
)


def args_of(plan: Plan, step: int = 0) -> list[Any]:
    return [a.value if isinstance(a, (IntArg, FloatArg)) else (a.kind, a.index) for a in plan.steps[step].args]


@pytest.mark.heavy
def test_a_build_gives_cubins_plans_in_order_resources_and_an_artifact(attempt: Any) -> None:
    built = done(attempt())
    bundles = [unpack(part.code) for part in built.parts]
    assert all(module[:4] == b"\x7fELF" for bundle in bundles for module in bundle.modules)
    assert [len(bundle.modules) for bundle in bundles] == [1, 1]
    assert len(built.codes) == 2  # 4096 is divisible by 16, 1025 is not: Triton specialises
    steps = [plan.steps[0] for plan in built.plans]
    assert [s.grid for s in steps] == [[16, 1, 1], [5, 1, 1]]
    assert [s.block for s in steps] == [[128, 1, 1]] * 2
    assert [args_of(p)[:3] for p in built.plans] == [[("buffer", 0), ("buffer", 1), n] for n in (4096, 1025)]
    assert all(set(args_of(p)[3:]) == {0} for p in built.plans)  # Triton's own scratch pointers: null
    assert [{s.kernel} for s in steps] == [set(bundle.kernels) for bundle in bundles]
    assert {symbol for bundle in bundles for _, symbol in bundle.kernels.values()} == {"double"}
    artifact = built.artifact
    assert artifact.code == sha256_hex(built.timed.code)
    assert artifact.id == artifact_id({label: part.id for label, part in artifact.parts.items()})
    assert (artifact.backend, artifact.compiler, artifact.cached) == ("triton", f"Triton {backend.version()}", False)
    assert 0 < artifact.resources["registers"] < 64
    assert (artifact.resources["local_bytes"], artifact.resources["kernels"], artifact.static_bytes) == (0, 1, 0)
    assert ".target sm_90a" in built.listing
    assert built.listing.count(".entry double(") == 2


@pytest.mark.heavy
def test_a_built_in_task_builds_for_every_shape_and_describes_itself(triton_builder: TritonBuilder) -> None:
    task = load_task("softmax_bf16")
    candidate = Candidate(SOFTMAX, "softmax")
    said = triton_builder.describe(candidate)
    assert not isinstance(said, NotBuilt)
    assert (said.space, said.tasks) == ({"num_warps": [4, 8]}, ["softmax", "softmax_bf16"])
    built = done(triton_builder.build(task, candidate, {"num_warps": 8}, [*task.tune[:1], *task.edge]))
    assert built.plans[0].steps[0].block == [256, 1, 1]
    assert built.artifact.resources["shared"] > 0


def test_a_callable_grid_sees_the_meta_parameters_and_several_launches_make_one_plan(attempt: Any) -> None:
    launch = """def launch(x, y):
    grid = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]), 2)
    double[grid](x, y, x.size, BLOCK=512)
    double[lambda meta: (7,)](y, y, 100, BLOCK=64, num_warps=2)
    double[(0,)](x, y, 5, BLOCK=64)
"""
    plan = done(attempt(launch=launch)).plans[0]
    assert [s.grid for s in plan.steps] == [[8, 2, 1], [7, 1, 1]]  # an empty grid is no launch, as on the device
    assert [s.block for s in plan.steps] == [[128, 1, 1], [64, 1, 1]]
    assert args_of(plan, 1)[:3] == [("buffer", 1), ("buffer", 1), 100]


def test_constants_none_and_ones_have_no_run_time_argument_and_numbers_keep_their_kind(attempt: Any) -> None:
    kernel = """@triton.jit
def scale(x, y, nothing, a, one, big, flag, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at + one - 1, mask=at < n, other=0.0)
    v = tl.where(flag, v * a, v + big.to(tl.float32))
    tl.store(y + at, v, mask=at < n)
"""
    launch = "def launch(x, y):\n    scale[(triton.cdiv(x.size, 128),)](x, y, None, 2.5, 1, 2**40 + 1, True, x.size, BLOCK=128)\n"
    plan = done(attempt(kernel, launch)).plans[0]
    assert args_of(plan)[:6] == [("buffer", 0), ("buffer", 1), 2.5, 2**40 + 1, 1, 4096]


def test_tuples_are_passed_as_their_elements(attempt: Any) -> None:
    kernel = """@triton.jit
def pair(both, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(both[1] + at, tl.load(both[0] + at, mask=at < n, other=0.0), mask=at < n)
"""
    plan = done(attempt(kernel, "def launch(x, y):\n    pair[(9,)]((x, y), x.size, BLOCK=128)\n")).plans[0]
    assert args_of(plan)[:3] == [("buffer", 0), ("buffer", 1), 4096]


def test_scratch_buffers_and_stand_ins_answer_like_tensors(attempt: Any) -> None:
    launch = """def launch(x, y):
    assert (x.stride(0), x.numel(), x.element_size(), x.dim(), x.data_ptr() % 16) == (1, x.size, 4, 1, 0)
    part = scratch((triton.cdiv(x.size, 256), 256), "float32", zero=True)
    double[(triton.cdiv(x.size, 256),)](x, part, x.size, BLOCK=256)
    double[(triton.cdiv(x.size, 256),)](part, y, x.size, BLOCK=256)
"""
    plan = done(attempt(launch=launch)).plans[1]
    assert (plan.scratch, plan.zeroed) == ([5 * 256 * 4], [0])
    assert isinstance(plan.steps[0].args[1], ScratchArg)


def test_warps_clusters_and_register_limits_reach_the_launch(attempt: Any) -> None:
    launch = "def launch(x, y):\n    double[(4, 3)](x, y, x.size, BLOCK=1024, num_warps=8, num_ctas=2, maxnreg=24)\n"
    built = done(attempt(launch=launch))
    step = built.plans[0].steps[0]
    assert (step.grid, step.block, step.cluster) == ([8, 3, 1], [256, 1, 1], [2, 1, 1])
    assert ".maxnreg 24" in built.listing
    assert built.artifact.resources["registers"] <= 24


def test_a_cooperative_launch_is_recorded(attempt: Any) -> None:
    launch = "def launch(x, y):\n    double[(16,)](x, y, x.size, BLOCK=256, launch_cooperative_grid=True)\n"
    assert done(attempt(launch=launch)).plans[0].steps[0].cooperative


def test_device_side_descriptors_get_scratch_for_every_program(attempt: Any) -> None:
    kernel = """@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[n // 64, 64], strides=[64, 1], block_shape=[BLOCK, 64])
    target = tl.make_tensor_descriptor(y, shape=[n // 64, 64], strides=[64, 1], block_shape=[BLOCK, 64])
    row = tl.program_id(0) * BLOCK
    target.store([row, 0], source.load([row, 0]))
"""
    launch = "def launch(x, y):\n    triton.set_allocator(lambda size, align, stream: None)\n    copy[(5,)](x, y, x.size, BLOCK=16)\n"
    plan = done(attempt(kernel, launch, shapes=[{"N": 4096}])).plans[0]
    assert len(plan.scratch) == 1
    assert plan.scratch[0] % (5 * 128) == 0
    assert ("scratch", 0) in args_of(plan)


def test_heuristics_work(attempt: Any) -> None:
    kernel = '@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})\n' + KERNEL
    launch = 'def launch(x, y):\n    double[lambda meta: (triton.cdiv(x.size, meta["BLOCK"]),)](x, y, x.size)\n'
    assert done(attempt(kernel, launch)).plans[1].steps[0].grid == [1, 1, 1]


@pytest.mark.heavy
def test_equal_text_gives_an_equal_artifact_and_stages_that_change_nothing_too(attempt: Any) -> None:
    first, again, stages = attempt(), attempt(), attempt(params={"num_stages": 2})
    assert done(first).artifact.id == done(again).artifact.id == done(stages).artifact.id
    moved = done(attempt("# a comment that moves every line\n" + KERNEL))
    assert moved.artifact.id == first.artifact.id
    assert done(attempt(params={"num_warps": 8})).artifact.id != first.artifact.id


def test_a_cached_build_needs_no_process(gpu_sandbox: Sandbox, double_task: Task, tmp_path: Path) -> None:
    candidate, cache = Candidate(HEAD + KERNEL + LAUNCH, "test"), CodeCache(tmp_path)
    first = done(TritonBuilder(gpu_sandbox, cache, "sm_90a").build(double_task, candidate, {}, SHAPES))
    nowhere: Any = None  # no sandbox: nothing can be started
    builder = TritonBuilder(nowhere, cache, "sm_90a")
    second = done(builder.build(double_task, Candidate(candidate.text, "other name"), {}, SHAPES))
    assert second.artifact.cached
    assert (second.artifact.id, second.plans, second.listing) == (first.artifact.id, first.plans, first.listing)
    other = TritonBuilder(gpu_sandbox, cache, "sm_80").build(double_task, candidate, {}, SHAPES)
    assert ".target sm_80" in done(other).listing


@pytest.mark.heavy
def test_instructions_are_made_on_demand(attempt: Any, gpu_sandbox: Sandbox) -> None:
    if not find_tool():
        pytest.skip("there is no nvdisasm")
    listing = sass_of(gpu_sandbox, done(attempt()).codes)
    assert listing.count(".text.double") >= 2
    assert "EXIT" in listing


@pytest.mark.heavy
def test_the_warm_up_leaves_no_folder_no_thread_and_no_torch() -> None:
    code = "import os, sys, tempfile; import kernellab.build.triton_warm as w; print([w.FAULT, 'torch' in sys.modules, len(os.listdir('/proc/self/task')), os.listdir(tempfile.gettempdir())])"
    with tempfile.TemporaryDirectory() as folder:
        environment = {"TMPDIR": folder, "OPENBLAS_NUM_THREADS": "1", "PATH": os.environ["PATH"]}
        said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "['', False, 1, []]"


def test_a_zygote_without_triton_still_starts() -> None:
    code = "import sys; sys.modules['triton'] = None; import kernellab.build.triton_warm as w; print(w.FAULT)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'kernellab[cuda]'" in said.stdout


def test_a_target_is_named_like_an_architecture() -> None:
    assert [arch_of(t) for t in ("sm_80", "sm_90a", "sm_120a")] == [80, 90, 120]
    with pytest.raises(UsageError, match="no GPU architecture"):
        arch_of("hopper")


def test_without_triton_the_reason_names_the_package(monkeypatch: pytest.MonkeyPatch, double_task: Task) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    builder = TritonBuilder(None, CodeCache(None), "sm_90a")  # type: ignore[arg-type]
    fault = failed(builder.build(double_task, Candidate(HEAD + KERNEL + LAUNCH, "test"), {}, SHAPES))
    assert "pip install 'kernellab[cuda]'" in fault.reason


def test_an_old_triton_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "version", lambda: "3.3.1")
    assert "too old" in missing()
