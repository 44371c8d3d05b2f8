"""What the tests of exported packages accept: intervals as C arrays, or the error allowed for inputs drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernellab.certify.c_text import C_TYPES
from kernellab.tasks.dtypes import is_float, is_short
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import expect, float32_slack
from kernellab.tasks.spec import Array, Dims, Task, dims_label

_A_LINE = 8


def known_answers(task: Task, shapes: Sequence[Dims], outside: Dims) -> dict[str, Any]:
    """What the C test's templates say: the cases, and the arrays that they use."""
    lines: list[str] = []
    cases = [_case(task, dims, number, lines) for number, dims in enumerate(shapes)]
    outputs = [{"name": b.name, "type": C_TYPES[b.dtype]} for b in task.outputs]
    return {"cases": cases, "lines": lines, "outputs": outputs, "outside": _extents(outside)}


def allowed_errors(task: Task, shapes: Sequence[Dims], least: float) -> str:
    """A table in Python: by the shape, for each output, the ULPs it may be off and the float32 share of its scale.

    A budget is one of its inputs: where terms cancel, other inputs of the same shape lose many times as much. These are
    of the very inputs that the test draws; never below `least`, which the certified kernels were held to.
    """
    if task.exact:
        return ""
    lines = [f"    {_allowed(task, dims, least)}\n" for dims in shapes]
    said = "for each output of draw(dims): ULPs that it may be off, and the float32 share of its scale"
    return f"ALLOWED = {{  # {said}\n{''.join(lines)}}}\n"


def _allowed(task: Task, dims: Dims, least: float) -> str:
    expected = expect(task, dims, drawn_again(task, dims))
    pairs = [
        (max(least, e.budget_ulp), float32_slack(task, dims, b.dtype) if is_short(b.dtype) else None)
        for e, b in zip(expected, task.outputs, strict=True)
    ]
    return f"{tuple(dims.values())!r}: {pairs!r},"


def drawn_again(task: Task, dims: Dims, seed: int = 0) -> list[Array]:
    """What `draw` in the exported tests gives; 16-bit floats by way of float32, as torch converts."""
    rng = np.random.default_rng(seed)
    made = []
    for buffer in task.inputs:
        shape, kind = buffer.shape(dims), np.float32 if is_short(buffer.dtype) else np.dtype(buffer.dtype)
        values = rng.standard_normal(shape).astype(kind) if is_float(buffer.dtype) else rng.integers(0, 100, shape)
        made.append(values.astype(buffer.dtype))
    return made


def _case(task: Task, dims: Dims, number: int, lines: list[str]) -> dict[str, Any]:
    inputs = draw_inputs(task, dims, next(iter(task.distributions)), np.random.default_rng(number))
    expected = expect(task, dims, inputs)
    given, wanted = [], []
    for buffer, array in zip(task.inputs, inputs, strict=True):
        name = f"{buffer.name}_{number}"
        lines += _array(name, C_TYPES[buffer.dtype], array)
        given.append({"name": buffer.name, "type": C_TYPES[buffer.dtype], "data": name})
    for buffer, answer in zip(task.outputs, expected, strict=True):
        low, high = f"{buffer.name}_{number}_low", f"{buffer.name}_{number}_high"
        lines += _array(low, C_TYPES[buffer.dtype], answer.low) + _array(high, C_TYPES[buffer.dtype], answer.high)
        count = int(answer.low.size)
        wanted.append({"name": buffer.name, "type": C_TYPES[buffer.dtype], "low": low, "high": high, "count": count})
    pointers = ", ".join(f"buf_{b.name}" for b in (*task.inputs, *task.outputs))
    extents = _extents(dims)
    return {"label": dims_label(dims), "dims": extents, "arguments": f"{pointers}, {extents}", "inputs": given,
            "outputs": wanted}  # fmt: skip


def _extents(dims: Dims) -> str:
    return ", ".join(str(v) for v in dims.values())


def _array(name: str, kind: str, values: Array) -> list[str]:
    words = [_number(v, is_float(values.dtype), kind) for v in values.ravel().tolist()]
    rows = [", ".join(words[k : k + _A_LINE]) + "," for k in range(0, len(words), _A_LINE)]
    return [f"static const {kind} {name}[] = {{", *(f"    {row}" for row in rows), "};"]


def _number(value: float, floating: bool, kind: str) -> str:
    if not floating:
        return str(value)
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return float(value).hex() + ("f" if kind == "float" else "")
