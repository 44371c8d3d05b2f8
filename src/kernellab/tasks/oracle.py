"""The oracle: the reference in float64 and, from it, the interval in which every output element must lie.

Error is counted in ULPs of the element's scale (|expected|, or the task's own scale where terms cancel). The budget is
the largest of four times the trusted same-dtype implementation's own error on these very inputs, twice the error of the
task's plain-order implementation where it gives one (a running sum loses digits that pairwise summation keeps), and
4 + sqrt(terms summed) ULP, never above 1024 ULP for the floor: half precision in disguise starts at 4096.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernellab.core.errors import TaskRefused
from kernellab.tasks.spec import Array, Dims, Task, dims_label

_TRUSTED_MULTIPLE = 4.0
_PLAIN_MULTIPLE = 2.0
_FLOOR_ULP = 4.0
_FLOOR_CAP = 1024.0


@dataclass(frozen=True)
class Expected:
    """One output: float64 values, their error scale, the budget, and the accepted interval in the output's dtype."""

    value: Array
    scale: Array
    budget_ulp: float
    low: Array
    high: Array
    exact: bool


def run_reference(task: Task, inputs: list[Array]) -> tuple[Array, ...]:
    """The reference on float64 copies (exact tasks: on the inputs as they are)."""
    given = [a.copy() if task.exact or a.dtype.kind != "f" else a.astype(np.float64) for a in inputs]
    with np.errstate(all="ignore"):
        result = task.reference(*given)
    results = result if isinstance(result, tuple) else (result,)
    return tuple(np.asarray(r) for r in results)


def run_trusted(task: Task, inputs: list[Array], dims: Dims) -> list[Array]:
    """The trusted same-dtype implementation: the numpy baseline."""
    outputs = [np.empty(b.shape(dims), b.dtype) for b in task.outputs]
    with np.errstate(all="ignore"):
        task.baselines["numpy"](*(a.copy() for a in inputs), *outputs)
    return outputs


def expect(task: Task, dims: Dims, inputs: list[Array], budgets: Sequence[float] = ()) -> list[Expected]:
    """What the outputs must be, and how far they may be off.

    `budgets` (in ULP, one for each output) spares the trusted implementations where they are known for such inputs.
    """
    values = run_reference(task, inputs)
    if len(values) != len(task.outputs):
        raise TaskRefused(
            f"task '{task.name}': the reference returns {len(values)} outputs, {len(task.outputs)} declared",
            "return a tuple with one array for each output",
        )
    for buffer, value in zip(task.outputs, values, strict=True):
        if value.shape != buffer.shape(dims):
            raise TaskRefused(
                f"task '{task.name}': the reference gives shape {value.shape} for '{buffer.name}' at {dims_label(dims)}, "
                f"declared {buffer.shape(dims)}",
                "make the reference and the outputs agree",
            )
    if task.exact:
        cast = [v.astype(b.dtype) for v, b in zip(values, task.outputs, strict=True)]
        return [Expected(v, v, 0.0, v, v, True) for v in cast]
    if budgets:
        scales = _scales(task, inputs, values)
        triples = zip(values, scales, budgets, task.outputs, strict=True)
        return [_interval(v, s, budget, b.dtype) for v, s, budget, b in triples]
    trusted = run_trusted(task, inputs, dims)
    plain = _run_plain(task, inputs) or trusted
    scales = _scales(task, inputs, values)
    floor = _FLOOR_ULP + math.sqrt(task.reduction(dims) if task.reduction else 1)
    return [
        _interval(v, s, _budget(v, s, t, p, min(floor, _FLOOR_CAP)), b.dtype)
        for v, s, t, p, b in zip(values, scales, trusted, plain, task.outputs, strict=True)
    ]


def error_ulp(got: Array, expected: Array, scale: Array) -> tuple[float, float, int]:
    """Largest error: absolute, in ULPs of the scale, and where. Non-finite values must match exactly."""
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        difference = np.abs(got.astype(np.float64) - expected)
        same = ~np.isfinite(expected) & ((got == expected) | (np.isnan(got) & np.isnan(expected)))
        difference[same] = 0.0
        difference[np.isnan(difference)] = np.inf
        ulps = np.maximum(difference - 4 * float(info.tiny), 0.0) / (
            float(info.eps) * np.maximum(scale, float(info.tiny))
        )
        ulps[same] = 0.0
    worst = int(np.argmax(ulps))
    return float(difference.max()), float(ulps.flat[worst]), worst


def _scales(task: Task, inputs: list[Array], values: tuple[Array, ...]) -> list[Array]:
    if task.scale is None:
        return [np.abs(v) for v in values]
    with np.errstate(all="ignore"):
        given = task.scale(*(a.astype(np.float64) for a in inputs))
    scales = given if isinstance(given, tuple) else (given,)
    return [np.broadcast_to(np.asarray(s, np.float64), v.shape) for s, v in zip(scales, values, strict=True)]


def _run_plain(task: Task, inputs: list[Array]) -> list[Array] | None:
    if task.plain is None:
        return None
    with np.errstate(all="ignore"):
        result = task.plain(*(a.copy() for a in inputs))
    return list(result) if isinstance(result, tuple) else [result]


def _budget(value: Array, scale: Array, trusted: Array, plain: Array, floor: float) -> float:
    own = [_TRUSTED_MULTIPLE * error_ulp(trusted, value, scale)[1], _PLAIN_MULTIPLE * error_ulp(plain, value, scale)[1]]
    return max(floor, *(e for e in own if math.isfinite(e)), 0.0)


def _interval(value: Array, scale: Array, budget: float, dtype: str) -> Expected:
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        slack = budget * float(info.eps) * np.maximum(scale, float(info.tiny)) + 4 * float(info.tiny)
        low, high = (value - slack).astype(dtype), (value + slack).astype(dtype)
    odd = ~np.isfinite(value)
    low[odd] = high[odd] = value[odd]
    return Expected(value, scale, budget, low, high, False)
