"""The built-in families in their three dtypes, and the GPU baselines, run here on CPU tensors."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from kernellab.tasks.builtin import TASKS
from kernellab.tasks.dtypes import is_short, limits
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Array, Dims, Task, Tunable
from kernellab.tasks.tunable import variants
from kernellab.verdict.numeric import within

torch = pytest.importorskip("torch")

FAMILIES = ("softmax", "stencil3x3", "stencil5x5", "particle_filter")
EXPRESSIONS = [(n, b) for n in TASKS for b in TASKS[n].gpu_baselines if not b.startswith("triton")]
IN_TRITON = """
import sys
from tests.unit.tasks.test_builtin import TASKS, judge
from kernellab.tasks.tunable import variants
for suffix in ("", "_bf16", "_f16"):
    task, seen = TASKS[sys.argv[1] + suffix], set()
    for baseline, variant in variants(task.gpu_baselines).items():
        if variant.name.startswith("triton") and variant.name not in seen:
            seen.add(variant.name)
            for distribution in task.distributions:
                judge(task, baseline, task.edge[1], distribution)
            judge(task, baseline, task.edge[2 if "stencil" in task.name else -1], "normal")
        elif variant.name.startswith("triton") and not suffix:
            judge(task, baseline, task.edge[1], "normal")
print("right")
"""


def tensor(array: Array) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def numpy(result: Any) -> Array:
    whole = result.contiguous()
    return whole.view(torch.int16).numpy().view("bfloat16") if whole.dtype == torch.bfloat16 else whole.numpy()


def judge(task: Task, baseline: str, dims: Dims, distribution: str) -> None:
    inputs = draw_inputs(task, dims, distribution, np.random.default_rng(11))
    result = variants(task.gpu_baselines)[baseline].function(*(tensor(a.copy()) for a in inputs))
    outputs = [numpy(r) for r in (result if isinstance(result, tuple) else (result,))]
    for buffer, got, wanted in zip(task.outputs, outputs, expect(task, dims, inputs), strict=True):
        assert (got.dtype.name, got.shape) == (buffer.dtype, buffer.shape(dims))
        if buffer.dtype == "float16" and baseline.startswith("cudnn"):  # torch sums float16 in float16 on some CPUs
            terms = np.maximum(task.scale(*(a.astype(np.float64) for a in inputs)), 1.0)  # type: ignore[misc]
            assert (np.abs(got.astype(np.float64) - wanted.value) <= 16 * limits("float16").eps * terms).all()
        else:
            assert within(got, wanted), (buffer.name, dims, distribution)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_comes_in_three_dtypes(family: str) -> None:
    for suffix, dtype in (("", "float32"), ("_bf16", "bfloat16"), ("_f16", "float16")):
        task = TASKS[family + suffix]
        assert {b.dtype for b in task.inputs} == {dtype}
        assert {b.dtype for b in task.outputs} == {"float32" if family == "particle_filter" else dtype}
    assert len(TASKS) == 3 * len(FAMILIES)


def test_every_built_in_task_has_a_fingerprint_of_its_own() -> None:
    prints = {t.on(kind).fingerprint() for t in TASKS.values() for kind in ("cpu", "cuda")}
    assert len(prints) == 2 * len(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_on_a_gpu_the_shapes_are_large_but_for_the_edges(name: str) -> None:
    task = TASKS[name].on("cuda")
    assert max(task.least_bytes(d) for d in task.tune) >= 64 << 20
    assert max(task.least_bytes(d) for d in task.edge) < 1 << 20
    assert task.tune != TASKS[name].tune


@pytest.mark.parametrize("name", TASKS)
def test_no_draw_leaves_the_range_of_its_dtype(name: str) -> None:
    task = TASKS[name]
    for distribution in task.distributions:
        for array in draw_inputs(task, task.edge[-1], distribution, np.random.default_rng(4)):
            wide = array.astype(np.float64)
            assert not np.isnan(wide).any()
            assert not np.isposinf(wide).any()
            assert distribution == "masked" or np.isfinite(wide).all()
        for expected in expect(
            task, task.edge[-1], draw_inputs(task, task.edge[-1], distribution, np.random.default_rng(4))
        ):
            assert np.isfinite(expected.value).all()


@pytest.mark.parametrize(("name", "baseline"), EXPRESSIONS)
def test_a_gpu_baseline_is_right_at_every_edge_under_every_distribution(name: str, baseline: str) -> None:
    task = TASKS[name]
    for dims in task.edge:
        for distribution in task.distributions:
            judge(task, baseline, dims, distribution)


@pytest.mark.parametrize("name", TASKS)
def test_the_torch_baseline_is_one_graph_to_a_compiler(name: str) -> None:
    task = TASKS[name]
    inputs = [tensor(a) for a in draw_inputs(task, task.edge[-1], "normal", np.random.default_rng(1))]
    compiled = torch.compile(task.gpu_baselines["torch"], backend="eager", fullgraph=True)(*inputs)
    plain = task.gpu_baselines["torch"](*inputs)
    pairs = zip(compiled, plain, strict=True) if isinstance(plain, tuple) else [(compiled, plain)]
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", TASKS)
def test_the_cpu_baselines_are_right_for_every_dtype(name: str) -> None:
    task = TASKS[name]
    for baseline, function in task.baselines.items():
        wrap = tensor if baseline.startswith("torch") else lambda a: a
        for dims in task.edge[-2:]:
            inputs = draw_inputs(task, dims, "normal", np.random.default_rng(6))
            outputs = [np.zeros(b.shape(dims), b.dtype) for b in task.outputs]
            function(*(wrap(a.copy()) for a in inputs), *(wrap(a) for a in outputs))
            for got, wanted in zip(outputs, expect(task, dims, inputs), strict=True):
                assert within(got, wanted), (baseline, dims)


def test_the_built_in_tasks_need_no_triton_to_be_imported() -> None:
    code = "import sys; sys.modules['triton'] = None; from kernellab.tasks.builtin import TASKS; print(len(TASKS))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "12\n"


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_triton_baselines_are_right_in_tritons_interpreter(family: str) -> None:
    pytest.importorskip("triton")
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_TRITON, family],
        env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert result.stdout == "right\n", result.stderr[-2000:]


def test_every_family_has_a_triton_baseline_with_knobs() -> None:
    for task in TASKS.values():
        tuned = {n for n, b in task.gpu_baselines.items() if isinstance(b, Tunable)}
        assert tuned == {n for n in task.gpu_baselines if n.startswith("triton")} != set()


def test_low_precision_particle_filters_are_held_to_float32() -> None:
    for name in ("particle_filter_bf16", "particle_filter_f16"):
        task = TASKS[name]
        inputs = draw_inputs(task, {"N": 1025}, "normal", np.random.default_rng(8))
        assert all(is_short(a.dtype) for a in inputs)
        weights, _ = expect(task, {"N": 1025}, inputs)
        assert weights.low.dtype == np.float32
        assert not within(weights.value.astype(inputs[0].dtype).astype(np.float32), weights)
