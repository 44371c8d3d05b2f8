"""Fused kernels as a candidate file in C, such as a person could have written and can edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernellab.lower.about import about, named
from kernellab.lower.c_math import POLYNOMIALS
from kernellab.lower.c_text import prelude
from kernellab.lower.emit_c import CWriter
from kernellab.lower.emit_c_send import SendWriter, can_send
from kernellab.lower.emit_c_tile import SPACE as TILES
from kernellab.lower.emit_c_tile import VECTORS, TileWriter
from kernellab.lower.facts import StepFacts
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Store, reductions_of, tensor_name
from kernellab.lower.names import FusionNames, size_lines
from kernellab.lower.scans import scan_of
from kernellab.lower.sends import Send, send_of
from kernellab.lower.step_facts import Extent, step_facts
from kernellab.lower.tensors import KernelText, Written, quoted, spaced
from kernellab.lower.tiles import Tile, tile_of
from kernellab.lower.values import Apply, Reduce, Value, walk
from kernellab.lower.work import evaluated

_FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast")
"""None that lets a compiler change the order of operations: (x - top) - log(sum) is not x - (top + log(sum))."""
_WHY = {
    "nest": "everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.",
    "row": "what a row's sum goes over is computed once, waits in the row of the result, and is read again from the cache.",
    "send": "elements that are sent somewhere are gone over once, and each is added where it goes.",
    "tile": "rows and columns of a product meet in tiles of sums that stay in registers; what columns have is packed once.",
    "lanes": "a block of the last axis goes through each reduction together: sums stay in registers, and reads are rows.",
}


@dataclass(frozen=True)
class _Step:
    """One kernel, and which of the forms it can have. `rows`: reduced over the axes of the rows themselves; `kept`: what
    waits in the row of the result."""

    stores: Sequence[Store]
    rows: Sequence[Store]
    kept: Value | None
    lanes: bool
    tile: Tile | None
    send: Send | None


def c_candidates(fusion: Fusion) -> list[Written]:
    """One for each way to run over the last axis that makes a difference to it."""
    names = FusionNames(fusion)
    steps = _steps(fusion, names)
    there = {
        "send": any(s.send for s in steps),
        "tile": any(s.tile for s in steps),
        "row": any(s.kept for s in steps),
        "nest": True,
        "lanes": any(s.lanes for s in steps),
    }
    return [_written(fusion, names, steps, form) for form, makes_sense in there.items() if makes_sense]


def _steps(fusion: Fusion, names: FusionNames) -> list[_Step]:
    kernels = zip(fusion.kernels, names.kernels(fusion), names.kernels(fusion, along=True), strict=True)
    return [
        _Step(stores, rows, _kept(rows, names), _in_lanes(plain), tile_of(stores), _sent(stores, names))
        for plain, stores, rows in kernels
    ]


def _sent(stores: Sequence[Store], names: FusionNames) -> Send | None:
    return send_of(stores) if can_send(stores, names.tensors) else None


def _in_lanes(stores: Sequence[Store]) -> bool:
    """Whether blocks of the last axis can go through the reductions together: every one depends on it."""
    if not stores[0].axes:
        return False
    if scan_of(stores):
        return len(stores[0].axes) > 1
    lane = stores[0].axes[-1]
    reductions = reductions_of(stores)
    return bool(reductions) and all(lane in v.free and not v.how.startswith("arg") for v in reductions)


def _kept(stores: Sequence[Store], names: FusionNames) -> Value | None:
    """What costs a function, is summed along the last axis, and is needed again for every element of the result."""
    if len(stores) != 1 or not stores[0].axes or names.tensors[tensor_name(stores[0].tensor)].dtype != "float32":
        return None
    last = stores[0].axes[-1]
    parts = list(walk(stores[0].value))
    for value in parts:
        if isinstance(value, Reduce) and value.how == "sum" and value.axes == (last,) and _costly(value.body):
            users = [v for v in parts if value.body in v.children() and v is not value]
            if users and not any(isinstance(v, Reduce) for v in users):
                return value.body
    return None


def _costly(value: Value) -> bool:
    return isinstance(value, Apply) and value.kind == "float" and value.function in POLYNOMIALS


def _written(fusion: Fusion, names: FusionNames, steps: Sequence[_Step], form: str) -> Written:
    kernels = [_kernel(f"step{n}" if n else "kernel", step, names, form) for n, step in enumerate(steps)]
    before = prelude([k.text for k in kernels], names.real) + (VECTORS if form == "tile" else "")
    source = before + "\n" + "\n\n".join(k.text for k in kernels)
    space = _space(source)
    flags = ", ".join(f'"{flag}"' for flag in _FLAGS)
    text = "\n".join([
        f'"""{about(fusion, _WHY[form])}"""', "", f"FLAGS = [{flags}]", f"SPACE = {spaced(space)}", "",
        f'SOURCE = r"""\n{source}\n"""', "", "", _launch(fusion, names, kernels, space), "",
    ])  # fmt: skip
    return Written(named(fusion, form), text, form, tuple(_facts(step.stores, names, form, space) for step in steps))


def _kernel(name: str, step: _Step, names: FusionNames, form: str) -> KernelText:
    if form == "send" and step.send is not None:
        return SendWriter(name, step.stores, names.tensors, step.send).kernel()
    if form == "tile" and step.tile is not None:
        return TileWriter(name, step.stores, names.tensors, step.tile).kernel()
    lanes = step.lanes and form not in ("nest", "row")
    kept = step.kept if form != "nest" and not lanes else None
    return CWriter(name, step.stores if kept is None else step.rows, names.tensors, lanes, kept).kernel()


def _facts(
    stores: Sequence[Store], names: FusionNames, form: str, space: Mapping[str, Sequence[int | str]]
) -> StepFacts:
    """Which of the steps have the form is not told apart: a candidate's choices are for all of them."""
    axes = stores[0].axes
    inside = {a for v in reductions_of(stores) for a in v.axes}
    extent = Extent(axes, sorted(inside, key=lambda a: a.name), axes[-1:])
    return step_facts(form, stores, names.tensors, names.sizes, tuple(space), extent, model=evaluated)


def _space(source: str) -> dict[str, list[int | str]]:
    space: dict[str, list[int | str]] = {}
    if "ROWS" in source:
        space |= TILES
    elif "LANES" in source:
        space["LANES"] = [16, 32, 64, 8, 128]
    if "MATH_poly" in source:
        space["MATH"] = ["poly", "libm"]
    return space


def _launch(
    fusion: Fusion, names: FusionNames, kernels: Sequence[KernelText], space: dict[str, list[int | str]]
) -> str:
    params = [f"{name}={quoted(choices[0])}" for name, choices in space.items()]
    lines = [f"def launch({', '.join([*names.inputs, *names.outputs, *params])}):"]
    lines += size_lines(fusion.graph.record, names, {s for k in kernels for s in k.sizes})
    lines += [f'    kernel("{k.name}")({", ".join([*k.tensors, *k.sizes])})' for k in kernels]
    return "\n".join(lines)
