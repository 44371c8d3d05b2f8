"""What KernelLab uses of Triton's internals, one test a fact, so that a new Triton says what it changed.

Runs with whatever Triton is installed (3.4 is the oldest that is meant to work). The tests put KernelLab's driver under
the real Triton of this process and take it away again.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernellab.build import recorder, triton_job
from kernellab.build.cubin import audit
from kernellab.build.triton import missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
PROPERTIES = {"max_shared_mem": 232448}
TEXT = """
import triton
import triton.language as tl

@triton.jit
def copy(x, y, n, one, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)

@triton.jit
def describe(x, y, n):
    source = tl.make_tensor_descriptor(x, shape=[n, 64], strides=[64, 1], block_shape=[16, 64])
    target = tl.make_tensor_descriptor(y, shape=[n, 64], strides=[64, 1], block_shape=[16, 64])
    target.store([0, 0], source.load([0, 0]))

@triton.jit
def wrong(x, n):
    tl.store(x, nothing)
"""
Launch = Callable[..., None]


def used(what: str) -> str:
    return f"Triton has changed {what}: see src/kernellab/build/triton_job.py"


class Spy(triton_job.Driver):
    """Our driver, which complains when Triton asks it for something new."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(used(f"what it asks its driver for: '{name}'"))


@pytest.fixture
def scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The kernels above, with our driver in place; everything is put back afterwards."""
    config = importlib.import_module("triton.runtime").driver
    tuner = importlib.import_module("triton.runtime.autotuner").Autotuner
    descriptor = importlib.import_module("triton.tools.tensor_descriptor").TensorDescriptor
    for owner in (tuner, descriptor):
        monkeypatch.setattr(owner, "__init__", owner.__init__)
    before = dict(vars(config))
    monkeypatch.setattr(triton_job, "Driver", Spy)
    path = tmp_path / "candidate.py"
    path.write_text(TEXT)
    with triton_job.own_folder(str(tmp_path)):
        found = recorder.load(TEXT, str(path))
        found["driver"] = triton_job.install(90, PROPERTIES)
        yield found
    vars(config).clear()
    vars(config).update(before)


def buffers() -> list[triton_job.TritonStandIn]:
    return [triton_job.TritonStandIn({"kind": "buffer", "index": i}, (4096,), "float32") for i in range(2)]


def test_the_active_driver_can_be_replaced_and_is_the_one_that_is_asked(scope: dict[str, Any]) -> None:
    config = importlib.import_module("triton.runtime").driver
    assert config.active is scope["driver"], used("driver.set_active")
    target = config.active.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("cuda", 90, 32), used("GPUTarget")


def test_a_launch_reaches_our_launcher_with_grid_function_and_all_arguments(
    scope: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr(triton_job.Launcher, "__call__", lambda self, *given: seen.append(given))
    x, y = buffers()
    scope["copy"][lambda meta: (meta["n"] // meta["BLOCK"], 3)](x, y, 512, 1, BLOCK=128)
    ((gx, gy, gz, _stream, machine, *rest),) = seen
    assert (gx, gy, gz) == (4, 3, 1), used("how grids are evaluated")
    assert isinstance(machine, triton_job.Machine), used("what load_binary's second result is for")
    assert machine.symbol == "copy", used("the name that load_binary is given")
    assert machine.cubin[:4] == b"\x7fELF", used("the machine code that load_binary is given")
    assert rest[4:] == [x, y, 512, 1, 128], used("the order of the launcher's arguments")


def test_a_compiled_kernel_tells_what_a_launch_needs(scope: dict[str, Any]) -> None:
    x, y = buffers()
    kernel = scope["copy"][(32,)](x, y, 4096, 1, BLOCK=128, num_warps=2)
    for name in (
        "hash",
        "num_warps",
        "num_ctas",
        "shared",
        "launch_pdl",
        "launch_cooperative_grid",
        "global_scratch_size",
    ):
        assert hasattr(kernel.metadata, name), used(f"the metadata of kernels: no '{name}'")
    assert kernel.metadata.num_warps == 2
    assert list(kernel.src.signature.values())[2:] == ["i32", "constexpr", "constexpr"], used("specialisation")
    manager = importlib.import_module("triton.runtime.cache").get_cache_manager(kernel.metadata.hash)
    assert manager.get_file("copy.ptx"), used("where PTX is kept")


def test_hidden_parameters_follow_the_arguments(scope: dict[str, Any]) -> None:
    x, y = buffers()
    scope["copy"][(32,)](x, y, 4096, 1, BLOCK=128)
    (step,) = scope["driver"].recording.steps
    ((machine, _),) = scope["driver"].machines.values()
    sizes = audit(machine.cubin).kernels["copy"].parameters
    assert sizes is not None
    assert sizes[:3] == (8, 8, 4), used("the order of a kernel's parameters")
    assert len(sizes) in (4, 5), used("the scratch pointers that it appends")
    assert set(sizes[3:]) == {8}, used("the scratch pointers that it appends")
    assert len(step["args"]) == len(sizes)


def test_global_scratch_is_the_first_hidden_parameter(scope: dict[str, Any]) -> None:
    x, y = buffers()
    scope["describe"][(3,)](x, y, 64)
    (step,) = scope["driver"].recording.steps
    (size,) = scope["driver"].recording.sizes
    assert step["args"][3] == {"kind": "scratch", "index": 0}, used("the order of its scratch pointers")
    assert size >= 3 * 2 * 128, used("the size of its global scratch")
    assert size % 3 == 0


def test_a_cluster_multiplies_the_grid(scope: dict[str, Any]) -> None:
    x, y = buffers()
    scope["copy"][(5, 2)](x, y, 4096, 1, BLOCK=1024, num_ctas=4)
    (step,) = scope["driver"].recording.steps
    assert (step["grid"], step["cluster"]) == ([20, 2, 1], [4, 1, 1]), used("clusters")


def test_a_compile_error_carries_source_node_and_message(scope: dict[str, Any]) -> None:
    errors = importlib.import_module("triton.compiler.errors")
    with pytest.raises(errors.CompilationError) as caught:
        scope["wrong"][(1,)](buffers()[0], 5)
    assert "tl.store(x, nothing)" in caught.value.src, used("CompilationError.src")
    assert caught.value.node.lineno == 2, used("CompilationError.node: lines count from 'def'")
    assert "line 18: " in triton_job._compiler_says(caught.value, errors.CompilationError, TEXT)


def test_too_little_shared_memory_is_noticed_by_triton(scope: dict[str, Any]) -> None:
    compiler = importlib.import_module("triton.compiler.compiler")
    assert callable(compiler.max_shared_mem.cache_clear), used("max_shared_mem: the warm-up must be forgotten")
    limits = importlib.import_module("triton.runtime.errors")
    assert issubclass(limits.OutOfResources, Exception), used("OutOfResources")
    assert issubclass(limits.PTXASError, Exception), used("PTXASError")


def test_tuners_and_host_descriptors_are_made_by_the_classes_that_are_refused(scope: dict[str, Any]) -> None:
    triton = importlib.import_module("triton")
    with pytest.raises(recorder.Failed, match="use SPACE"):
        triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])(scope["copy"])
    descriptor = importlib.import_module("triton.tools.tensor_descriptor").TensorDescriptor
    with pytest.raises(recorder.Failed, match="make_tensor_descriptor"):
        descriptor(buffers()[0], [64, 64], [64, 1], [16, 64])
    with pytest.raises(recorder.Failed, match="make_tensor_descriptor"):
        descriptor.from_tensor(buffers()[0], [16])


def test_the_environment_still_decides_where_files_go_and_what_is_in_them(
    scope: dict[str, Any], tmp_path: Path
) -> None:
    knobs = importlib.import_module("triton.knobs")
    assert knobs.cache.dir == os.environ["TRITON_CACHE_DIR"] == f"{tmp_path}/cache", used("TRITON_CACHE_DIR")
    assert knobs.compilation.disable_line_info, used("TRITON_DISABLE_LINE_INFO")
    assert knobs.language.default_fp_fusion, used("TRITON_DEFAULT_FP_FUSION")


def test_a_launch_is_a_call_of_run_on_what_square_brackets_give(scope: dict[str, Any]) -> None:
    assert {"grid", "warmup"} <= set(inspect.signature(type(scope["copy"]).run).parameters), used("JITFunction.run")
