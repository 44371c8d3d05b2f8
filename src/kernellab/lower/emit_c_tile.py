"""Loop form -> C, of products of matrices: tiles of sums in registers.

What the columns of a block have is computed once for a panel of steps and waits in the cache; every few rows go over it
together, so that what is read once is used in all of them. A block at an edge is as large as any other: columns that are
not there are zero, the last row stands for those that are not, and neither is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from kernellab.lower.axes import Axis, Index, axes_of
from kernellab.lower.c_text import bare, factor_text, index_text
from kernellab.lower.emit_c import CWriter, closed
from kernellab.lower.inline import Store
from kernellab.lower.scope import Scope
from kernellab.lower.sizes import ONE
from kernellab.lower.tensors import Tensor
from kernellab.lower.tiles import STEPS, Product, Tile
from kernellab.lower.values import Guard, Number, Value

_BAND = 96
"""Rows that share a panel: a multiple of every choice of ROWS."""
SPACE: dict[str, list[int | str]] = {"LANES": [16, 8, 12, 32], "ROWS": [4, 6, 8, 2]}
VECTORS = f"""\
#if defined(__AVX512F__) && LANES % 16 == 0
#define WIDTH 64
#elif defined(__AVX__) && LANES % 8 == 0
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef real vec __attribute__((vector_size(WIDTH), may_alias));
enum {{ VECS = LANES * sizeof(real) / WIDTH, BAND = {_BAND}, STEPS = {STEPS} }};
#define UNROLLED _Pragma("GCC unroll 16")
"""


class TileWriter(CWriter):
    def __init__(self, name: str, stores: Sequence[Store], tensors: dict[str, Tensor], tile: Tile) -> None:
        super().__init__(name, stores, tensors, lanes=False)
        self._tile_axes = tile

    def _nest(self) -> str:
        tile = self._tile_axes
        top = Scope(None, (), f"void {self._name}(@PARAMS@)")
        outer = self._loops(top, tuple(a for a in self._axes if a not in (tile.row, tile.lane)))
        columns, height = factor_text(tile.lane.extent), factor_text(tile.row.extent)
        block = Scope(outer, (), f"for (long first = 0; first < {columns}; first += LANES)")
        band = Scope(block, (), f"for (long first_row = 0; first_row < {height}; first_row += BAND)")
        band.add(f"long lanes = {columns} - first < LANES ? {columns} - first : LANES;")
        band.add(f"long in_band = {height} - first_row < BAND ? {height} - first_row : BAND;")
        for product in tile.products:
            self._summed(product, band)
        self._stored(band)
        closed(band, top, self._parallel)
        return top.text(0)

    def _summed(self, product: Product, band: Scope) -> None:
        """All sums of a band of rows, a panel of steps after the other."""
        sums, long_axis = self._fresh("sums"), product.axes[0]
        start, end, extent = f"{long_axis.name}_0", f"{long_axis.name}_1", factor_text(long_axis.extent)
        piece = "STEPS" if product.inner == 1 else f"STEPS / {product.inner}"
        band.add(f"_Alignas(64) real {sums}[BAND][LANES];")
        band.add("for (long nth = 0; nth < in_band + ROWS && nth < BAND; nth++)")
        band.add(f"    for (long l = 0; l < LANES; l++) {sums}[nth][l] = 0;")
        pieces = Scope(band, (), f"for (long {start} = 0; {start} < {extent}; {start} += {piece})")
        pieces.add(f"long {end} = {extent} - {start} < {piece} ? {extent} : {start} + {piece};")
        pieces.add("_Alignas(64) real panel[STEPS][LANES];")
        pieces.add("long at = 0;")
        self._packed(product, pieces)
        self._multiplied(product, sums, pieces)
        band.add(pieces)
        band.name(product.whole, f"{sums}[nth][l]")

    def _steps(self, product: Product, scope: Scope) -> list[Scope]:
        """The loops over a panel's steps, the innermost last."""
        name = product.axes[0].name
        found = [Scope(scope, product.axes[:1], f"for (long {name} = {name}_0; {name} < {name}_1; {name}++)")]
        for axis in product.axes[1:]:
            found.append(Scope(found[-1], (axis,), self._loop(axis)))
        return found

    def _packed(self, product: Product, pieces: Scope) -> None:
        """Columns that are not there are zero. Of what lies in a tensor's edges only the part inside is read, in one go."""
        steps = self._steps(product, pieces)
        step, right = steps[-1], product.right
        body, fill = right, "0"
        step.add("long low = 0, limit = lanes;")
        if self._is_range(right):
            body, fill = right.body, self._text(right.other, step)
            self._narrowed(right, step)
        step.add(f"for (long l = 0; l < LANES; l++) panel[at][l] = {fill};")
        columns = Scope(step, (self._tile_axes.lane,), "for (long l = low; l < limit; l++)", branch=body is not right)
        columns.add(f"long {self._tile_axes.lane.name} = first + l;")
        columns.add(f"panel[at][l] = {bare(self._text(body, columns))};")
        step.add(columns)
        step.add("at++;")
        _close(steps, pieces)

    def _is_range(self, value: Value) -> TypeGuard[Guard]:
        """Whether the columns of which it has something are neighbours, and the others are all the same."""
        if not isinstance(value, Guard) or not isinstance(value.other, Number):
            return False
        factors = [dict(i.terms).get(self._tile_axes.lane, ONE) for i, _ in value.bounds]
        inner = [t for i, _ in value.bounds for t, _ in i.terms if not isinstance(t, Axis)]
        return all(f == ONE for f in factors) and not any(self._tile_axes.lane in axes_of(t) for t in inner)

    def _narrowed(self, value: Guard, step: Scope) -> None:
        lane = self._tile_axes.lane
        for index, extent in value.bounds:
            terms = tuple((Axis("first", t.extent) if t == lane else t, f) for t, f in index.terms)
            place = self._simple_place(Index(terms, index.offset), step)
            if lane in index.axes:
                step.add(f"if (low < -{place}) low = -{place};")
                step.add(f"if (limit > {factor_text(extent)} - {place}) limit = {factor_text(extent)} - {place};")
            else:
                step.add(f"if ((unsigned long){place} >= (unsigned long){factor_text(extent)}) limit = 0;")

    def _simple_place(self, index: Index, step: Scope) -> str:
        name = self._fresh("v")
        step.add(f"long {name} = {index_text(index, lambda v: self._text(v, step))};")
        return name

    def _multiplied(self, product: Product, sums: str, pieces: Scope) -> None:
        row = self._tile_axes.row
        some = Scope(pieces, (), "for (long high = 0; high < in_band; high += ROWS)")
        some.add("long row[ROWS];")
        some.add(
            "for (long nth = 0; nth < ROWS; nth++) row[nth] = first_row + (high + nth < in_band ? high + nth : in_band - 1);"
        )
        some.add("vec acc[ROWS][VECS];")
        some.add(_each("acc[nth][part] = (vec){0};"))
        some.add("at = 0;")
        steps = self._steps(product, some)
        rows = Scope(steps[-1], (row,), "UNROLLED for (long nth = 0; nth < ROWS; nth++)")
        rows.add(f"long {row.name} = row[nth];")
        left = self._simple(product.left, self._text(product.left, rows), rows)
        rows.add(
            f"UNROLLED for (long part = 0; part < VECS; part++) acc[nth][part] += {left} * ((const vec *)panel[at])[part];"
        )
        steps[-1].add(rows)
        steps[-1].add("at++;")
        _close(steps, some)
        some.add(_each(f"((vec *){sums}[high + nth])[part] += acc[nth][part];"))
        pieces.add(some)

    def _stored(self, band: Scope) -> None:
        tile = self._tile_axes
        rows = Scope(band, (tile.row,), "for (long nth = 0; nth < in_band; nth++)")
        rows.add(f"long {tile.row.name} = first_row + nth;")
        columns = Scope(rows, (tile.lane,), "for (long l = 0; l < lanes; l++)")
        columns.add(f"long {tile.lane.name} = first + l;")
        for store in self._stores:
            self._store(store, columns)
        rows.add(columns)
        band.add(rows)


def _each(text: str) -> str:
    return f"UNROLLED for (long nth = 0; nth < ROWS; nth++) UNROLLED for (long part = 0; part < VECS; part++) {text}"


def _close(steps: list[Scope], into: Scope) -> None:
    for inner, outer in zip(reversed(steps), [*reversed(steps[:-1]), into], strict=True):
        outer.add(inner)
