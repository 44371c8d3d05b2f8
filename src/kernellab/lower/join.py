"""Kernels of one shape that read the same become one: what they read comes from memory once, and a launch is saved.

A step of an optimiser has three results of the same numbers; a sum that is a result is also what a norm begins with. Each
of them is stored as before; what one of them is for another, that one takes from registers.
Not here: products, attention and scans, which have kernels of their own kind; tensors of different shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernellab.lower.attention import attention_of
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Inliner, Key, Store, reductions_of
from kernellab.lower.product import product_of
from kernellab.lower.rows import rows_of, windows_of
from kernellab.lower.scans import scan_of
from kernellab.lower.site import NotLowered
from kernellab.lower.values import Load, Value, walk

Kernel = tuple[Store, ...]
Seconds = Callable[[Kernel], float]
"""Of one kernel, by estimate."""
_MOST_STORES = 6
_MOST_VALUES = 400
"""Of a kernel that is made of several: one program holds them all."""


def joined(fusion: Fusion, seconds: Seconds) -> Fusion:
    """The same tensors by fewer kernels, in order, where the estimate says that this is faster."""
    found: list[Kernel] = []
    for kernel in fusion.kernels:
        for place in reversed(range(len(found))):
            into = _place(fusion, found, place, kernel)
            if into is None:
                continue
            both = _both(fusion, found[place], kernel)
            if both is not None and seconds(both) < seconds(found[place]) + seconds(kernel):
                del found[place]
                found.insert(into, both)
                break
        else:
            found.append(kernel)
    return replace(fusion, kernels=tuple(found))


def _place(fusion: Fusion, before: list[Kernel], place: int, kernel: Kernel) -> int | None:
    """Where the two can be one: where the first was, or behind all, by who reads what. None where neither will do."""
    between = before[place + 1 :]
    if not _made(*between) & _read(fusion, kernel):
        return place
    waited_for = any(_made(before[place]) & _read(fusion, other) for other in between)
    return None if waited_for else len(before) - 1


def _both(fusion: Fusion, first: Kernel, kernel: Kernel) -> Kernel | None:
    """What two kernels make, by one; None where they cannot be one."""
    graph = fusion.graph
    if len(first) >= _MOST_STORES or graph.shape(first[0].tensor) != graph.shape(kernel[0].tensor):
        return None
    if not (_plain(first) and _plain(kernel)) or _made_for(fusion, first, kernel):
        return None
    keys = [s.tensor for s in (*first, *kernel)]
    stored = _made(*fusion.kernels)
    try:
        both = tuple(Inliner(graph, stored - frozenset(keys)).stores(keys))
    except NotLowered:
        return None
    return both if _alike(both) and len(_values(both)) <= _MOST_VALUES else None


def _made_for(fusion: Fusion, first: Kernel, kernel: Kernel) -> bool:
    """Whether something is stored for this kernel alone: not to store it is another plan."""
    read_by_others = (key for k in fusion.kernels if k is not kernel for key in _read(fusion, k))
    needed = {*fusion.graph.outputs, *read_by_others}
    return bool(_made(first) & _read(fusion, kernel) - needed)


def _plain(kernel: Kernel) -> bool:
    return product_of(kernel) is None and attention_of(kernel) is None and scan_of(kernel) is None


def _alike(both: Kernel) -> bool:
    """Whether all that they reduce runs along the same rows, and nothing else is reduced."""
    if not _plain(both):
        return False
    return not reductions_of(both) or (rows_of(both) is not None and not windows_of(both))


def _made(*kernels: Kernel) -> frozenset[Key]:
    return frozenset(s.tensor for kernel in kernels for s in kernel)


def _read(fusion: Fusion, kernel: Kernel) -> frozenset[Key]:
    return frozenset(fusion.graph.keys[v.tensor] for v in _values(kernel) if isinstance(v, Load))


def _values(kernel: Kernel) -> list[Value]:
    return list(walk(*(s.value for s in kernel)))
