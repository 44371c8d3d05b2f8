"""Fused kernels as candidate files in Triton."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernellab.lower.about import about
from kernellab.lower.emit_product import DOT
from kernellab.lower.emit_triton import Form, TritonWriter
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Store
from kernellab.lower.names import FusionNames, safe, size_lines
from kernellab.lower.product import is_large, product_of
from kernellab.lower.product_step import product_step
from kernellab.lower.rows import rows_of
from kernellab.lower.sizes import product_of as whole_of
from kernellab.lower.sizes import times_text
from kernellab.lower.split import can_split, split
from kernellab.lower.tensors import KernelStep, Space, Written, quoted, spaced
from kernellab.lower.values import Reduce, walk

Way = Form | Literal["split"]
_TENSOR_CORES = (
    "tensor cores make blocks of the products; what comes behind a product is done before it is stored.\n"
    "Float32 factors keep their precision: three bfloat16 parts each, or three tf32 products."
)
_WHY: dict[Way, str] = {
    "flat": "a program makes a block of neighbouring elements; reads and writes are whole lines of memory.",
    "row": "a program has one row in registers, so that it is read once and written once.",
    "tile": "neighbours in memory are of different rows: a program has many rows beside each other, whole, in registers.",
    "tile_loop": "neighbours in memory are of different rows: a program goes over many of them together, piece by piece.",
    "split": "parts of each long reduction go to programs of their own, so that all of the device has work.",
    "row_loop": "a program goes over a long row in pieces, once for each reduction; later passes find it in the cache.",
}
_MOST = 65_536
"""Elements of a row that one program holds."""
_FLAT: list[Form] = ["flat"]
_PROGRAMS = 1_000
"""Fewer rows than this leave a large device without work."""
_ORDER = [
    "PARTS",
    "BLOCK_M",
    "BLOCK_N",
    "BLOCK_K",
    "GROUP_M",
    "PRECISION",
    "PROMOTE",
    "STAGES",
    "BLOCK",
    "LANES",
    "PIECE",
    "WARPS",
]
_CHOICES: dict[str, list[int]] = {
    "PARTS": [512, 1024, 128, 2048, 64], "BLOCK": [1024, 2048, 512, 4096, 256], "LANES": [32, 64, 16, 128, 256],
    "PIECE": [16, 32, 8, 64, 4], "WARPS": [4, 8, 2, 16, 1],
}  # fmt: skip
_FORM_CHOICES: dict[Form, list[str]] = {
    "flat": ["BLOCK", "WARPS"], "row": ["WARPS"], "row_loop": ["BLOCK", "WARPS"], "tile": ["LANES", "WARPS"],
    "tile_loop": ["LANES", "PIECE", "WARPS"],
}  # fmt: skip
_SHORT = 64
"""Elements that one thread reduces by itself."""
_PRODUCT = """\
@triton.jit
def _product(a, b):
    return a * b


"""


@dataclass(frozen=True)
class _Plan:
    """`way`: the form of what is no product on tensor cores; `products`: whether there are such products."""

    name: str
    way: Way
    products: bool = False


def triton_candidates(fusion: Fusion, precision: str = "ieee") -> list[Written]:
    """One for each form that suits some kernel of the fusion; with products on tensor cores first."""
    kernels = FusionNames(fusion).kernels(fusion, along=True)
    products = [product_of(stores) for stores in kernels]
    plans = [_Plan(way, way) for way in _ways(fusion, kernels)]
    if any(products):
        others = _ways(fusion, [k for k, product in zip(kernels, products, strict=True) if product is None]) or _FLAT
        plain = plans[-1:] if any(p and is_large(p.whole, fusion.sizes) for p in products) else plans
        plans = [_Plan(f"product_{way}" if len(others) > 1 else "product", way, products=True) for way in others]
        plans += plain
    return [_written(fusion, plan, precision) for plan in plans]


def _ways(fusion: Fusion, kernels: Sequence[Sequence[Store]]) -> Sequence[Way]:
    ways: list[Way] = list(dict.fromkeys(form for stores in kernels for form in _forms(stores)))
    return ["split", *ways] if any(_few(fusion, stores) for stores in kernels) else ways


def _few(fusion: Fusion, stores: Sequence[Store]) -> bool:
    """Whether there are too few rows to keep a device busy, and each can be split."""
    rows = math.prod(a.extent.at(fusion.sizes) for a in stores[0].axes)
    return rows < _PROGRAMS and can_split(stores)


def _forms(stores: Sequence[Store]) -> list[Form]:
    """What suits a kernel, the best first."""
    reductions = [v for v in walk(*(s.value for s in stores)) if isinstance(v, Reduce)]
    apart = all(set(stores[0].axes) <= v.free for v in reductions)
    rows = rows_of(stores)
    if rows is None:
        return ["flat"]
    length = whole_of(a.extent for a in rows.along).number
    apart = apart and bool(stores[0].axes)
    if apart and length is not None and length <= _SHORT:
        return ["flat"]
    tiles: list[Form] = ["tile", "tile_loop"] if rows.chosen and stores[0].axes[-1] == rows.chosen[-1] else []
    return [*tiles, "row", "row_loop", *_FLAT] if apart else [*tiles, "row", "row_loop"]


def _written(fusion: Fusion, plan: _Plan, precision: str) -> Written:
    names = FusionNames(fusion)
    steps: list[KernelStep] = []
    for stores in names.kernels(fusion, along=True):
        product = product_of(stores) if plan.products else None
        if product is not None:
            steps.append(product_step(f"step{len(steps)}", product, names, fusion, precision))
            continue
        for each in _halves(fusion, stores, names, len(steps)) if plan.way == "split" else [stores]:
            suited = _forms(each)
            preferred: list[Form] = ["row_loop"] if plan.way == "split" else [plan.way]
            form = next((f for f in preferred if f in suited), suited[-1])
            steps.append(_step(f"step{len(steps)}", each, names, form, "4" if plan.products else "WARPS"))
    body = "\n\n\n".join(s.text.text for s in steps)
    space = _space(steps)
    heads = ["import triton", "import triton.language as tl"]
    heads += ["from triton.language.extra import libdevice"] if "libdevice." in body else []
    extra = (_PRODUCT if "_product" in body else "") + (DOT if " dot(" in body else "")
    why = _TENSOR_CORES if plan.products else _WHY[plan.way]
    text = "\n".join([
        f'"""{about(fusion, why)}"""', "", *heads, "", f"SPACE = {spaced(space)}", "", "",
        f"{extra}{body}", "", "", _launch(fusion, names, steps, space), "",
    ])  # fmt: skip
    return Written(f"{plan.name}_{safe(fusion.graph.record.name, set()).lower()}_triton", text)


def _halves(fusion: Fusion, stores: list[Store], names: FusionNames, number: int) -> list[list[Store]]:
    if not _few(fusion, stores):
        return [stores]
    first, second, between = split(stores[0], f"part{number}")
    names.add(between)
    return [[first], [second]]


def _space(steps: Sequence[KernelStep]) -> Space:
    """What all steps choose from; where two have a choice of the same name, the first has the say."""
    space: dict[str, Sequence[int | str]] = {}
    for step in steps:
        space = {**step.space, **space}
    return {name: space[name] for name in _ORDER if name in space}


def _step(name: str, stores: list[Store], names: FusionNames, form: Form, warps: str) -> KernelStep:
    rows = rows_of(stores)
    text = TritonWriter(name, stores, names.tensors, form, rows).kernel()
    chosen = [n for n in _FORM_CHOICES[form] if n != "WARPS" or warps == n]
    space = {n: _CHOICES[n] for n in chosen} | ({"PARTS": _CHOICES["PARTS"]} if "PARTS" in text.sizes else {})
    given = ", ".join([*text.tensors, *(f"{s}={s}" for s in text.sizes)])
    lines: list[str] = []
    if form == "flat" or rows is None:
        grid, block = f"triton.cdiv({times_text(a.extent for a in stores[0].axes)}, BLOCK)", "BLOCK"
    else:
        length = times_text(a.extent for a in rows.along)
        grid, block = times_text(a.extent for a in rows.chosen), "BLOCK"
        if form in ("tile", "tile_loop"):
            outer, lanes = times_text(a.extent for a in rows.chosen[:-1]), rows.chosen[-1].extent.factor_text
            grid, block, given = f"{outer} * triton.cdiv({lanes}, LANES)", "PIECE", f"{given}, LANES=LANES"
        if form in ("row", "tile"):
            block = f"triton.next_power_of_2({length})"
            lines = [
                f"    if {length}{' * LANES' if form == 'tile' else ''} > {_MOST}:",
                '        raise ValueError("rows this long do not fit the registers of one program")',
            ]
    lines.append(f"    {name}[({grid},)]({given}, BLOCK={block}, num_warps={warps})")
    return KernelStep(text, tuple(lines), space)


def _launch(fusion: Fusion, names: FusionNames, steps: Sequence[KernelStep], space: Space) -> str:
    params = [f"{name}={quoted(choices[0])}" for name, choices in space.items()]
    lines = [f"def launch({', '.join([*names.inputs, *names.outputs, *params])}):"]
    calls = [line for step in steps for line in step.call]
    words = set(re.findall(r"[A-Za-z_]\w*", " ".join(calls)))
    lines += size_lines(fusion.graph.record, names, {s.name for s in fusion.graph.record.symbols} & words)
    return "\n".join([*lines, *calls])
