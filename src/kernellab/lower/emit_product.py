"""Loop form -> a product on tensor cores, in Triton.

A program has a block of rows times columns of the result, and goes over the terms of the sums in steps. Blocks are in an
order in which neighbours share rows and columns, so that those are still in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from kernellab.lower.axes import Axis
from kernellab.lower.c_text import index_text
from kernellab.lower.emit_blocks import BlockWriter
from kernellab.lower.emit_triton import TritonWriter
from kernellab.lower.inline import Store
from kernellab.lower.product import Operand, Product, operand_of
from kernellab.lower.scope import Scope
from kernellab.lower.sizes import ONE, product_of, times_text
from kernellab.lower.tensors import Tensor
from kernellab.lower.values import Value, walk

_GROUPED = """\
tiles_m = tl.cdiv({rows}, BLOCK_M)
tiles_n = tl.cdiv({columns}, BLOCK_N)
tile = tl.program_id(0) % (tiles_m * tiles_n)
group = GROUP_M * tiles_n
first_m = tile // group * GROUP_M
high = tl.minimum(tiles_m - first_m, GROUP_M)"""


class ProductWriter(BlockWriter):
    """`in_parts`: tensors that are three, one behind the other; `blocked`: a step goes along the last axis of the sums, and
    not over all of them as one."""

    def __init__(
        self, name: str, product: Product, tensors: dict[str, Tensor], short: str, in_parts: Set[str], blocked: bool
    ) -> None:
        along, across = (axes[-1:] if blocked else axes for axes in (product.along, product.across))
        groups = {"in_m": product.rows, "in_n": product.columns, "in_a": along, "in_b": across}
        super().__init__(name, product.store, tensors, short, groups)
        self._product, self._in_parts, self._blocked = product, in_parts, blocked
        self._uses.update(c for v in walk(product.two) for c in v.children())

    def _choices(self) -> tuple[str, ...]:
        return choices(self._short, bool(self._in_parts))

    def _body(self) -> str:
        top = Scope(None, self._product.store.axes)
        self._places(top)
        self._sum(top)
        self._store(self._product.store, top)
        return top.python(1)

    def _places(self, top: Scope) -> None:
        """The program's rows, columns and batch."""
        product = self._product
        terms = product_of(a.extent for a in product.along)
        self._widths(top, {*self._elements(self._in_parts), terms})
        rows, columns = (times_text(a.extent for a in axes) for axes in (product.rows, product.columns))
        for line in _GROUPED.format(rows=rows, columns=columns).splitlines():
            top.add(line)
        if product.batch:
            top.add(f"at_batch = (tl.program_id(0) // (tiles_m * tiles_n)){self._wide}")
            self._decode(top, "at_batch", product.batch)
        at_m = f"((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)){self._wide}[:, None]"
        at_n = f"(tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)){self._wide}[None, :]"
        self._spread(top, "at_m", at_m, "in_m", product.rows)
        self._spread(top, "at_n", at_n, "in_n", product.columns)
        for index, extent in product.edges:
            top.add(f"in_m = in_m & {self._inside(index, extent, top)}")

    def _sum(self, top: Scope) -> None:
        product = self._product
        top.add("total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)")
        axes = (*product.along, *product.across)
        whole, each = self._length(top)
        steps = f"first in range(0, {whole}, {each})" if each else f"step in range({whole})"
        loop = Scope(top, axes, f"for {steps}:")
        self._terms(loop)
        if not self._short:
            loop.add("fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)")
        self._dot(loop)
        if not self._short:
            loop.add("total += fresh")
        top.add(loop)
        top.name(product.whole, "total")

    def _length(self, top: Scope) -> tuple[str, str]:
        """How far the loop goes, and by how much at a time; "" is one."""
        *outer, last = (a.extent for a in self._product.along)
        if not self._blocked:
            return times_text((*outer, last)), "BLOCK_K"
        top.add(f"pieces = tl.cdiv({last.text}, BLOCK_K)")
        return f"{times_text(outer)} * pieces", ""

    def _terms(self, scope: Scope) -> None:
        """The terms of a step, as each factor has them."""
        along, across = self._product.along, self._product.across
        if not self._blocked:
            scope.add(f"at_k = (first + tl.arange(0, BLOCK_K)){self._wide}")
            self._spread(scope, "at_a", "at_k[None, :]", "in_a", along)
            self._spread(scope, "at_b", "at_k[:, None]", "in_b", across)
            return
        window = f"tl.cast(step // pieces, {'INDEX' if self._wide else 'tl.int32'})"
        scope.add(f"at_window = {window}")
        scope.add(f"at_k = (step % pieces * BLOCK_K + tl.arange(0, BLOCK_K)){self._wide}")
        self._decode(scope, "at_window", along[:-1])
        for one, two in zip(along[:-1], across[:-1], strict=True):
            scope.add(f"{two.name} = {one.name}")
        for axis, mask, spread in ((along[-1], "in_a", "[None, :]"), (across[-1], "in_b", "[:, None]")):
            scope.add(f"{axis.name} = at_k{spread}")
            scope.add(f"{mask} = {axis.name} < {along[-1].extent.text}")

    def _dot(self, scope: Scope) -> None:
        product = self._product
        if self._in_parts:
            left, right = self._read_parts(product.one, scope, "left"), self._read_parts(product.two, scope, "right")
            scope.add(f"fresh = six({left}, {right}, fresh)")
            return
        scope.add(f"left = {self._factor(product.one, scope, 'in_a')}")
        scope.add(f"right = {self._factor(product.two, scope, 'in_b')}")
        scope.add("total = tl.dot(left, right, total)" if self._short else "fresh = dot(left, right, fresh, PRECISION)")

    def _place(self, operand: Operand, scope: Scope) -> tuple[str, str]:
        """Rows of a padded copy may be read to the end of their zeros: whole vectors are then inside or outside."""
        where, mask = super()._place(operand, scope)
        tensor = self._tensors[operand.load.tensor]
        if tensor.padded:
            (index,) = operand.load.indices()
            last = [axis for axis, factor in index.terms if factor == ONE and isinstance(axis, Axis)]
            for name, axes in self._groups.items():
                if list(axes) == last:
                    mask = mask.replace(name, f"({last[0].name} < {tensor.shape[-1].text})")
        return where, mask

    def _read_parts(self, factor: Value, scope: Scope, name: str) -> str:
        operand = operand_of(factor)
        assert operand is not None
        where, mask = self._place(operand, scope)
        scope.add(f"{name} = {operand.load.tensor} + {where}")
        scope.add(f"{name}_in = {mask}")
        count = times_text(self._tensors[operand.load.tensor].shape)
        for part, more in enumerate(("", f" + {count}", f" + 2 * {count}")):
            scope.add(f"{name}{part} = tl.load({name}{more}, mask={name}_in, other=0)")
        return f"{name}0, {name}1, {name}2"


def choices(short: str, in_parts: bool) -> tuple[str, ...]:
    """What a launch chooses."""
    blocks = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M")
    return blocks if short or in_parts else (*blocks, "PRECISION")


class CopyWriter(TritonWriter):
    """A copy of a tensor in another order, as one tensor or as three of its parts, one behind the other."""

    def __init__(self, name: str, stores: Sequence[Store], tensors: dict[str, Tensor], parts: int) -> None:
        super().__init__(name, stores, tensors, "flat", None)
        self._parts = parts

    def _store(self, store: Store, scope: Scope) -> None:
        if self._parts == 1:
            super()._store(store, scope)
            return
        tensor = self._tensors[store.tensor[0]]
        scope.add(f"to = {tensor.name} + {index_text(store.index[0], lambda v: self._text(v, scope), '//')}")
        scope.add(f"high, middle, low = parts({self._text(store.value, scope)})")
        count = times_text(tensor.shape)
        for part, more in (("high", ""), ("middle", f" + {count}"), ("low", f" + 2 * {count}")):
            scope.add(f"tl.store(to{more}, {part}, mask=mask)")
