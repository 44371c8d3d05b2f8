"""Row-softmax: y[i, :] = exp(x[i, :] - max) / sum. The seeds' first operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernellab.tasks.builtin.softmax_triton import as_in_the_tutorial, row_a_program
from kernellab.tasks.dtypes import PRECISIONS, variant_name
from kernellab.tasks.inputs import STANDARD, draw_huge, numbers, sparse
from kernellab.tasks.planted import hidden, plant_zeros
from kernellab.tasks.remembered import remembered
from kernellab.tasks.spec import ON_GPU, Array, Buffer, Dims, Sizes, Task, Tunable
from kernellab.tasks.sums import any_order_ulp


def reference(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


reference = remembered(reference)  # scale() asks for the same again, and two exponentials are most of an answer's time


def scale(x: Array) -> Array:
    """exp amplifies the rounding of its argument, by 1 + |x - max|; the sum's own error is the same for a whole row."""
    away = x.max(axis=1, keepdims=True) - x
    y = reference(x)
    return np.asarray(y * (1 + np.where(np.isfinite(away), away, 0.0) + any_order_ulp(y, 1) / 5))


def shared(y: Array) -> Array:
    """The sum's own error."""
    return np.asarray(any_order_ulp(y, 1) / 5)


def with_numpy(x: Array, y: Array) -> None:
    np.subtract(x, x.max(axis=1, keepdims=True), out=y)
    np.exp(y, out=y)
    np.divide(y, y.sum(axis=1, keepdims=True), out=y)


def with_torch(x: Any, y: Any) -> None:
    import torch

    torch.softmax(x, 1, out=y)


def on_gpu(x: Any) -> Any:
    """torch's own kernel: float32 inside, rounded once to the dtype of x."""
    import torch

    return torch.softmax(x, 1)


def draw_masked(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """-inf as after an attention mask: a third of a row by chance, or its beginning, or its end; never all of it."""
    values = numbers(rng, buffer, dims)
    if values.size == 1:
        return np.zeros_like(values)
    values[hidden(rng, values.shape, 1 / 3)] = -np.inf
    return plant_zeros(values, rng, 4)


def flops(dims: Dims) -> int:
    """Per element: compare, subtract, an exponential of ten operations, add, multiply."""
    return 14 * dims["M"] * dims["N"]


_GPU = Sizes(
    tune=({"M": 16384, "N": 4096}, {"M": 65536, "N": 1024}, {"M": 131072, "N": 512}, {"M": 16384, "N": 781}),
    held_out=({"M": 24576, "N": 2048}, {"M": 10000, "N": 1537}, {"M": 50000, "N": 640}),
    edge=({"M": 1, "N": 1}, {"M": 3, "N": 7}, {"M": 2, "N": 2}, {"M": 17, "N": 513}, {"M": 5, "N": 4095}),
)


def _task(dtype: str) -> Task:
    return Task(
        name=variant_name("softmax", dtype),
        about="row-softmax over the last axis of x[M, N]" + ("" if dtype == "float32" else f", {dtype}"),
        inputs=(Buffer("x", ("M", "N"), dtype),),
        outputs=(Buffer("y", ("M", "N"), dtype),),
        reference=reference,
        baselines={"numpy": with_numpy, "torch": with_torch},
        gpu_baselines={
            "torch": on_gpu,
            "triton-rows": Tunable(row_a_program, {"num_warps": (4, 1, 2, 8, 16)}),
            "triton-tutorial": Tunable(as_in_the_tutorial, {"num_warps": (8, 4, 16), "num_stages": (4, 2)}),
        },
        tune=({"M": 4096, "N": 4096}, {"M": 8192, "N": 1024}, {"M": 8192, "N": 512}, {"M": 4096, "N": 781}),
        held_out=({"M": 509, "N": 2048}, {"M": 700, "N": 1537}, {"M": 3000, "N": 129}),
        edge=(
            {"M": 1, "N": 1},
            {"M": 3, "N": 7},
            {"M": 2, "N": 33},
            {"M": 4, "N": 2},
            {"M": 65, "N": 100},
            {"M": 17, "N": 513},
            {"M": 5, "N": 4095},
        ),
        sizes={ON_GPU: _GPU},
        quick={"M": 512, "N": 1024},
        distributions={**STANDARD, "large": draw_huge, "masked": draw_masked, "sparse": sparse("x", rest=-40.0)},
        flops=flops,
        scale=scale,
        shared=shared,
        halo=0,
    )


TASKS = tuple(_task(dtype) for dtype in PRECISIONS)
