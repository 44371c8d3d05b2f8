"""Fused kernels as candidate files in Triton."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kernellab.lower.about import about, named
from kernellab.lower.attention import attention_of
from kernellab.lower.attention_step import ATTENTION_WHY, attention_step
from kernellab.lower.axes import Axis, points
from kernellab.lower.emit_blocks import dot_text
from kernellab.lower.emit_spread import MEET
from kernellab.lower.emit_triton import Form
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Store, loads_of, reductions_of
from kernellab.lower.names import FusionNames, size_lines
from kernellab.lower.product import is_large, product_of
from kernellab.lower.product_step import PRODUCT_WHY, Kind, product_kinds, product_steps
from kernellab.lower.rows import Rows, is_short, rows_of, windows_of
from kernellab.lower.scans import scan_of
from kernellab.lower.sizes import ONE
from kernellab.lower.split import can_split, split
from kernellab.lower.tensors import KernelStep, Space, Written, quoted, spaced
from kernellab.lower.triton_step import fits, plain_step
from kernellab.lower.values import Reduce, walk

Way = Form | Literal["split"]
_WHY: dict[Way, str] = {
    "grid": "a program makes a block of columns of some rows; what is the same for all rows is read once for those.",
    "flat": "a program makes a block of neighbouring elements; reads and writes are whole lines of memory.",
    "row": "a program has one row in registers, so that it is read once and written once.",
    "spread": "several programs share a row, each with a part of it in registers, so that a long one is read once too.",
    "tile": "neighbours in memory are of different rows: a program has many rows beside each other, whole, in registers.",
    "tile_loop": "neighbours in memory are of different rows: a program goes over many of them together, piece by piece.",
    "split": "parts of each long reduction go to programs of their own, so that all of the device has work.",
    "scan": "a program goes along its row in pieces, each a scan in registers, and carries over what came before.",
    "scan_tile": "a program goes along many rows beside each other, piece by piece, and carries over what came before.",
    "row_loop": "a program goes over a long row in pieces, once for each reduction that needs another's result.",
}
_FLAT: list[Form] = ["flat"]
_ELEMENTS: list[Form] = ["grid", *_FLAT]
_PROGRAMS, _TOGETHER = 1_000, 32
"""Fewer programs than this leave a large device without work; rows that one has beside each other."""
_LEAST_LONG = 512
"""Elements of a row beside others that are worth a second kernel."""
_ORDER = (
    "QUERIES", "KEYS", "PARTS", "SPLITS", "BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M", "PRECISION", "STAGES", "GROUPS",
    "BLOCK", "PROGRAMS", "LANES", "PIECE", "WARPS",
)  # fmt: skip
ONE_AND_ERF = """@triton.jit
def _one_and_erf(x):
    far = tl.abs(x)
    p = (1.7699392628856003e-05 * far - 0.0004448378167580813) * far + 0.004968198947608471
    p = ((p * far - 0.0331244133412838) * far + 0.15118151903152466) * far + 0.9180387854576111
    tail = tl.exp2(-((p * far + 1.6277785301208496) * far + 1.5370378605439328e-05))
    return tl.where(x < 0, tail, 2.0 - tail)


"""
"""Within 2e-5 of it, relatively, down to x = -5: for results of 16 bits, in fewer steps than erf."""
_JOINS = {"_sum": "a + b", "_product": "a * b", "_largest": "tl.maximum(a, b)", "_smallest": "tl.minimum(a, b)"}


@dataclass(frozen=True)
class _Plan:
    """`way`: the form of what is no product on tensor cores; `products`: how those are made, if so."""

    name: str
    way: Way
    products: Kind | None = None


def triton_candidates(fusion: Fusion, precision: str = "ieee") -> list[Written]:
    """One for each form that suits some kernel of the fusion; with products on tensor cores first."""
    names = FusionNames(fusion)
    alone = [stores for stores in fusion.kernels if not _attends(fusion, stores)]
    if not alone:
        return [_written(fusion, _Plan("attention", "flat"), precision)]
    kernels = names.kernels(replace(fusion, kernels=tuple(alone)), along=True)
    products = [p for stores in kernels if names.real == "float" and (p := product_of(stores)) is not None]
    plans = [_Plan(way, way) for way in _ways(fusion, kernels)]
    if products:
        others = _ways(fusion, [stores for stores in kernels if product_of(stores) is None]) or _FLAT
        plain = [] if any(is_large(p.whole, fusion.sizes) for p in products) else plans
        first, *more = product_kinds(fusion, precision)
        plans = [_Plan(f"{first}_{way}" if len(others) > 1 else first, way, first) for way in others]
        plans += [_Plan(kind, others[0], kind) for kind in more]
        plans += plain
    if len(alone) < len(fusion.kernels):
        plans = [replace(plan, name=f"attention_{plan.name}") for plan in plans]
    return [_written(fusion, plan, precision) for plan in plans]


def _attends(fusion: Fusion, stores: Sequence[Store]) -> bool:
    found = attention_of(stores)
    return found is not None and found.fits(fusion.sizes)


def _ways(fusion: Fusion, kernels: Sequence[Sequence[Store]]) -> Sequence[Way]:
    fitting = [[f for f in _forms(stores) if fits(stores, f, fusion.sizes)] for stores in kernels]
    ways: list[Way] = list(dict.fromkeys(form for forms in fitting for form in forms))
    if {"grid", "flat"} <= set(ways):
        ways.remove("grid")
        ways.insert(ways.index("flat"), "grid")
    return ["split", *ways] if any(_few(fusion, stores) for stores in kernels) else ways


def _few(fusion: Fusion, stores: Sequence[Store]) -> bool:
    """Whether there are too few rows to keep a device busy, and each can be split."""
    rows = rows_of(stores)
    if rows is None or is_short(rows.along) or not can_split(stores):
        return False
    beside = _are_beside(stores, rows)
    together = _TOGETHER if beside else 1
    enough = not beside or points(rows.along, fusion.sizes) >= _LEAST_LONG
    return enough and points(stores[0].axes, fusion.sizes) < _PROGRAMS * together


def _forms(stores: Sequence[Store]) -> list[Form]:
    """What suits a kernel at some sizes or others (`fits` says which), the best first."""
    if scan := scan_of(stores):
        return ["scan_tile", "scan"] if stores[0].axes[-1] != scan.along else ["scan"]
    reductions = [v for v in walk(*(s.value for s in stores)) if isinstance(v, Reduce)]
    apart = all(set(stores[0].axes) <= v.free for v in reductions)
    rows = rows_of(stores)
    if rows is None:
        return _ELEMENTS
    apart = apart and bool(stores[0].axes)
    if apart and is_short(rows.along):
        return _FLAT
    tiles: list[Form] = ["tile", "tile_loop"] if _are_beside(stores, rows) else []
    alone = apart and not windows_of(stores)  # one thread would go over all windows of a row
    return [*tiles, "spread", "row", "row_loop", *(_FLAT if alone else ())]


def _are_beside(stores: Sequence[Store], rows: Rows) -> bool:
    """Whether neighbours in memory are of different rows."""
    return bool(rows.chosen) and stores[0].axes[-1] == rows.chosen[-1] and _neighbours(stores, rows.chosen[-1])


def _neighbours(stores: Sequence[Store], lane: Axis) -> bool:
    """Whether something of what rows are made of lies side by side along this axis."""
    inside = {a for v in reductions_of(stores) for a in v.axes}
    loads = [v for v in loads_of(stores) if v.free & inside]
    return any(dict(index.terms).get(lane) == ONE for v in loads for index in v.indices()[-1:])


def _written(fusion: Fusion, plan: _Plan, precision: str) -> Written:
    names = FusionNames(fusion)
    steps: list[KernelStep] = []
    for given, stores in zip(fusion.kernels, names.kernels(fusion, along=True), strict=True):
        if _attends(fusion, given):
            steps.append(attention_step(f"step{len(steps)}", given, names, fusion, precision))
            continue
        if plan.products and product_of(stores) is not None:
            steps += product_steps(plan.products, given, names, fusion, precision, len(steps))
            continue
        halved = plan.way == "split" and _few(fusion, stores)
        for each in _halves(fusion, stores, names, len(steps)) if halved else [stores]:
            suited = [f for f in _forms(each) if fits(each, f, fusion.sizes)]
            preferred: list[Form] = [plan.way] if plan.way != "split" else ["tile_loop", "row_loop"] if halved else []
            other = suited[0] if {"grid", "split"} & {suited[0], plan.way} else suited[-1]
            form = next((f for f in preferred if f in suited), other)
            warps = "4" if plan.products else "WARPS"
            steps.append(plain_step(f"step{len(steps)}", each, names, form, fusion.sizes, warps))
    body = "\n\n\n".join(s.text.text for s in steps)
    space = _space(steps)
    heads = ["import triton", "import triton.language as tl"]
    heads += ["from triton.language.extra import libdevice"] if "libdevice." in body else []
    extra = (
        _joins(body)
        + (ONE_AND_ERF if "_one_and_erf(" in body else "")
        + (MEET if "_meet(" in body else "")
        + dot_text(body)
    )
    why = PRODUCT_WHY[plan.products] if plan.products else _WHY[plan.way]
    why = ATTENTION_WHY if plan.name.startswith("attention") else why
    text = "\n".join([
        f'"""{about(fusion, why)}"""', "", *heads, "", f"SPACE = {spaced(space)}", "", "",
        f"{extra}{body}", "", "", _launch(fusion, names, steps, space), "",
    ])  # fmt: skip
    return Written(f"{named(fusion, plan.name)}_triton", text, plan.name, tuple(step.facts for step in steps))


def _joins(body: str) -> str:
    """What scans and products of blocks join two elements by."""
    return "".join(
        f"@triton.jit\ndef {name}(a, b):\n    return {text}\n\n\n"
        for name, text in _JOINS.items()
        if re.search(rf"\b{name}\b", body)
    )


def _halves(fusion: Fusion, stores: list[Store], names: FusionNames, number: int) -> list[list[Store]]:
    halves = split(stores, f"part{number}", fusion.sizes)
    for tensor in halves.between:
        names.add(tensor)
    return [halves.made, halves.joined]


def _space(steps: Sequence[KernelStep]) -> Space:
    """What all steps choose from; where two have a choice of the same name, the first has the say."""
    space: dict[str, Sequence[int | str]] = {}
    for step in steps:
        space = {**step.space, **space}
    return {name: space[name] for name in _ORDER if name in space}


def _launch(fusion: Fusion, names: FusionNames, steps: Sequence[KernelStep], space: Space) -> str:
    params = [f"{name}={quoted(choices[0])}" for name, choices in space.items()]
    lines = [f"def launch({', '.join([*names.inputs, *names.outputs, *params])}):"]
    calls = [line for step in steps for line in step.call]
    words = set(re.findall(r"[A-Za-z_]\w*", " ".join(calls)))
    lines += size_lines(fusion.graph.record, names, {s.name for s in fusion.graph.record.symbols} & words)
    return "\n".join([*lines, *calls])
