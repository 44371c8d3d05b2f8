"""Ways to make a product of more than one kernel: factors laid out anew first, or parts of the sums first.

`packed`: a first kernel copies a factor's tensor so that neighbours in memory are terms of one sum, and float32 numbers are
split into three bfloat16 parts, once instead of in every block. `parted`: where the result has few blocks, programs make
parts of the sums, which a second kernel adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernellab.lower.axes import Axis, Index, points
from kernellab.lower.inline import Store
from kernellab.lower.product import Product, operand_of
from kernellab.lower.rebuild import Change, Instead, Placed, rebuilt
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.tensors import Tensor
from kernellab.lower.values import Load, Value, apply, guard, load, number, reduce

SPLITS = Size.of("SPLITS")
_SPLITS = (2, 4, 8, 16, 32, 64, 128)
_ALIGNED = 64
"""Parts of sums begin at multiples of this."""
_BLOCKS, _TILE = 132, 128
"""Blocks of the result that keep a large device busy, and their side."""
_LONG = 512
"""Terms of a sum that are worth two kernels."""
_WIDE, _LINE, _WORTH_PADDING = 8, 16, 128
"""Elements of a wide load, those that a row of a copy is filled up to a multiple of, and a row that is worth it."""


@dataclass(frozen=True)
class Packed:
    """`copy` makes `tensor`, which may have its dims in another order than what it is a copy of."""

    copy: Store
    tensor: Tensor
    turned: bool


def packed(
    product: Product, tensors: Mapping[str, Tensor], sizes: Mapping[str, int]
) -> tuple[list[Packed], Store] | None:
    """The copies of both factors' tensors, and the kernel that reads those. None where a factor is more than an element."""
    factors = product.whole.body.children()
    operands = [operand_of(f) for f in factors]
    main = max(product.along, key=lambda a: (a.extent.at(sizes), -product.along.index(a)))
    found, made = [], []
    for factor, operand, letter in zip(factors, operands, "ab", strict=True):
        if operand is None or len(operand.load.indices()) != len(tensors[operand.load.tensor].shape):
            return None
        order = _order(operand.load, main, product)
        source = tensors[operand.load.tensor]
        name = f"{source.name}_{letter}"
        while name in tensors:
            name += "_"
        shape = tuple(source.shape[d] for d in order)
        ragged = _is_ragged(shape[-1], operand.load.indices()[order[-1]], sizes)
        tensor = Tensor(name, source.dtype, (*shape[:-1], _whole_lines(shape[-1])) if ragged else shape, ragged)
        found.append(Packed(_copy(source, tensor, order), tensor, order != sorted(order)))
        made.append(rebuilt(factor, _Repacked(source.name, tensor.name, order)))
    axes = (*(a for a in product.along if a != main), main)
    return found, _with(product, reduce("sum", axes, apply("mul", *made)))


def _is_ragged(extent: Size, place: Index, sizes: Mapping[str, int]) -> bool:
    """Whether rows begin where no wide load can, are long enough for some zeros at their ends to cost little, and one axis
    goes along them, all of it."""
    count = extent.at(sizes)
    whole = [a for a in place.axes if place == Index.of(a) and a.extent == extent]
    return bool(whole) and count >= _WORTH_PADDING and count % _WIDE != 0


def _whole_lines(extent: Size) -> Size:
    return Size.of(f"({extent.text} + {_LINE - 1}) // {_LINE}") * Size.of(_LINE)


def _order(element: Load, main: Axis, product: Product) -> list[int]:
    """The dims of a tensor as they should lie: as they do, unless the last one is part of a window."""
    indices = element.indices()
    dims = list(range(len(indices)))
    last = indices[-1].axes if indices else set()
    if last & {main} or not last & set(product.along):
        return dims
    chosen = [d for d in dims if indices[d].axes & set(product.along) == {main}]
    return [d for d in dims if d not in chosen] + chosen


def _copy(source: Tensor, tensor: Tensor, order: Sequence[int]) -> Store:
    axes = [Axis(f"i{n}", extent) for n, extent in enumerate(source.shape)]
    last = axes[order[-1]]
    if tensor.padded:
        axes[order[-1]] = Axis(last.name, tensor.shape[-1])
    value: Value = load(source.name, tuple(Index.of(a) for a in axes), "float")
    if tensor.padded:
        value = guard(((Index.of(axes[order[-1]]), last.extent),), value, number(0.0))
    kept = tuple(axes[d] for d in order)
    return Store((tensor.name, 0), tuple(Index.of(a) for a in kept), value, tuple(a for a in kept if a.extent != ONE))


class _Repacked(Change):
    def __init__(self, old: str, new: str, order: Sequence[int]) -> None:
        self._old, self._new, self._order = old, new, order

    def tensor(self, name: str) -> str:
        return self._new if name == self._old else name

    def places(self, tensor: str, indices: tuple[Index, ...]) -> tuple[Index, ...]:
        return tuple(indices[d] for d in self._order) if tensor == self._old else indices


def _with(product: Product, whole: Value) -> Store:
    """The kernel with another sum in place of its own."""
    return replace(product.edged, value=rebuilt(product.edged.value, Instead(product.whole, whole)))


def few(product: Product, sizes: Mapping[str, int]) -> bool:
    """Whether most of a device would stand idle, and the sums are long."""
    return _blocks(product, sizes) < _BLOCKS and points(product.along, sizes) >= _LONG


def splits(product: Product, sizes: Mapping[str, int]) -> list[int]:
    """Numbers of parts, those first that make two programs for each processor."""
    return sorted(_SPLITS, key=lambda s: abs(s * _blocks(product, sizes) - 2 * _BLOCKS))


def _blocks(product: Product, sizes: Mapping[str, int]) -> int:
    """Of the result; parts of sums aside."""
    tiles = [-(-points(axes, sizes) // _TILE) for axes in (product.rows, product.columns)]
    return points([a for a in product.batch if a.extent != SPLITS], sizes) * tiles[0] * tiles[1]


def parted(product: Product, shape: Sequence[Size], sizes: Mapping[str, int], name: str) -> tuple[Store, Store, Tensor]:
    """What makes parts of the sums, what adds them, and the tensor between. `shape` is that of the result."""
    main = max(product.along, key=lambda a: a.extent.at(sizes))
    each = _ALIGNED if len(product.along) == 1 else 1
    chunk = Size.of(f"({main.extent.text} + {each} * SPLITS - 1) // ({each} * SPLITS)") * Size.of(each)
    part, inner = Axis("part", SPLITS), Axis("inner", chunk)
    spot = Index.of(part).times(chunk) + Index.of(inner)
    factors = (rebuilt(f, Placed(main, spot)) for f in product.whole.body.children())
    factors = (guard(((spot, main.extent),), f, number(0.0)) for f in factors)
    axes = tuple(inner if a == main else a for a in product.along)
    store = product.store
    tensor = Tensor(name, "float32", (SPLITS, *shape))
    where = (Index.of(part), *store.index)
    made = Store((name, 0), where, reduce("sum", axes, apply("mul", *factors)), (part, *store.axes))
    joined = reduce("sum", (part,), load(name, where, "float"))
    return made, _with(product, joined), tensor
