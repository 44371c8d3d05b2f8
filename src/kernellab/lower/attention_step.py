"""Attention in one kernel as a step of a launch: its text, how it is called, what there is to choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kernellab.lower.attention import WIDEST, attention_of, counted
from kernellab.lower.axes import Axis, points
from kernellab.lower.emit_attention import AttentionWriter, OneRowWriter, choices
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Store
from kernellab.lower.names import FusionNames
from kernellab.lower.product_step import PRECISIONS, short_type
from kernellab.lower.sizes import times_text
from kernellab.lower.step_facts import Extent, step_facts
from kernellab.lower.tensors import KernelStep, Space
from kernellab.lower.values import Value

ATTENTION_WHY = """\
a program goes over the keys once and keeps, for each of its rows, the largest score, the sum of the weights
and the weighted sum; neither scores nor weights are stored."""
_LEAST = 16
"""Columns and terms that a tensor core takes at a time."""

_ONE_ROW: Space = {"KEYS": [64, 128, 32, 256, 16], "STAGES": [2, 3, 1, 4], "WARPS": [4, 8, 2, 1]}


def attention_step(
    name: str, stores: Sequence[Store], names: FusionNames, fusion: Fusion, precision: str
) -> KernelStep:
    named = attention_of(names.named(stores))
    assert named is not None
    found = attention_of(names.flat([named.store]))
    assert found is not None
    factors = [f for f in (found.query, found.key, found.values) if f is not None]
    short = short_type(factors, names, fusion)
    one = OneRowWriter(name, found, names.tensors) if not found.rows else None
    text = (one or AttentionWriter(name, found, names.tensors, short)).kernel()
    space = _space(short, precision, points(found.rows, fusion.sizes)) if found.rows else _ONE_ROW
    given = [*text.tensors, *(f"{s}={s}" for s in text.sizes)]
    widths = {"WIDTH": _next_power(found.columns), "TERMS": _next_power(found.terms)}
    given += [f"{c}={widths.get(c, c)}" for c in choices(short, found)]
    grid = times_text(a.extent for a in found.batch) if found.batch else "1"
    if found.rows:
        grid = f"{grid} * triton.cdiv({times_text(a.extent for a in found.rows)}, QUERIES)"
    wide = " or ".join(
        f"{times_text(a.extent for a in axes)} > {WIDEST}" for axes in (found.columns, found.terms) if axes
    )
    lines = (
        f"    if {wide}:",
        '        raise ValueError("rows this wide do not fit the registers of one program")',
        f"    {name}[({grid},)]({', '.join(given)}, num_warps=WARPS, num_stages=STAGES)",
    )
    extent = Extent(found.store.axes, found.keys)
    facts = step_facts(
        "attention", [found.store], names.tensors, names.sizes, tuple(space), extent, model=_counted
    )  # fmt: skip
    return KernelStep(text, lines, space, facts)


def _counted(stores: Sequence[Store], sizes: Mapping[str, int]) -> Counter[Value]:
    found = attention_of(stores)
    assert found is not None
    return counted(found, sizes)


def _space(short: str, precision: str, rows: int) -> Space:
    """Three parts of float32 numbers take three times the room: smaller blocks come first."""
    queries = [128, 64, 32, 16] if short else [64, 128, 32, 16]
    space: dict[str, Sequence[int | str]] = {
        "QUERIES": [q for q in queries if q < 2 * rows] or [_LEAST],
        "KEYS": [64, 128, 32, 16] if short else [32, 64, 16],
    }
    if not short:
        space["PRECISION"] = PRECISIONS[precision]
    return {**space, "STAGES": [2, 3, 1, 4], "WARPS": [8, 4] if short else [4, 8]}


def _next_power(axes: Sequence[Axis]) -> str:
    return f"max({_LEAST}, triton.next_power_of_2({times_text(a.extent for a in axes)}))"
