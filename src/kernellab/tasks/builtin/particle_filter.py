"""Particle-filter weight update: Gaussian log-likelihood, max-subtraction, normalisation, effective sample size."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernellab.tasks.builtin.particle_triton import in_three_steps
from kernellab.tasks.dtypes import PRECISIONS, variant_name
from kernellab.tasks.inputs import STANDARD, numbers, sparse
from kernellab.tasks.planted import far_out, plant
from kernellab.tasks.spec import ON_GPU, Array, Buffer, Dims, Sizes, Task, Tunable
from kernellab.tasks.sums import any_order_ulp


def reference(x: Array, lw: Array, z: Array) -> tuple[Array, Array]:
    log_weight = lw - 0.5 * (z - x) ** 2
    e = np.exp(log_weight - log_weight.max())
    total = e.sum()
    return e / total, np.array([total * total / (e * e).sum()])


def scale(x: Array, lw: Array, z: Array) -> tuple[Array, Array]:
    """exp amplifies the rounding of its argument, here a difference of terms that may be large. A log-weight is rounded
    once, by half a ULP, when the square is taken off; the square four times, before that too.

    The error of the sum is one factor for all weights, whatever their own condition; ess has it squared, and a second sum.
    """
    w, ess = reference(x, lw, z)
    square = 0.5 * (z - x) ** 2
    rounded = np.abs(lw) / 4 + square
    log_weight = lw - square
    condition = 1 + (log_weight.max() - log_weight) + rounded + rounded[np.argmax(log_weight)]
    of_sum = any_order_ulp(w) / 5
    of_ess = 2 * of_sum + any_order_ulp(w * w) / 5
    return w * (condition + of_sum), ess * (1 + 2 * (w * condition).sum() + of_ess)


def shared(w: Array, ess: Array) -> tuple[Array, None]:
    """The sum's own error, in every weight."""
    return np.asarray(any_order_ulp(w) / 5), None


def with_numpy(x: Array, lw: Array, z: Array, w: Array, ess: Array) -> None:
    np.subtract(z, x, out=w)
    np.multiply(w, w, out=w)
    w *= np.float32(-0.5)
    w += lw
    w -= w.max()
    np.exp(w, out=w)
    total = w.sum()
    ess[0] = total * total / np.square(w).sum()
    w /= total


def with_torch(x: Any, lw: Any, z: Any, w: Any, ess: Any) -> None:
    import torch

    torch.sub(z.float(), x.float(), out=w)
    w.mul_(w).mul_(-0.5).add_(lw)
    torch.softmax(w, 0, out=w)
    ess.copy_(1 / (w * w).sum())


def on_gpu(x: Any, lw: Any, z: Any) -> tuple[Any, Any]:
    """The formula; 16-bit inputs are widened first, since (z - x)^2 would lose digits and overflow in float16."""
    log_weight = lw.float() - 0.5 * (z.float() - x.float()).square()
    e = (log_weight - log_weight.max()).exp()
    total = e.sum()
    return e / total, (total * total / (e * e).sum()).reshape(1)


def on_gpu_softmax(x: Any, lw: Any, z: Any) -> tuple[Any, Any]:
    """The weights are a softmax, and their squares' sum is one dot product."""
    import torch

    w = torch.softmax(lw.float() - 0.5 * (z.float() - x.float()).square(), 0)
    return w, torch.dot(w, w).reciprocal().reshape(1)


def draw_far(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Particles far from the observation, and every log-weight tens of thousands below zero, as after many updates without a
    normalisation: all but a few weights vanish; and all of them where the maximum does not begin below. Not beyond 3e4: of a
    log-weight farther out float32 keeps too few digits to tell right weights from wrong ones."""
    wide = numbers(rng, buffer, dims).astype(np.float32) * np.float32(16)
    if buffer.name != "lw":
        return plant(wide.astype(buffer.dtype), rng, 3, spread=16.0)
    return (wide - np.float32(far_out(rng))).astype(buffer.dtype)


_FEW = sparse("lw", rest=-40.0, spread=0.0625)


def draw_few(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Four weights near each other, all logarithms near zero: exp is benign there, and what is left is the sums' precision.
    The observation is exactly zero, as one prediction is: no distance between them."""
    values = _FEW(rng, buffer, dims)
    return np.zeros_like(values) if buffer.name == "z" else values


def flops(dims: Dims) -> int:
    """Per particle: subtract, square, scale, add, compare, subtract, exponential (10), two sums, scale."""
    return 20 * dims["N"]


_GPU = Sizes(
    tune=({"N": 1 << 24}, {"N": 1 << 20}, {"N": 1 << 16}),
    held_out=({"N": 10_000_019}, {"N": 1_500_007}, {"N": 300_000}),
    edge=({"N": 1}, {"N": 7}, {"N": 1025}, {"N": 4099}),
)


def _task(dtype: str) -> Task:
    """Predictions, log-weights and observation in `dtype`; weights and effective sample size in float32 always."""
    about = "weights w[N] and effective sample size from predictions x[N], log-weights lw[N] and an observation z"
    return Task(
        name=variant_name("particle_filter", dtype),
        about=about + ("" if dtype == "float32" else f", {dtype} inputs"),
        inputs=(Buffer("x", ("N",), dtype), Buffer("lw", ("N",), dtype), Buffer("z", (1,), dtype)),
        outputs=(Buffer("w", ("N",)), Buffer("ess", (1,))),
        reference=reference,
        baselines={"numpy": with_numpy, "torch": with_torch},
        gpu_baselines={
            "torch": on_gpu,
            "torch.softmax": on_gpu_softmax,
            "triton-plain": Tunable(in_three_steps, {"block": (4096, 1024, 2048, 8192), "num_warps": (4, 8)}),
        },
        tune=({"N": 1 << 22}, {"N": 1 << 20}, {"N": 1 << 16}),
        held_out=({"N": 1_500_007}, {"N": 300_000}, {"N": 12_345}),
        edge=({"N": 1}, {"N": 2}, {"N": 7}, {"N": 100}, {"N": 1025}, {"N": 4099}),
        sizes={ON_GPU: _GPU},
        quick={"N": 1 << 19},
        distributions={**STANDARD, "large": draw_far, "sparse": draw_few},
        flops=flops,
        scale=scale,
        shared=shared,
    )


TASKS = tuple(_task(dtype) for dtype in PRECISIONS)
