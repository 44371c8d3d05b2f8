"""Particle-filter weight update: Gaussian log-likelihood, max-subtraction, normalisation, effective sample size."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernellab.tasks.inputs import STANDARD, draw_normal
from kernellab.tasks.spec import Array, Buffer, Dims, Task


def reference(x: Array, lw: Array, z: Array) -> tuple[Array, Array]:
    log_weight = lw - 0.5 * (z - x) ** 2
    e = np.exp(log_weight - log_weight.max())
    total = e.sum()
    return e / total, np.array([total * total / (e * e).sum()])


def scale(x: Array, lw: Array, z: Array) -> tuple[Array, Array]:
    """exp amplifies the rounding of its argument, here a difference of terms that may be large."""
    w, ess = reference(x, lw, z)
    terms = np.abs(lw) + 0.5 * (z - x) ** 2
    condition = 1 + terms + terms[np.argmax(w)]
    return w * condition, ess * (1 + 2 * (w * condition).sum())


def plain(x: Array, lw: Array, z: Array) -> tuple[Array, Array]:
    """Running sums in the inputs' own precision, in the worst order: the largest term first, so small ones get lost."""
    log_weight = lw - x.dtype.type(0.5) * (z - x) ** 2
    e = np.exp(log_weight - log_weight.max())
    ordered, largest = e.copy(), int(e.argmax())
    ordered[0], ordered[largest] = e[largest], e[0]
    total = np.cumsum(ordered, dtype=x.dtype)[-1]
    return e / total, np.array([total * total / np.cumsum(ordered * ordered, dtype=x.dtype)[-1]])


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

    torch.sub(z, x, out=w)
    w.mul_(w).mul_(-0.5).add_(lw)
    torch.softmax(w, 0, out=w)
    ess.copy_(1 / (w * w).sum())


def draw_far(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Particles far from the observation: log-likelihoods of many hundreds, all but a few weights vanish."""
    return draw_normal(rng, buffer, dims) * np.float32(30)


def flops(dims: Dims) -> int:
    """Per particle: subtract, square, scale, add, compare, subtract, exponential (10), two sums, scale."""
    return 20 * dims["N"]


TASK = Task(
    name="particle_filter",
    about="weights w[N] and effective sample size from predictions x[N], log-weights lw[N] and an observation z",
    inputs=(Buffer("x", ("N",)), Buffer("lw", ("N",)), Buffer("z", (1,))),
    outputs=(Buffer("w", ("N",)), Buffer("ess", (1,))),
    reference=reference,
    baselines={"numpy": with_numpy, "torch": with_torch},
    tune=({"N": 1 << 22}, {"N": 1 << 20}, {"N": 1 << 16}),
    held_out=({"N": 1_500_007}, {"N": 300_000}, {"N": 12_345}),
    edge=({"N": 1}, {"N": 2}, {"N": 7}, {"N": 100}, {"N": 1025}, {"N": 4099}),
    distributions={**STANDARD, "large": draw_far},
    flops=flops,
    scale=scale,
    plain=plain,
    reduction=lambda dims: dims["N"],
)
