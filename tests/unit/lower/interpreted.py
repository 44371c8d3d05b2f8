"""Runs the generated texts of products in Triton's interpreter, beside the graph in float64. A program of its own, because
Triton decides when it is imported whether it interprets.

The interpreter of Triton 3.9 multiplies bfloat16 blocks as the whole numbers that their bits are; that is mended here.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import triton.language as tl
from tests.unit.lower.products import ATTENTION, SUBJECTS, record_of
from triton.runtime import interpreter

from kernellab.graph.evaluate import evaluate
from kernellab.graph.record import GraphRecord, sizes_from
from kernellab.lower.candidates import written

CHOICES: dict[str, list[Any]] = {
    "QUERIES": [16, 32], "KEYS": [16, 16, 32], "BLOCK_M": [16, 32], "BLOCK_N": [32], "BLOCK_K": [16], "GROUP_M": [2], "SPLITS": [3], "STAGES": [1],
    "PRECISION": ["bf16x6", "bf16x6", "tf32x3", "ieee"], "BLOCK": [16], "PIECE": [4], "LANES": [8], "PARTS": [3], "WARPS": [1],
}  # fmt: skip
"""In turn, as often as the longest of those that a text has."""
_dot = interpreter.InterpreterBuilder.create_dot


def _mended(self: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
    return _dot(self, *(_widened(x) for x in (a, b)), d, *rest)


def _widened(x: Any) -> Any:
    if x.dtype.scalar != tl.bfloat16:
        return x
    return interpreter.TensorHandle((x.data.astype("uint32") << 16).view("float32"), tl.float32)


def main(folder: str, *names: str) -> None:
    interpreter.InterpreterBuilder.create_dot = _mended
    for name in names:
        interpret(name, folder)


def interpret(name: str, folder: str) -> None:
    record, subject = record_of(name), SUBJECTS[name]
    for found in written(record, "triton", subject.sizes(record)):
        if not found.name.startswith("attention" if name in ATTENTION else ("product", "packed", "parted")):
            continue
        for shapes in (subject.shapes, *subject.others):
            check(record, found.name, found.text, shapes, subject.dtype, folder)
        print("right", found.name)


def check(record: GraphRecord, name: str, text: str, shapes: Any, dtype: Any, folder: str) -> None:
    generator = torch.Generator().manual_seed(3)
    given = dict(zip([i.name for i in record.inputs if i.role == "input"], shapes, strict=True))
    own = {i.name: i.type.shape({}) for i in record.inputs if i.role != "input"}
    sizes = sizes_from(record, {**given, **own})
    inputs = {i.name: drawn(i, sizes, generator, dtype) for i in record.inputs}
    wanted = evaluate(record, {n: t.double() if t.is_floating_point() else t for n, t in inputs.items()})
    space: dict[str, Any] = {"scratch": scratch}
    file = f"{folder}/{name}.py"
    with open(file, "w") as opened:
        opened.write(text)  # the interpreter reads a kernel's lines from its file
    exec(compile(text, file, "exec"), space)
    names = list(space["SPACE"])
    for turn in range(max(len(CHOICES[n]) for n in names)):
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


def scratch(shape: tuple[int, ...], dtype: str = "float32", zero: bool = False) -> torch.Tensor:
    return torch.full(shape, float("nan"), dtype=getattr(torch, dtype))


if __name__ == "__main__":
    main(*sys.argv[1:])
