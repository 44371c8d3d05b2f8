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
_SHARES = (4, 9)
"""All boxes together have a share between 1/16 and 1/512, unless one alone has more; at most half."""
_LONGEST = 7
"""A run is 2 to 128 long; in a window as long along every axis that it runs along."""
_WINDOW, _NEIGHBOURS = 0.75, 0.25
"""How often an axis has a run in a window, and beside one that is whole, where a run has many elements."""
_MOST, _WINDOWS, _TRIES = 48, 3, 3


def boxes(where: np.random.Generator, shape: Sequence[int], rows: bool, kinds: int) -> Iterator[tuple[Box, int]]:
    """Each with the number of a kind: every form of box comes with every kind, as far as there is room. `rows`: first those
    that hold rows whole (the last axis that is longer than one), else the others."""
    size = math.prod(shape)
    room, taken = size * 0.5 ** where.uniform(*_SHARES), 0
    found: list[Box] = []
    for whole, kind in _options(where, shape, rows, kinds):
        box = _apart(where, shape, whole, found)
        volume = math.prod(len(range(n)[part]) for part, n in zip(box, shape, strict=True)) if box else size
        if 2 * volume > size or (taken and taken + volume > room):
            continue
        taken += volume
        found.append(box)
        yield box, kind
        if len(found) == _MOST:
            return


def _options(
    where: np.random.Generator, shape: Sequence[int], rows: bool, kinds: int
) -> list[tuple[tuple[bool, ...], int]]:
    """Which axes are whole, and the kind: in an order that is drawn. Windows are small, and are tried several times."""
    long = [extent > 1 for extent in shape]
    last = max((axis for axis, there in enumerate(long) if there), default=0)
    ways = [w for w in product(*((False, True) if there else (False,) for there in long)) if w != tuple(long)]
    every = [(way, kind) for way in ways for kind in range(kinds) for _ in range(1 if any(way) else _WINDOWS)]
    order = [every[int(i)] for i in where.permutation(len(every))]
    return sorted(order, key=lambda option: option[0][last] != rows)


def _apart(where: np.random.Generator, shape: Sequence[int], whole: tuple[bool, ...], found: Sequence[Box]) -> Box:
    """One that meets none of the others; empty where chance finds none."""
    run = _WINDOW if not any(whole) else _NEIGHBOURS
    for _ in range(_TRIES):
        length = round(2.0 ** where.uniform(1, _LONGEST))
        box = tuple(_part(where, n, length, run, all_) for n, all_ in zip(shape, whole, strict=True))
        if not any(_meet(box, other, shape) for other in found):
            return box
    return ()


def _part(where: np.random.Generator, extent: int, length: int, run: float, whole: bool) -> slice:
    length = min(length if where.random() < run else 1, extent - 1)
    first = int(where.random() * (extent - length + 1))
    return slice(None) if whole or extent == 1 else slice(first, first + length)


def _meet(one: Box, other: Box, shape: Sequence[int]) -> bool:
    return all(
        max(a.start or 0, b.start or 0)
        < min(extent if a.stop is None else a.stop, extent if b.stop is None else b.stop)
        for a, b, extent in zip(one, other, shape, strict=True)
    )
