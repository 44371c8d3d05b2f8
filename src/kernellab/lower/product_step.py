"""A product on tensor cores as steps of a launch: their texts, how they are called, what there is to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Literal

from kernellab.lower.axes import Axis, points
from kernellab.lower.emit_product import CopyWriter, ProductWriter, choices
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Store
from kernellab.lower.kept import SHORT
from kernellab.lower.names import FusionNames
from kernellab.lower.phases import phased
from kernellab.lower.product import Product, operand_of, product_of
from kernellab.lower.product_plan import Packed, few, packed, parted, splits
from kernellab.lower.sizes import Size, times_text
from kernellab.lower.step_facts import Extent, step_facts
from kernellab.lower.tensors import KernelStep, Space, Tensor
from kernellab.lower.triton_step import plain_step
from kernellab.lower.values import Value

Kind = Literal["product", "packed", "parted"]
_TENSOR_CORES = "tensor cores make blocks of the products; what comes behind a product is done before it is stored."
PRODUCT_WHY: dict[Kind, str] = {
    "product": _TENSOR_CORES,
    "packed": f"{_TENSOR_CORES}\nFactors are laid out for them first, and float32 numbers split into three bfloat16 parts.",
    "parted": f"{_TENSOR_CORES}\nParts of each long sum go to programs of their own, so that all of the device has work.",
}
_SIDES = [128, 64, 256, 32, 16]
_NARROW = 64
PRECISIONS = {
    "ieee": ["bf16x6", "tf32x3", "ieee"], "tf32": ["tf32", "bf16x6"], "bf16": ["bf16", "tf32"], "f16": ["f16", "tf32"],
}  # fmt: skip
"""By the contract: what the factors may lose, the fastest first."""
_LARGE = 1 << 30
"""Multiplications that are worth a copy of the factors."""
_MOST_BYTES = 12 << 30
"""Of copies: a launch has no more scratch than a little above that."""
_BLOCKED = 32
"""Terms along one axis that are a step of their own."""


def product_kinds(fusion: Fusion, precision: str) -> list[Kind]:
    """The ways that suit some product of the fusion, the most promising first."""
    names = FusionNames(fusion)
    kernels = [names.named(stores) for stores in fusion.kernels]
    products = [phased(p) or p for stores in kernels if (p := product_of(stores)) is not None]
    kinds: list[Kind] = ["product"]
    worth = [p for p in products if _packed(p, names, fusion, precision) is not None]
    if worth:
        work = max(points((*p.store.axes, *p.along), fusion.sizes) for p in worth)
        kinds = ["packed", *kinds] if work >= _LARGE else [*kinds, "packed"]
    return ["parted", *kinds] if any(few(p, fusion.sizes) for p in products) else kinds


def product_steps(
    kind: Kind, stores: Sequence[Store], names: FusionNames, fusion: Fusion, precision: str, number: int
) -> list[KernelStep]:
    """`number`: of the first step. A product that the way does not suit is one kernel."""
    named = names.named(stores)
    product = product_of(named)
    assert product is not None
    work = _Work(names, fusion, precision, _short(product, names, fusion))
    if kind == "parted" and few(product, fusion.sizes):
        shape = names.tensors[product.store.tensor[0]].shape
        first, second, between = parted(product, shape, fusion.sizes, f"part{number}")
        names.add(between)
        step = work.step(f"step{number}", first)
        return [step, plain_step(f"step{number + 1}", names.flat([second]), names, "flat", fusion.sizes, "4")]
    product = phased(product) or product
    found = _packed(product, names, fusion, precision) if kind == "packed" else None
    if found is not None:
        return work.packed(*found, number, bool(product.edges))
    return [work.step(f"step{number}", product.edged, edged=bool(product.edges))]


def _packed(product: Product, names: FusionNames, fusion: Fusion, precision: str) -> tuple[list[Packed], Store] | None:
    """Copies of the factors, where something is gained: another order of dims, or parts of float32 numbers."""
    found = packed(product, names.tensors, fusion.sizes)
    if found is None or sum(6 * points(p.copy.axes, fusion.sizes) for p in found[0]) > _MOST_BYTES:
        return None
    if _parts(precision, _short(product, names, fusion)) > 1:
        return found
    return found if any(p.turned for p in found[0]) else None


def _parts(precision: str, short: str) -> int:
    return 3 if precision == "ieee" and not short else 1


class _Work:
    """What the kernels of one product have in common."""

    def __init__(self, names: FusionNames, fusion: Fusion, precision: str, short: str) -> None:
        self._names, self._sizes, self._precision, self._short = names, fusion.sizes, precision, short

    def packed(self, copies: list[Packed], store: Store, number: int, edged: bool) -> list[KernelStep]:
        """Copies keep their dims until every place in them is known; then they have so many parts as well."""
        for each in copies:
            self._names.tensors[each.tensor.name] = each.tensor
        parts = _parts(self._precision, self._short)
        steps = [self._copy(f"step{number + n}", each, parts) for n, each in enumerate(copies)]
        in_parts = {c.tensor.name for c in copies} if parts > 1 else frozenset[str]()
        steps.append(self.step(f"step{number + len(copies)}", store, in_parts, edged))
        for each in copies:
            shape = (Size.of(parts), *each.tensor.shape) if parts > 1 else each.tensor.shape
            self._names.add(Tensor(each.tensor.name, "bfloat16" if parts > 1 else each.tensor.dtype, shape))
        return steps

    def _copy(self, name: str, each: Packed, parts: int) -> KernelStep:
        stores = self._names.flat([each.copy])
        text = CopyWriter(name, stores, self._names.tensors, parts).kernel()
        given = ", ".join([*text.tensors, *(f"{s}={s}" for s in text.sizes)])
        count = times_text(a.extent for a in stores[0].axes)
        call = f"    {name}[(triton.cdiv({count}, 1024),)]({given}, BLOCK=1024, num_warps=4)"
        fixed = {"BLOCK": 1024, "WARPS": 4}
        extent = Extent(stores[0].axes, (), stores[0].axes[-1:])
        facts = step_facts("copy", stores, self._names.tensors, self._sizes, (), extent, fixed=fixed)
        return KernelStep(text, (call,), {}, facts)

    def step(self, name: str, store: Store, in_parts: Set[str] = frozenset(), edged: bool = False) -> KernelStep:
        product = product_of(self._names.flat([store]), edged)
        assert product is not None
        blocked = self._blocked(product)
        writer = ProductWriter(name, product, self._names.tensors, self._short, in_parts, blocked)
        text = writer.kernel()
        blocks = [(product.rows, "BLOCK_M"), (product.columns, "BLOCK_N")]
        grid = " * ".join([
            *([times_text(a.extent for a in product.batch)] if product.batch else []),
            *(f"triton.cdiv({times_text(a.extent for a in axes)}, {block})" for axes, block in blocks),
        ])  # fmt: skip
        chosen = choices(self._short, bool(in_parts))
        given = [*text.tensors, *(f"{s}={s}" for s in (*text.sizes, *chosen))]
        call = f"    {name}[({grid},)]({', '.join(given)}, num_warps=WARPS, num_stages=STAGES)"
        space = self._space(product, (*chosen, *text.sizes), bool(in_parts))
        extent = Extent(product.store.axes, product.along)
        form = "product_in_parts" if in_parts else "product"
        facts = step_facts(form, [product.store], self._names.tensors, self._sizes, tuple(space), extent, product)
        return KernelStep(text, (call,), space, facts)

    def _blocked(self, product: Product) -> bool:
        """Whether the last axis of the sums is long enough for steps of its own."""
        one, two = product.along[-1], product.across[-1]
        long = one.extent.at({**self._sizes, "SPLITS": splits(product, self._sizes)[0]}) >= _BLOCKED
        return len(product.along) > 1 and long and one in product.one.free and two in product.two.free

    def _space(self, product: Product, chosen: Sequence[str], in_parts: bool) -> Space:
        """Three parts of each factor take three times the room: with small blocks two programs share a processor, and one
        has terms to multiply while the other waits for its own."""
        rows, columns = (_sides(axes, self._sizes) for axes in (product.rows, product.columns))
        small = max(rows[0], columns[0]) < _SIDES[0]
        if in_parts:
            rows = sorted(rows, key=lambda side: (side != _NARROW, rows.index(side)))
        steps = [64, 32, 128] if self._short else [32] if in_parts else [32, 64, 16]
        space: dict[str, Sequence[int | str]] = {
            "BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": steps, "GROUP_M": [16, 4, 8, 1] if in_parts else [8, 16, 4, 1],
            "PRECISION": PRECISIONS[self._precision], "SPLITS": splits(product, self._sizes),
        }  # fmt: skip
        space = {name: space[name] for name in space if name in chosen}
        return {**space, "STAGES": [3, 2, 4], "WARPS": [4, 8] if small or in_parts else [8, 4]}


def _short(product: Product, names: FusionNames, fusion: Fusion) -> str:
    return short_type((product.one, product.two), names, fusion)


def short_type(factors: Sequence[Value], names: FusionNames, fusion: Fusion) -> str:
    """The 16-bit type of all factors: of all floats in the graph, of the tensors that are multiplied as they are, or of all
    that the graph multiplies."""
    floats: set[str] = {t.dtype for t in fusion.graph.types.values() if t.is_float}
    if len(floats) > 1:
        operands = [operand_of(f) for f in factors]
        floats = {names.tensors[o.load.tensor].dtype if o is not None else fusion.graph.kept.factors for o in operands}
    (dtype, *more) = sorted(floats)
    return dtype if dtype in SHORT and not more else ""


def _sides(axes: Sequence[Axis], sizes: Mapping[str, int]) -> list[int]:
    """Sides of a block; no longer than there are rows or columns, if that can be."""
    count = points(axes, sizes)
    return [s for s in _SIDES if s < 2 * count] or [_SIDES[-1]]
