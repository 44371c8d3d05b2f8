"""Loop form -> a product on tensor cores, in Triton.

A program has a block of rows times columns of the result, and goes over the terms of the sums in steps. Blocks are in an
order in which neighbours share rows and columns, so that those are still in the cache.

Products of float32 numbers at full precision: `bf16x6` takes each number as three bfloat16 numbers and six of their nine
products, the smallest first; `tf32x3` is Triton's own; `ieee` uses no tensor core. A tensor core cuts off what its sums have
too many digits for, so every step begins a fresh sum, which is added to the whole in float32. An infinite element gives NaN
with `bf16x6`, because infinity has no parts.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from kernellab.lower.axes import Axis, Index
from kernellab.lower.c_text import factor_text, index_text
from kernellab.lower.emit_triton import TritonWriter
from kernellab.lower.inline import Store
from kernellab.lower.product import Operand, Product, operand_of
from kernellab.lower.scope import Scope
from kernellab.lower.sizes import Size, product_of, times_text
from kernellab.lower.tensors import Tensor
from kernellab.lower.values import Load, Value, walk

_MOST_INT32 = 2_147_483_647
_PARTS = '''\
@triton.jit
def parts(x):
    """Three bfloat16 numbers whose sum is x."""
    high = x.to(tl.bfloat16)
    rest = x - high.to(tl.float32)
    middle = rest.to(tl.bfloat16)
    return high, middle, (rest - middle.to(tl.float32)).to(tl.bfloat16)


'''
_SIX = '''\
@triton.jit
def six(a0, a1, a2, b0, b1, b2, total):
    """total + a times b: of the nine products of parts those that count, the smallest first."""
    total = tl.dot(a2, b0, total)
    total = tl.dot(a1, b1, total)
    total = tl.dot(a0, b2, total)
    total = tl.dot(a1, b0, total)
    total = tl.dot(a0, b1, total)
    return tl.dot(a0, b0, total)


'''
_DOT = '''\
@triton.jit
def dot(a, b, total, PRECISION: tl.constexpr):
    """total + a times b."""
    if PRECISION == "bf16x6":
        a0, a1, a2 = parts(a)
        b0, b1, b2 = parts(b)
        return six(a0, a1, a2, b0, b1, b2, total)
    elif PRECISION == "bf16" or PRECISION == "f16":
        short: tl.constexpr = tl.bfloat16 if PRECISION == "bf16" else tl.float16
        return tl.dot(a.to(short), b.to(short), total)
    else:
        return tl.dot(a, b, total, input_precision=PRECISION)


'''
_GROUPED = """\
tiles_m = tl.cdiv({rows}, BLOCK_M)
tiles_n = tl.cdiv({columns}, BLOCK_N)
tile = tl.program_id(0) % (tiles_m * tiles_n)
group = GROUP_M * tiles_n
first_m = tile // group * GROUP_M
high = tl.minimum(tiles_m - first_m, GROUP_M)"""


def dot_text(body: str) -> str:
    """The functions that a text calls."""
    dot = _DOT if " dot(" in body else ""
    six = _SIX if dot or " six(" in body else ""
    return (_PARTS if dot or " parts(" in body else "") + six + dot


class ProductWriter(TritonWriter):
    """`short`: the 16-bit type that the factors have, "" where they are float32; `in_parts`: tensors that are three, one
    behind the other; `blocked`: a step goes along the last axis of the sums alone, and not over all of them as one."""

    def __init__(
        self, name: str, product: Product, tensors: dict[str, Tensor], short: str, in_parts: Set[str], blocked: bool
    ) -> None:
        super().__init__(name, [product.store], tensors, "flat", None)
        self._product, self._short, self._in_parts, self._blocked = product, short, in_parts, blocked
        self._uses.update(c for v in walk(product.two) for c in v.children())
        along, across = (axes[-1:] if blocked else axes for axes in (product.along, product.across))
        self._groups = {"in_m": product.rows, "in_n": product.columns, "in_a": along, "in_b": across}
        self._wide = ""

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
        self._widths(top)
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

    def _spread(self, scope: Scope, name: str, text: str, mask: str, axes: Sequence[Axis]) -> None:
        """Axes from a number that counts all of them, and where that is one of theirs."""
        name = axes[0].name if len(axes) == 1 else name
        scope.add(f"{name} = {text}")
        scope.add(f"{mask} = {name} < {times_text(a.extent for a in axes)}")
        if len(axes) > 1:
            self._decode(scope, name, axes)

    def _widths(self, top: Scope) -> None:
        """Places in tensors of more elements than 32 bits can count need 64."""
        names = {v.tensor for v in walk(self._product.store.value) if isinstance(v, Load)}
        names |= {self._product.store.tensor[0]}
        sizes = {product_of(self._tensors[n].shape) * Size.of(3 if n in self._in_parts else 1) for n in names}
        sizes |= {product_of(a.extent for a in self._product.along)}
        unknown = [s for s in sizes if not Size.of(_MOST_INT32).at_least(s)]
        largest = [s for s in unknown if not any(o != s and o.at_least(s) for o in unknown)]
        if not largest:
            return
        test = " or ".join(sorted(f"{s.text} > {_MOST_INT32}" for s in largest))
        top.add(f"INDEX: tl.constexpr = tl.int64 if {test} else tl.int32")
        self._wide = ".to(INDEX)"

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

    def _masked(self, free: frozenset[Axis], extra: str = "") -> str:
        own = [mask for mask, axes in self._groups.items() if free & frozenset(axes)]
        return " & ".join(part for part in (*own, extra) if part)

    # --- factors

    def _factor(self, factor: Value, scope: Scope, mask: str) -> str:
        """A block of a factor. Terms beyond the last are zero."""
        operand = operand_of(factor)
        if operand is not None:
            return self._element(operand, scope)
        cast = f".to(tl.{self._short})" if self._short else ""
        return f"tl.where({mask}, {self._text(factor, scope)}, 0.0){cast}"

    def _element(self, operand: Operand, scope: Scope) -> str:
        where, mask = self._place(operand, scope)
        wanted = self._short or "float32"
        cast = f".to(tl.{wanted})" if self._tensors[operand.load.tensor].dtype != wanted else ""
        return f"tl.load({operand.load.tensor} + {where}, mask={mask}, other=0){cast}"

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

    def _place(self, operand: Operand, scope: Scope) -> tuple[str, str]:
        """Where an element is, and whether it is one."""
        tests = [self._inside(index, extent, scope) for index, extent in operand.bounds]
        tests += [self._text(condition, scope) for condition in operand.conditions]
        mask = self._masked(operand.load.free, " & ".join(tests))
        return index_text(operand.load.indices()[0], lambda v: self._text(v, scope), "//"), mask

    def _inside(self, index: Index, extent: Size, scope: Scope) -> str:
        name = self._fresh("at")
        scalar = "" if self._masked(frozenset(index.axes)) else " + tl.zeros([1, 1], tl.int32)"
        scope.add(f"{name} = {index_text(index, lambda v: self._text(v, scope), '//')}{scalar}")
        return f"({name} >= 0) & ({name} < {factor_text(extent, '//')})"


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
