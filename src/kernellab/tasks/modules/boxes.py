"""Boxes in a tensor: of each axis one place, a run or all of it. Whole rows, columns, planes and windows are such boxes.

Over which axes a module reduces nobody knows here, so every form takes its turn. Few of all elements lie in them, how few
is drawn; they do not meet, so what one holds is whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

Box = tuple[slice, ...]
_SHARES = (6, 10)
"""All boxes together have a share between 1/64 and 1/1024, unless one alone has more; at most half."""
_LONGEST = 6
"""A run is 2 to 64 long; in a window as long along every axis that it runs along: the last one, two or three."""
_NEIGHBOURS = 0.25
"""How often an axis has a run beside one that is whole, where a run has many elements."""
_MOST, _MISSES = 48, 64


def boxes(where: np.random.Generator, shape: Sequence[int], rows: bool, kinds: int) -> Iterator[tuple[Box, int]]:
    """Each with the number of a kind: every form of box comes with every kind, as far as there is room. `rows`: first those
    that hold rows whole (the last axis that is longer than one), else the others."""
    size = math.prod(shape)
    room, taken, missed = size * 0.5 ** where.uniform(*_SHARES), 0, 0
    found: list[Box] = []
    for whole, kind in _options(where, shape, rows, kinds):
        box = _box(where, shape, whole)
        volume = math.prod(len(range(n)[part]) for part, n in zip(box, shape, strict=True))
        if 2 * volume > size or (taken and taken + volume > room) or any(_meet(box, other) for other in found):
            missed += 1
        else:
            taken += volume
            found.append(box)
            yield box, kind
        if len(found) == _MOST or missed == _MISSES or taken > room:
            return


def _options(
    where: np.random.Generator, shape: Sequence[int], rows: bool, kinds: int
) -> list[tuple[tuple[bool, ...], int]]:
    """Which axes are whole, and the kind: in an order that is drawn. Of those that hold no rows half are windows."""
    long = [extent > 1 for extent in shape]
    last = max((axis for axis, there in enumerate(long) if there), default=0)
    ways = [w for w in product(*((False, True) if there else (False,) for there in long)) if w != tuple(long)]
    windows = max(1, sum(any(way) and not way[last] for way in ways))
    every = [(way, kind) for way in ways for kind in range(kinds) for _ in range(1 if any(way) else windows)]
    order = [every[int(i)] for i in where.permutation(len(every))]
    return sorted(order, key=lambda option: option[0][last] != rows)


def _box(where: np.random.Generator, shape: Sequence[int], whole: tuple[bool, ...]) -> Box:
    length, across = round(2.0 ** where.uniform(1, _LONGEST)), int(where.integers(1, 4))
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    run = long if any(whole) else long[-across:]
    chance = _NEIGHBOURS if any(whole) else 1.0
    return tuple(
        _part(where, extent, length if axis in run and where.random() < chance else 1, all_)
        for axis, (extent, all_) in enumerate(zip(shape, whole, strict=True))
    )


def _part(where: np.random.Generator, extent: int, length: int, whole: bool) -> slice:
    length = min(length, extent - 1)
    first = int(where.random() * (extent - length + 1))
    return slice(0, extent) if whole or extent == 1 else slice(first, first + length)


def _meet(one: Box, other: Box) -> bool:
    return all(a.start < b.stop and b.start < a.stop for a, b in zip(one, other, strict=True))
