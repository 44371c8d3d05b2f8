"""How long the kernels of a fusion take at least, by what a device can move and compute in a second.

It ranks plans of one graph, and no figure is ever derived from it. Not covered: caches, rows that are read more than once,
what a compiler makes of a text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernellab.lower.attention import attention_of
from kernellab.lower.axes import points
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Store, tensor_name
from kernellab.lower.product import is_large, product_of
from kernellab.lower.rows import can_spread, rows_of
from kernellab.lower.split import can_split
from kernellab.lower.tensors import element_bytes
from kernellab.lower.values import Load, Reduce, walk
from kernellab.lower.work import Times, own, worked

_PARTS = 6
"""Products on tensor cores that stand for one of float32 numbers."""


@dataclass(frozen=True)
class Ceilings:
    """Bytes, operations, and operations on tensor cores in a second, 0 where there are none; seconds of a launch; how many
    programs it takes to keep the device busy."""

    bandwidth: float
    flops: float
    tensor_flops: float
    launch_s: float
    units: int = 1


CEILINGS = {"c": Ceilings(2e10, 5e9, 0.0, 2e-7), "triton": Ceilings(4e12, 5e13, 8e14, 2.5e-6, 132)}
"""By language: what generated kernels were seen to reach on one core of a processor, and on an H200, in round numbers."""


@dataclass(frozen=True)
class Demand:
    """What a kernel asks of a device: `bytes` of memory, each once; operations: `work`, and `dots` on tensor cores. `idle`:
    how many times as long it takes because there are too few programs."""

    bytes: int
    work: float
    dots: float = 0.0
    idle: float = 1.0

    def seconds(self, on: Ceilings) -> float:
        tensor = self.dots / on.tensor_flops if self.dots else 0.0
        return on.launch_s + self.idle * max(self.bytes / on.bandwidth, self.work / on.flops + tensor)


def seconds_of(fusion: Fusion, times: Times, on: Ceilings) -> float:
    """`times`: how often values are computed on that device."""
    return sum(demand(fusion, stores, times, on).seconds(on) for stores in fusion.kernels)


def demand(fusion: Fusion, stores: Sequence[Store], times: Times, on: Ceilings) -> Demand:
    sizes, keys = fusion.sizes, fusion.graph.keys
    counts = times(stores, sizes)
    moved: Counter[str] = Counter()
    for value, count in counts.items():
        if isinstance(value, Load):
            moved[value.tensor] += count
    whole = {tensor_name(s.tensor): math.inf for s in stores}
    widths = {name: element_bytes(fusion.stored_as(keys[name])) for name in {*moved, *whole}}
    elements = {name: math.prod(e.at(sizes) for e in fusion.graph.shape(keys[name])) for name in widths}
    read = {**moved, **whole}
    dots = _on_tensor_cores(stores, sizes) if on.tensor_flops else []
    return Demand(
        sum(int(min(read[name], elements[name])) * widths[name] for name in read),
        worked(Counter({v: n for v, n in counts.items() if v not in dots}), sizes),
        sum(2 * counts[v] * own(v, sizes) * _parts(v, widths) for v in dots),
        1.0 if dots else _idle(stores, sizes, on.units),
    )


def _idle(stores: Sequence[Store], sizes: Mapping[str, int], units: int) -> float:
    """A row is one program's, unless parts of it can be made by others."""
    rows = rows_of(stores)
    if rows is None or can_split(stores):
        return 1.0
    if can_spread(stores, rows, points(rows.along, sizes)):
        return 1.0
    return max(1.0, units / points(rows.chosen, sizes))


def _on_tensor_cores(stores: Sequence[Store], sizes: Mapping[str, int]) -> list[Reduce]:
    attention, product = attention_of(stores), product_of(stores)
    if attention is not None and attention.fits(sizes):
        return [r for r in (attention.total, attention.product) if r is not None and attention.rows]
    return [product.whole] if product is not None and is_large(product.whole, sizes) else []


def _parts(whole: Reduce, widths: Mapping[str, int]) -> int:
    return _PARTS if any(widths.get(v.tensor, 0) > 2 for v in walk(whole.body) if isinstance(v, Load)) else 1
