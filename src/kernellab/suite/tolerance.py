"""What a suite's own tolerance would accept: zeros, or the mean, in place of the answer.

KernelBench compares with torch.allclose(reference, candidate): |r - c| <= atol + rtol |c|, once with 1e-2 for both and, in
its newer versions, with 1e-4 for float32. Our own judge counts ULP of a scale, so this says nothing about verdicts here: it
says what a score elsewhere is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernellab.suite.checked import Finding
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.expected import Array

RULES = (("KernelBench's old rule", 1e-2), ("its newer rule", 1e-4))


def accepted(draws: Sequence[Sequence[Array]]) -> list[Finding]:
    """`draws`: the outputs for several sets of inputs. A constant that is known from the first must pass on all of them."""
    if rules := _passed(draws, _zeros):
        return [Finding(is_a="zeros-accepted", evidence=f"zeros pass {rules}")]  # it is no news that the mean does too
    if rules := _passed(draws, _means):
        return [Finding(is_a="mean-accepted", evidence=f"a constant, the mean of one output, passes {rules}")]
    return []


def _passed(draws: Sequence[Sequence[Array]], constants: Callable[[Sequence[Array]], list[float]]) -> str:
    fixed = constants(draws[0])
    names = [f"{name} ({tol:g})" for name, tol in RULES if all(_passes(d, fixed, tol) for d in draws)]
    return " and ".join(names)


def _zeros(outputs: Sequence[Array]) -> list[float]:
    return [0.0 for _ in outputs]


def _means(outputs: Sequence[Array]) -> list[float]:
    with np.errstate(all="ignore"):
        return [float(np.asarray(o, dtype=np.float64).mean()) for o in outputs]


def _passes(outputs: Sequence[Array], constants: Sequence[float], tol: float) -> bool:
    """Of whole numbers a constant passes where it is right."""
    return all(_close(o, c, tol if is_float(o.dtype) else 0.0) for o, c in zip(outputs, constants, strict=True))


def _close(output: Array, constant: float, tol: float) -> bool:
    with np.errstate(all="ignore"):
        gap = np.abs(np.asarray(output, dtype=np.float64) - constant)
        return bool((gap <= tol + tol * abs(constant)).all())
