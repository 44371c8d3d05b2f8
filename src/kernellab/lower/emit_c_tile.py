"""Loop form -> C, of products of matrices: tiles of sums in registers.

What the columns of a block have is computed once for a panel of steps and waits in the cache; every few rows go over it
together, so that what is read once is used in all of them. A block at an edge is as large as any other: its last row and
column stand for those that are not there, and are not stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernellab.lower.c_text import factor_text
from kernellab.lower.emit_c import CWriter, closed
from kernellab.lower.inline import Store
from kernellab.lower.scope import Scope
from kernellab.lower.tensors import Tensor
from kernellab.lower.tiles import STEPS, Product, Tile

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
        band.add(f"long rows = {height} - first_row < BAND ? {height} - first_row : BAND;")
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
        band.add("for (long nth = 0; nth < rows + ROWS && nth < BAND; nth++)")
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
        steps = self._steps(product, pieces)
        lane = self._tile_axes.lane
        columns = Scope(steps[-1], (lane,), "for (long l = 0; l < LANES; l++)")
        columns.add(f"long {lane.name} = first + (l < lanes ? l : lanes - 1);")
        columns.add(f"panel[at][l] = {self._text(product.right, columns)};")
        steps[-1].add(columns)
        steps[-1].add("at++;")
        _close(steps, pieces)

    def _multiplied(self, product: Product, sums: str, pieces: Scope) -> None:
        row = self._tile_axes.row
        some = Scope(pieces, (), "for (long high = 0; high < rows; high += ROWS)")
        some.add("long row[ROWS];")
        some.add(
            "for (long nth = 0; nth < ROWS; nth++) row[nth] = first_row + (high + nth < rows ? high + nth : rows - 1);"
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
        rows = Scope(band, (tile.row,), "for (long nth = 0; nth < rows; nth++)")
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
