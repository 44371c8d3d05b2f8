"""Fused kernels as candidate files in Triton."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernellab.lower.about import about
from kernellab.lower.emit_triton import Form, TritonWriter
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Store
from kernellab.lower.names import FusionNames, safe, size_lines
from kernellab.lower.rows import Rows, rows_of
from kernellab.lower.scans import scan_of
from kernellab.lower.sizes import product_of, times_text
from kernellab.lower.split import can_split, split
from kernellab.lower.tensors import KernelText, Written, quoted, spaced
from kernellab.lower.values import Reduce, walk

Way = Form | Literal["split"]
_WHY: dict[Way, str] = {
    "flat": "a program makes a block of neighbouring elements; reads and writes are whole lines of memory.",
    "row": "a program has one row in registers, so that it is read once and written once.",
    "tile": "neighbours in memory are of different rows: a program has many rows beside each other, whole, in registers.",
    "tile_loop": "neighbours in memory are of different rows: a program goes over many of them together, piece by piece.",
    "split": "parts of each long reduction go to programs of their own, so that all of the device has work.",
    "scan": "a program goes along its row in pieces, each a scan in registers, and carries over what came before.",
    "scan_tile": "a program goes along many rows beside each other, piece by piece, and carries over what came before.",
    "row_loop": "a program goes over a long row in pieces, once for each reduction; later passes find it in the cache.",
}
_MOST = 65_536
"""Elements of a row that one program holds."""
_FLAT: list[Form] = ["flat"]
_PROGRAMS = 1_000
"""Fewer rows than this leave a large device without work."""
_SHORT = 64
"""Elements that one thread reduces by itself."""
_JOINS = {"_sum": "a + b", "_product": "a * b", "_largest": "tl.maximum(a, b)", "_smallest": "tl.minimum(a, b)"}


@dataclass(frozen=True)
class _Step:
    text: KernelText
    form: Form
    count: str
    length: str = ""
    lanes: str = ""


def triton_candidates(fusion: Fusion) -> list[Written]:
    """One for each form that suits some kernel of the fusion."""
    ways: dict[Way, None] = {form: None for stores in fusion.kernels for form in _forms(stores)}
    if any(_few(fusion, stores) for stores in FusionNames(fusion).kernels(fusion, along=True)):
        ways = {"split": None, **ways}
    return [_written(fusion, way) for way in ways]


def _few(fusion: Fusion, stores: Sequence[Store]) -> bool:
    """Whether there are too few rows to keep a device busy, and each can be split."""
    rows = math.prod(a.extent.at(fusion.sizes) for a in stores[0].axes)
    return rows < _PROGRAMS and can_split(stores)


def _forms(stores: Sequence[Store]) -> list[Form]:
    """What suits a kernel, the best first."""
    if scan := scan_of(stores):
        return ["scan_tile", "scan"] if stores[0].axes[-1] != scan.along else ["scan"]
    reductions = [v for v in walk(*(s.value for s in stores)) if isinstance(v, Reduce)]
    apart = all(set(stores[0].axes) <= v.free for v in reductions)
    rows = rows_of(stores)
    if rows is None:
        return ["flat"]
    length = product_of(a.extent for a in rows.along).number
    apart = apart and bool(stores[0].axes)
    if apart and length is not None and length <= _SHORT:
        return ["flat"]
    tiles: list[Form] = ["tile", "tile_loop"] if rows.chosen and stores[0].axes[-1] == rows.chosen[-1] else []
    return [*tiles, "row", "row_loop", *_FLAT] if apart else [*tiles, "row", "row_loop"]


def _written(fusion: Fusion, wanted: Way) -> Written:
    names = FusionNames(fusion)
    steps: list[_Step] = []
    for stores in names.kernels(fusion, along=True):
        for each in _halves(fusion, stores, names, len(steps)) if wanted == "split" else [stores]:
            suited = _forms(each)
            preferred: list[Form] = ["row_loop"] if wanted == "split" else [wanted]
            form = next((f for f in preferred if f in suited), suited[-1])
            steps.append(_step(f"step{len(steps)}", each, names, form))
    body = "\n\n\n".join(s.text.text for s in steps)
    space = _space(steps)
    heads = ["import triton", "import triton.language as tl"]
    heads += ["from triton.language.extra import libdevice"] if "libdevice." in body else []
    extra = "".join(
        f"@triton.jit\ndef {name}(a, b):\n    return {text}\n\n\n"
        for name, text in _JOINS.items()
        if re.search(rf"\b{name}\b", body)
    )
    text = "\n".join([
        f'"""{about(fusion, _WHY[wanted])}"""', "", *heads, "", f"SPACE = {spaced(space)}", "", "",
        f"{extra}{body}", "", "", _launch(fusion, names, steps, space), "",
    ])  # fmt: skip
    return Written(f"{wanted}_{safe(fusion.graph.record.name, set()).lower()}_triton", text)


def _halves(fusion: Fusion, stores: list[Store], names: FusionNames, number: int) -> list[list[Store]]:
    if not _few(fusion, stores):
        return [stores]
    first, second, between = split(stores[0], f"part{number}")
    names.add(between)
    return [[first], [second]]


def _space(steps: Sequence[_Step]) -> dict[str, list[int | str]]:
    space: dict[str, list[int | str]] = {}
    if any("PARTS" in s.text.sizes for s in steps):
        space["PARTS"] = [512, 1024, 128, 2048, 64]
    if any(s.form in ("flat", "row_loop", "scan") for s in steps):
        space["BLOCK"] = [1024, 2048, 512, 4096, 256]
    if any(s.form in ("tile", "tile_loop", "scan_tile") for s in steps):
        space["LANES"] = [32, 64, 16, 128, 256]
    if any(s.form in ("tile_loop", "scan_tile") for s in steps):
        space["PIECE"] = [16, 32, 8, 64, 4]
    return {**space, "WARPS": [4, 8, 2, 16, 1]}


def _step(name: str, stores: list[Store], names: FusionNames, form: Form) -> _Step:
    rows = _along_scan(stores) or rows_of(stores)
    text = TritonWriter(name, stores, names.tensors, form, rows).kernel()
    if form == "flat" or rows is None:
        return _Step(text, form, times_text(a.extent for a in stores[0].axes))
    length = times_text(a.extent for a in rows.along)
    if form in ("tile", "tile_loop", "scan_tile"):
        outer = times_text(a.extent for a in rows.chosen[:-1])
        return _Step(text, form, outer, length, rows.chosen[-1].extent.factor_text)
    return _Step(text, form, times_text(a.extent for a in rows.chosen), length)


def _along_scan(stores: Sequence[Store]) -> Rows | None:
    scan = scan_of(stores)
    if scan is None:
        return None
    return Rows(tuple(a for a in stores[0].axes if a != scan.along), (scan.along,), tuple(stores))


def _launch(fusion: Fusion, names: FusionNames, steps: Sequence[_Step], space: dict[str, list[int | str]]) -> str:
    params = [f"{name}={quoted(choices[0])}" for name, choices in space.items()]
    lines = [f"def launch({', '.join([*names.inputs, *names.outputs, *params])}):"]
    used = {
        s.name
        for s in fusion.graph.record.symbols
        if any(_word(s.name, f"{x.count} {x.length} {x.lanes}") for x in steps)
    }
    lines += size_lines(fusion.graph.record, names, used | {s for x in steps for s in x.text.sizes})
    for step in steps:
        lines += _call(step)
    return "\n".join(lines)


def _word(name: str, text: str) -> bool:
    return (
        name in text.replace("*", " ").replace("(", " ").replace(")", " ").replace("+", " ").replace("-", " ").split()
    )


def _call(step: _Step) -> list[str]:
    given = ", ".join([*step.text.tensors, *(f"{s}={s}" for s in step.text.sizes)])
    lines, name = [], step.text.name
    block, grid = "BLOCK", step.count
    if step.form in ("row", "tile"):
        block = f"triton.next_power_of_2({step.length})"
        lines += [
            f"    if {step.length}{' * LANES' if step.form == 'tile' else ''} > {_MOST}:",
            '        raise ValueError("rows this long do not fit the registers of one program")',
        ]
    if step.form == "flat":
        grid = f"triton.cdiv({step.count}, BLOCK)"
    if step.form in ("tile", "tile_loop", "scan_tile"):
        block = block if step.form == "tile" else "PIECE"
        grid = f"{step.count} * triton.cdiv({step.lanes}, LANES)"
        given += ", LANES=LANES"
    return [*lines, f"    {name}[({grid},)]({given}, BLOCK={block}, num_warps=WARPS)"]
