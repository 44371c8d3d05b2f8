"""Kernels that must fail, in NumPy: what a task's judge is proven on (controls.py)."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from kernellab.tasks.dtypes import is_float
from kernellab.tasks.expected import Expected
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import run_reference
from kernellab.tasks.spec import Array, Dims, Task
from kernellab.verdict.numeric import same_values

Control = Callable[[Task, Dims, list[Array], list[Expected]], list[Array] | None]
"""The wrong outputs, or None where the task gives this way of being wrong no room."""
_EIGHT_BITS = np.dtype(ml_dtypes.float8_e5m2)
_HALF = {
    "float64": np.dtype(np.float32), "float32": np.dtype(np.float16),
    "float16": _EIGHT_BITS, "bfloat16": _EIGHT_BITS,
}  # fmt: skip


def _right(task: Task, expected: list[Expected]) -> list[Array]:
    with np.errstate(all="ignore"):
        return [e.value.astype(b.dtype) for e, b in zip(expected, task.outputs, strict=True)]


def _zeros(task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> list[Array]:
    return [np.zeros_like(o) for o in _right(task, expected)]


def _constant(task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> list[Array] | None:
    if all(math.prod(b.shape(d)) == 1 for b in task.outputs for d in (dims, *task.tune)):
        return None  # the mean of one number is that number; "the answer to another input" is the constant one there
    finite = [o[np.isfinite(o)] for o in _right(task, expected)]
    means = [f.mean(dtype=np.float64) if f.size else 0.0 for f in finite]
    return [np.full_like(o, mean) for o, mean in zip(_right(task, expected), means, strict=True)]


def _identity(task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> list[Array] | None:
    first = task.outputs[0]
    match = next((a for a in inputs if a.shape == first.shape(dims)), None)
    if match is None:
        return None
    return [match.astype(first.dtype), *_right(task, expected)[1:]]


def _stale(task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> list[Array]:
    other = draw_inputs(task, dims, next(iter(task.distributions)), np.random.default_rng(77))
    return [v.astype(b.dtype) for v, b in zip(run_reference(task, other), task.outputs, strict=True)]


def _one_row(task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> list[Array] | None:
    outputs = _right(task, expected)
    for out in outputs:
        out.reshape(out.shape[0], -1)[out.shape[0] // 2] = 0
    return _unless_right(task, expected, outputs)


def _last_tile(task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> list[Array] | None:
    outputs = _right(task, expected)
    for out in outputs:
        out.reshape(-1)[-max(1, out.size % 8) :] = 0
    return _unless_right(task, expected, outputs)


def _unless_right(task: Task, expected: list[Expected], outputs: list[Array]) -> list[Array] | None:
    """Where zero is the right answer in that place, there is nothing wrong with it."""
    right = _right(task, expected)
    same = all(same_values(a, b) for a, b in zip(right, outputs, strict=True))
    return None if same else outputs


def _half(task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> list[Array] | None:
    if task.exact or not any(b.dtype in _HALF for b in task.outputs):
        return None
    with np.errstate(all="ignore"):
        return [
            o.astype(_HALF.get(b.dtype, o.dtype)).astype(b.dtype)
            for o, b in zip(_right(task, expected), task.outputs, strict=True)
        ]


def _ten_bits(array: Array) -> Array:
    """As TF32 rounds: ten bits behind the first, to the nearest."""
    bits = np.ascontiguousarray(array).view(np.uint32)
    cut = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.asarray(np.where(np.isfinite(array), cut, array))


def _seven_bits(array: Array) -> Array:
    """As bfloat16 rounds."""
    with np.errstate(all="ignore"):
        return np.asarray(array.astype(ml_dtypes.bfloat16).astype(np.float32))


def _in_float32(task: Task) -> bool:
    """Whether its results are float32, and indices where it has those too; or indices alone, of what is float32."""
    floats = [b.dtype for b in task.outputs if is_float(b.dtype)]
    floats = floats or [b.dtype for b in task.inputs if is_float(b.dtype)]
    return not task.exact and bool(floats) and all(dtype == "float32" for dtype in floats)


def _rounded_inputs(cut: Callable[[Array], Array]) -> Control:
    """The right answer to inputs that lost bits; no control where they have none to lose."""

    def control(task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> list[Array] | None:
        if not _in_float32(task):
            return None
        given = [cut(a) if a.dtype == np.float32 else a for a in inputs]
        if all(same_values(a, b) for a, b in zip(given, inputs, strict=True)):
            return None
        with np.errstate(all="ignore"):
            return [v.astype(b.dtype) for v, b in zip(run_reference(task, given), task.outputs, strict=True)]

    return control


def _rounded_outputs(cut: Callable[[Array], Array]) -> Control:
    """The right answer, with bits lost at the end; no control where it has none to lose."""

    def control(task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> list[Array] | None:
        if not _in_float32(task):
            return None
        right = _right(task, expected)
        rounded = [cut(o) if o.dtype == np.float32 else o for o in right]
        same = all(same_values(a, b) for a, b in zip(right, rounded, strict=True))
        return None if same else rounded

    return control


CONTROLS: dict[str, Control] = {
    "all zeros": _zeros,
    "a constant": _constant,
    "copy an input": _identity,
    "the answer to another input": _stale,
    "one row wrong": _one_row,
    "the last tile wrong": _last_tile,
    "half precision": _half,
    "TF32 inputs": _rounded_inputs(_ten_bits),
    "bfloat16 inputs": _rounded_inputs(_seven_bits),
    "TF32 outputs": _rounded_outputs(_ten_bits),
    "bfloat16 outputs": _rounded_outputs(_seven_bits),
}
PRECISION = tuple(CONTROLS)[-4:]
"""Those that ask whether a float32 task can tell less from float32."""
DECISIVE = PRECISION[:2]
"""Those among them that integers and booleans made of floats can show too."""
FINER_THAN_TF32 = ("half precision", *PRECISION)
"""Those that a looser contract than IEEE allows, or that an output may be unable to show."""
