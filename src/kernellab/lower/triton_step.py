"""A kernel as a step of a launch: its text, how it is called, what there is to choose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kernellab.lower.axes import points
from kernellab.lower.cost import CEILINGS
from kernellab.lower.emit_grid import GridWriter, columns_of, is_shared, programs_text
from kernellab.lower.emit_spread import SpreadWriter
from kernellab.lower.emit_triton import TILES, Form, TritonWriter
from kernellab.lower.inline import Store
from kernellab.lower.names import FusionNames
from kernellab.lower.rows import Rows, can_spread, rows_of
from kernellab.lower.scans import scan_of
from kernellab.lower.sizes import times_text
from kernellab.lower.step_facts import Extent, step_facts
from kernellab.lower.tensors import KernelStep
from kernellab.lower.values import Reduce, walk

_MOST = 65_536
"""Elements of a row that one program holds."""
_CHOICES: dict[str, list[int]] = {
    "PARTS": [512, 1024, 128, 2048, 64], "BLOCK": [1024, 2048, 512, 4096, 256], "LANES": [32, 64, 16, 128, 256],
    "PIECE": [16, 32, 8, 64, 4], "WARPS": [4, 8, 2, 16, 1],
}  # fmt: skip
_PARTS_OF_TILES = [32, 64, 16, 128, 8]
"""Of rows that lie beside each other there are many, or they were no split."""
_EACH, _LEAST_EACH, _MOST_EACH = 16, 4, 128
"""Elements of a row that a thread has best, at least and at most, where one program holds the row whole."""
_MOST_HELD = 64
"""Elements of a piece that a thread holds: more go to memory and back, and take a compiler minutes."""
_LONG = 16_384
_LONG_CHOICES = {"BLOCK": [1024, 4096, 2048, 8192, 16_384], "WARPS": [4, 8, 16, 1, 32]}
"""Of a loop over rows from `_LONG` elements on: large pieces, so that few rows are under way and the second look finds them
in a cache; or small programs, so that many are."""
_WASTE = 1.1
"""Of what a row has, the columns of whole blocks: more leave too many lanes idle."""
_DEEP = (8, 4, 2)
"""Pieces of a long row that are read at a time, where it has as many and a thread can hold them."""
_UNITS = CEILINGS["triton"].units
_REGISTERS, _MORE_REGISTERS, _MOST_REGISTERS = 65_536, 24, 248
"""Of a processor, those of a thread besides what it holds of a row, and all that one can have."""
_SPREAD_CHOICES = {"BLOCK": [8192, 16_384, 4096, 32_768], "WARPS": [4, 8, 16, 32],
                   "PROGRAMS": [4 * _UNITS, 2 * _UNITS, 3 * _UNITS, 6 * _UNITS, _UNITS]}  # fmt: skip
_SPREAD = "SHARES=SHARES, WIDTH=triton.next_power_of_2(SHARES), launch_cooperative_grid=True, maxnreg=REGISTERS"
_FORM_CHOICES: dict[Form, list[str]] = {
    "flat": ["BLOCK", "WARPS"], "row": ["WARPS"], "spread": ["BLOCK", "PROGRAMS", "WARPS"], "row_loop": ["BLOCK", "WARPS"],
    "tile": ["LANES", "WARPS"],
    "tile_loop": ["LANES", "PIECE", "WARPS"], "scan": ["BLOCK", "WARPS"], "scan_tile": ["LANES", "PIECE", "WARPS"],
}  # fmt: skip


def fits(stores: Sequence[Store], form: Form, sizes: Mapping[str, int]) -> bool:
    """Whether programs have registers enough for the rows that they hold, at these sizes, and rows are long enough; for one
    thread a row, short enough."""
    if form == "grid":
        return bool(columns_of(stores, sizes))
    rows = rows_of(stores)
    if form not in ("row", "tile", "spread", "flat") or rows is None:
        return True
    length = _length(rows, sizes)
    if form == "flat":
        return length < _LONG
    if form == "spread":
        return can_spread(stores, rows, length)
    return length * (min(_CHOICES["LANES"]) if form == "tile" else 1) <= _MOST


def plain_step(
    name: str, stores: list[Store], names: FusionNames, form: Form, sizes: Mapping[str, int], warps: str = "WARPS"
) -> KernelStep:
    """`sizes`: those that it will be timed at. `warps`: a number, where there are more important things to choose."""
    if form == "grid":
        return _grid_step(name, stores, names, sizes, warps)
    rows = _along_scan(stores) or rows_of(stores)
    writer = (SpreadWriter if form == "spread" else TritonWriter)(name, stores, names.tensors, form, rows)
    text = writer.kernel()
    chosen = [n for n in _FORM_CHOICES[form] if n != "WARPS" or warps == n]
    known = _choices(form, _length(rows, sizes) if rows else 0)
    space = {n: known[n] for n in [*chosen, *(["PARTS"] if "PARTS" in text.sizes else [])]}
    given = ", ".join([*text.tensors, *(f"{s}={s}" for s in text.sizes)])
    lines: list[str] = []
    if form == "flat" or rows is None:
        grid, block = f"triton.cdiv({times_text(a.extent for a in stores[0].axes)}, BLOCK)", "BLOCK"
    else:
        length = times_text(a.extent for a in rows.along)
        grid, block = times_text(a.extent for a in rows.chosen), "BLOCK"
        if form in TILES:
            outer, lanes = times_text(a.extent for a in rows.chosen[:-1]), rows.chosen[-1].extent.factor_text
            grid, block, given = f"{outer} * triton.cdiv({lanes}, LANES)", "PIECE", f"{given}, LANES=LANES"
        if form in ("row", "tile"):
            block = f"triton.next_power_of_2({length})"
            lines = [
                f"    if {length}{' * LANES' if form == 'tile' else ''} > {_MOST}:",
                '        raise ValueError("rows this long do not fit the registers of one program")',
            ]
        if form in ("spread", "row_loop") and _length(rows, sizes) >= _LONG and warps == "WARPS":
            lines = _limit_lines("BLOCK", warps)
        if writer.deep:
            most = f"min({length}, {32 * _MOST_HELD} * {warps})"
            lines.append(f"    DEEP = next((n for n in {_DEEP} if n * BLOCK <= {most}), 1)")
            given = f"{given}, DEEP=DEEP"
        if isinstance(writer, SpreadWriter):
            lines += _spread_lines(writer, grid, length)
            grid, given = f"SHARES * min({grid}, PROGRAMS // SHARES)", f"{given}, {_SPREAD}"
    lines.append(f"    {name}[({grid},)]({given}, BLOCK={block}, num_warps={warps})")
    fixed = {} if warps == "WARPS" else {"WARPS": int(warps)}
    facts = step_facts(form, stores, names.tensors, names.sizes, tuple(space), _extent(stores, form, rows), fixed=fixed)
    return KernelStep(text, tuple(lines), space, facts)


def _grid_step(name: str, stores: list[Store], names: FusionNames, sizes: Mapping[str, int], warps: str) -> KernelStep:
    columns = columns_of(stores, sizes)
    text = GridWriter(name, stores, names.tensors, columns).kernel()
    outer = [a for a in stores[0].axes if a not in columns]
    length = points(columns, sizes)
    fitting = sorted(_CHOICES["BLOCK"], key=lambda b: -(-length // b) * b > _WASTE * length)
    space = {"GROUPS": [4, 2, 8, 1] if is_shared(stores, columns) else [2, 1, 4, 8], "BLOCK": fitting}
    space |= {"WARPS": _CHOICES["WARPS"]} if warps == "WARPS" else {}
    given = ", ".join([*text.tensors, *(f"{s}={s}" for s in text.sizes), "GROUPS=GROUPS, BLOCK=BLOCK"])
    lines = [
        *_limit_lines("GROUPS * BLOCK", warps),
        f"    {name}[({programs_text(outer, columns)},)]({given}, num_warps={warps})",
    ]
    fixed = {} if warps == "WARPS" else {"WARPS": int(warps)}
    extent = _extent(stores, "flat", None)
    facts = step_facts("grid", stores, names.tensors, names.sizes, tuple(space), extent, fixed=fixed)
    return KernelStep(text, tuple(lines), space, facts)


def _limit_lines(held: str, warps: str) -> list[str]:
    """Before a launch of programs that hold so many elements."""
    return [
        f"    if {held} > {32 * _MOST_HELD} * {warps}:",
        f'        raise ValueError("a thread would hold more than {_MOST_HELD} elements")',
    ]


def _spread_lines(writer: SpreadWriter, rows: str, length: str) -> list[str]:
    """Before a launch of programs that share rows."""
    return [
        "    # so many that all programs run at a time",
        f"    REGISTERS = min({_MOST_REGISTERS}, {_REGISTERS} // (32 * WARPS * triton.cdiv(PROGRAMS, {_UNITS})) // 8 * 8)",
        f"    if REGISTERS < BLOCK // (32 * WARPS) + {_MORE_REGISTERS}:",
        '        raise ValueError("too few registers for so many programs at a time")',
        f"    SHARES = triton.cdiv({length}, BLOCK)",
        "    if SHARES > PROGRAMS:",
        '        raise ValueError("rows this long are shared by more programs than run at a time")',
        f'    board = scratch(({writer.seats} * {rows} * SHARES,), "float32")',
        f'    ready = scratch(({writer.meetings} * {rows},), "int32", zero=True)',
    ]


def _extent(stores: Sequence[Store], form: Form, rows: Rows | None) -> Extent:
    """What a program has one of, what it goes along, and what lies beside it."""
    if form == "flat" or rows is None:
        inside = {a for v in walk(*(s.value for s in stores)) if isinstance(v, Reduce) for a in v.axes}
        return Extent(stores[0].axes, sorted(inside, key=lambda a: a.name), stores[0].axes[-1:])
    beside = rows.chosen[-1:] if form in TILES else ()
    return Extent(rows.chosen, rows.along, beside)


def _length(rows: Rows, sizes: Mapping[str, int]) -> int:
    """Of a row at these sizes; 0 where it has as many parts as are yet to be chosen."""
    names = {name for a in rows.along for name in a.extent.symbols}
    return points(rows.along, sizes) if names <= set(sizes) else 0


def _choices(form: Form, length: int) -> dict[str, list[int]]:
    """`length`: of a row, where there are rows."""
    if form == "spread":
        return {**_CHOICES, **_SPREAD_CHOICES}
    if form in TILES:
        return {**_CHOICES, "PARTS": _PARTS_OF_TILES}
    if form == "row" and length:
        return {**_CHOICES, "WARPS": _warps_for(length)}
    return {**_CHOICES, **_LONG_CHOICES} if form == "row_loop" and length >= _LONG else _CHOICES


def _warps_for(length: int) -> list[int]:
    """For a row that one program holds: those that leave a thread a fair share of it come first."""
    shares = {warps: length / (32 * warps) for warps in (1, 2, 4, 8, 16, 32)}
    fair = [w for w, share in shares.items() if _LEAST_EACH <= share <= _MOST_EACH] or [1 if length < _MOST else 32]
    return sorted(fair, key=lambda w: abs(math.log2(shares[w] / _EACH)))[: len(_CHOICES["WARPS"])]


def _along_scan(stores: list[Store]) -> Rows | None:
    scan = scan_of(stores)
    if scan is None:
        return None
    return Rows(tuple(a for a in stores[0].axes if a != scan.along), (scan.along,), tuple(stores))
