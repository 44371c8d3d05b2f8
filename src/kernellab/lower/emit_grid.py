"""Loop form -> Triton, element by element, where a program has a block of columns of some rows.

Which row and which column an element has costs a division a program, not an element; and what is the same for all rows
(tables of positions, scales of channels) is read once for those of a program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernellab.lower.axes import Axis, points
from kernellab.lower.c_text import index_text
from kernellab.lower.emit_triton import TritonWriter
from kernellab.lower.inline import Store, loads_of, reductions_of, tensor_name
from kernellab.lower.scope import Scope
from kernellab.lower.sizes import product_of, times_text
from kernellab.lower.tensors import Tensor

_LEAST = 512
"""Elements of a row: shorter ones leave the lanes of a block idle."""


def columns_of(stores: Sequence[Store], sizes: Mapping[str, int]) -> Sequence[Axis]:
    """The fewest last axes that make a row long enough, of those that leave something in front; () where there are none, or
    where an element has loops of its own: written out for each row they would take a compiler too long."""
    axes = () if reductions_of(stores) else stores[0].axes
    known = [axes[n:] for n in range(len(axes) - 1, 0, -1)]
    return next((inner for inner in known if points(inner, sizes) >= _LEAST), ())


def is_shared(stores: Sequence[Store], columns: Sequence[Axis]) -> bool:
    """Whether something is read that differs along a row and not from row to row."""
    inner = frozenset(columns)
    return any(v.free & inner and not v.free - inner for v in loads_of(stores))


class GridWriter(TritonWriter):
    """Rows are written one after the other, and stored when all have been made: what they read is under way together."""

    def __init__(self, name: str, stores: Sequence[Store], tensors: dict[str, Tensor], columns: Sequence[Axis]) -> None:
        super().__init__(name, stores, tensors, "grid", None)
        self._outer = tuple(a for a in stores[0].axes if a not in columns)
        self._inner = tuple(columns)
        self._block = frozenset(columns)

    def _choices(self) -> tuple[str, ...]:
        return ("GROUPS", "BLOCK")

    def _body(self) -> str:
        top = Scope(None, self._inner)
        self._widths(top, {*self._elements(), product_of(a.extent for a in self._stores[0].axes)})
        columns = times_text(a.extent for a in self._inner)
        top.add(f"blocks = tl.cdiv({columns}, BLOCK)")
        top.add(f"first = tl.program_id(0){self._wide} // blocks * GROUPS")
        top.add(f"at = tl.program_id(0){self._wide} % blocks * BLOCK + tl.arange(0, BLOCK)")
        top.add(f"mask = at < {columns}")
        self._decode(top, "at", self._inner)
        making, storing = self._rows_of(top), self._rows_of(top)
        for number, store in enumerate(self._stores):
            top.add(f"made{number} = ()")
            making.add(f"made{number} = made{number} + ({self._text(store.value, making)},)")
            where = index_text(store.index[0], lambda v: self._text(v, storing), "//")
            mask = self._store_mask(store)
            storing.add(f"tl.store({tensor_name(store.tensor)} + {where}, made{number}[nth], mask={mask})")
        top.add(making)
        top.add(storing)
        return top.python(1)

    def _rows_of(self, top: Scope) -> Scope:
        loop = Scope(top, self._outer, "for nth in tl.static_range(GROUPS):")
        loop.add("row = first + nth")
        loop.add(f"there = row < {times_text(a.extent for a in self._outer)}")
        self._decode(loop, "row", self._outer)
        return loop

    def _masked(self, free: frozenset[Axis], extra: str = "") -> str:
        own = ["mask"] if free & self._block else []
        own += ["there"] if not free.isdisjoint(self._outer) else []
        return " & ".join([*own, *([extra] if extra else [])])

    def _fills(self, free: frozenset[Axis]) -> bool:
        return bool(free & self._block)


def programs_text(outer: Sequence[Axis], inner: Sequence[Axis]) -> str:
    rows, columns = (times_text(a.extent for a in axes) for axes in (outer, inner))
    return f"triton.cdiv({rows}, GROUPS) * triton.cdiv({columns}, BLOCK)"
