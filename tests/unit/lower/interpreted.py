"""Runs generated texts in Triton's interpreter, beside the graph. A program of its own, because Triton decides when it is
imported whether it interprets; and one for all tests, because it takes seconds to import.

A request is a line of JSON: `products` or `plain`, the name of a subject, a folder for its texts. The answer is another: the
names of the texts that are right, and why one is not.

The interpreter of Triton 3.9 multiplies bfloat16 blocks as the whole numbers that their bits are; that is mended here.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

import numpy as np
import torch
import triton.language as tl
from tests.unit.lower import graphs
from tests.unit.lower.products import ATTENTION, SUBJECTS, record_of
from triton.runtime import interpreter

from kernellab.graph.evaluate import evaluate
from kernellab.graph.record import GraphRecord, sizes_from
from kernellab.lower.candidates import written

CHOICES: dict[str, list[Any]] = {
    "QUERIES": [16, 32], "KEYS": [16, 16, 32], "BLOCK_M": [16, 32], "BLOCK_N": [32], "BLOCK_K": [16], "GROUP_M": [2], "SPLITS": [3], "STAGES": [1], "GROUPS": [2],
    "PRECISION": ["bf16x6", "bf16x6", "tf32x3", "ieee"], "BLOCK": [16], "PIECE": [4], "LANES": [8], "PARTS": [3], "WARPS": [1],
}  # fmt: skip
"""In turn, as often as the longest of those that a text has; at other shapes than the first, one turn each."""
_dot, _two = interpreter.InterpreterBuilder.create_dot, interpreter.InterpreterBuilder.binary_op
_one_by_one = interpreter.GridExecutor.__call__


def _mended(self: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
    return _dot(self, *(_widened(x) for x in (a, b)), d, *rest)


def _compared(self: Any, a: Any, b: Any, op: Any) -> Any:
    """A comparison has booleans, not the type of what it compares: a single one among many was widened to that."""
    made = _two(self, a, b, op)
    return interpreter.TensorHandle(made.data, tl.int1) if made.data.dtype == bool else made


def _widened(x: Any) -> Any:
    if x.dtype.scalar != tl.bfloat16:
        return x
    return interpreter.TensorHandle((x.data.astype("uint32") << 16).view("float32"), tl.float32)


def _at_once(self: Any, *args: Any, launch_cooperative_grid: bool = False, **options: Any) -> None:
    """Programs that wait for each other: each in a process of its own. Its buffers are shared memory."""
    if not launch_cooperative_grid:
        _one_by_one(self, *args, **options)
        return
    (programs,), builder = self.grid, interpreter.interpreter_builder
    counted, placed = builder.set_grid_dim, builder.set_grid_idx
    children = []
    for program in range(programs):
        if (child := os.fork()) == 0:
            status = 1
            try:
                self.grid = (1,)
                builder.set_grid_dim = lambda *_: counted(programs, 1, 1)
                builder.set_grid_idx = lambda *_, at=program: placed(at, 0, 0)
                _one_by_one(self, *args, **options)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert not any(os.waitpid(child, 0)[1] for child in children)


def main() -> None:
    interpreter.InterpreterBuilder.create_dot, interpreter.InterpreterBuilder.binary_op = _mended, _compared
    interpreter.GridExecutor.__call__ = _at_once
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a kernel prints is no answer
    for line in sys.stdin:
        kind, name, folder = json.loads(line)
        right: list[str] = []
        failed = ""
        try:
            (interpret if kind == "products" else interpret_plain)(name, folder, right)
        except Exception:  # noqa: BLE001  whatever it is, the test says it
            failed = traceback.format_exc()[-3000:]
        print(json.dumps([right, failed]), file=answers, flush=True)


def interpret_plain(name: str, folder: str, right: list[str]) -> None:
    """Every text for a graph without products, at the sizes of its example and with small blocks."""
    record = graphs.record_of(name)
    generator = torch.Generator().manual_seed(3)
    inputs = {i.name: torch.randn(i.type.shape(record.example), generator=generator) for i in record.inputs}
    wanted = evaluate(record, inputs)
    for found in written(record, "triton", record.example):
        space = executed(found.name, found.text, folder, 99.0)
        parted = "PARTS" in space["SPACE"]  # a part is of 1,024 elements at least
        block = 8192 if "PROGRAMS" in space["SPACE"] else 4096 if name.startswith("long") else 512 if parted else 16
        small = {"BLOCK": block, "PIECE": 4, "LANES": 8, "PARTS": 3, "PROGRAMS": 6, "WARPS": 16, "GROUPS": 2}
        outputs = [torch.full(tuple(w.shape) or (1,), float("nan")).share_memory_() for w in wanted]
        space["launch"](*inputs.values(), *outputs, **{k: small[k] for k in space["SPACE"]})
        for got, value in zip(outputs, wanted, strict=True):
            np.testing.assert_allclose(got.reshape(value.shape), value, rtol=2e-5, atol=2e-5)
        right.append(found.name)


def executed(name: str, text: str, folder: str, rubbish: float) -> dict[str, Any]:
    """What a text defines; its scratch memory holds rubbish."""

    def scratch(shape: tuple[int, ...], dtype: str = "float32", zero: bool = False) -> torch.Tensor:
        return torch.full(shape, 0 if zero else rubbish, dtype=getattr(torch, dtype)).share_memory_()

    space: dict[str, Any] = {"scratch": scratch}
    file = f"{folder}/{name}.py"
    with open(file, "w") as opened:
        opened.write(text)  # the interpreter reads a kernel's lines from its file
    exec(compile(text, file, "exec"), space)
    return space


def interpret(name: str, folder: str, right: list[str]) -> None:
    record, subject = record_of(name), SUBJECTS[name]
    for found in written(record, "triton", subject.sizes(record)):
        if not found.name.startswith("attention" if name in ATTENTION else ("product", "packed", "parted")):
            continue
        for number, shapes in enumerate((subject.shapes, *subject.others)):
            check(record, found.name, found.text, shapes, subject.dtype, folder, number)
        right.append(found.name)


def check(record: GraphRecord, name: str, text: str, shapes: Any, dtype: Any, folder: str, number: int) -> None:
    generator = torch.Generator().manual_seed(3)
    given = dict(zip([i.name for i in record.inputs if i.role == "input"], shapes, strict=True))
    own = {i.name: i.type.shape({}) for i in record.inputs if i.role != "input"}
    sizes = sizes_from(record, {**given, **own})
    inputs = {i.name: drawn(i, sizes, generator, dtype) for i in record.inputs}
    wanted = evaluate(record, {n: t.double() if t.is_floating_point() else t for n, t in inputs.items()})
    space = executed(name, text, folder, float("nan"))
    names = list(space["SPACE"])
    for turn in [number] if number else range(max(len(CHOICES[n]) for n in names)):
        outputs = [
            torch.full(tuple(w.shape), float("nan"), dtype=_type(o))
            for w, o in zip(wanted, record.outputs, strict=True)
        ]
        space["launch"](*inputs.values(), *outputs, **{n: CHOICES[n][turn % len(CHOICES[n])] for n in names})
        close = 2e-2 if dtype != torch.float32 else 1e-5
        for got, right in zip(outputs, wanted, strict=True):
            scale = right.abs().max()
            torch.testing.assert_close(got.double() / scale, right.double() / scale, rtol=close, atol=close)


def drawn(entry: Any, sizes: Any, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    shape = entry.type.shape(sizes)
    if not entry.type.is_float:
        return torch.randint(1, 20, shape, generator=generator)
    return torch.randn(shape, generator=generator).to(dtype)


def _type(output: Any) -> torch.dtype:
    return getattr(torch, output.type.dtype)  # type: ignore[no-any-return]


if __name__ == "__main__":
    main()
