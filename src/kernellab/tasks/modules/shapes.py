"""Shapes from the free sizes of a graph: the example's own is timed, others are held out, small odd ones are judged.

Every shape keeps torch's conditions on the sizes, leaves no value empty, and fits a limit on the elements of all values
together, as far as the fixed sizes allow.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import product

from kernellab.core.errors import TaskRefused
from kernellab.graph import extents
from kernellab.graph.record import GraphRecord, allowed
from kernellab.tasks.modules.record import ShapeGroups

ONLY = "only"
"""The one dim of a graph without free sizes. It numbers shapes that are all the same."""

_MOST_TIMED = 1 << 24
_MOST_JUDGED = 1 << 19
_EDGES, _HELD_OUT = 4, 2
_ODD = (3, 7, 17, 33, 65, 129, 257)
_MOST_TRIED = 4000

Sizes = dict[str, int]


def derive(graph: GraphRecord, most_timed: int = _MOST_TIMED) -> ShapeGroups:
    """Shapes for a device that takes `most_timed` elements in a call."""
    if not graph.symbols:
        one, two, three = ({ONLY: n} for n in (1, 2, 3))
        return ShapeGroups(tune=(one,), held_out=(two,), edge=(three,))
    timed = _reduced(graph, most_timed)
    edges = _edges(graph, timed)
    held = _held_out(graph, timed, edges)
    if not held:
        raise TaskRefused(
            f"no other shape than {timed} could be derived",
            "give shapes of your own, or make a size of the inputs free",
        )
    return ShapeGroups(tune=(timed,), held_out=tuple(held), edge=tuple(edges))


def work(graph: GraphRecord, sizes: Sizes) -> int:
    """Elements of every value of the graph together."""
    return sum(math.prod(found.shape(sizes)) for found in graph.types.values())


def valid(graph: GraphRecord, sizes: Sizes) -> bool:
    """Whether the graph holds at these sizes and no value is empty; one that always is, is of no use to anybody."""
    try:
        if not allowed(graph, sizes):
            return False
        free = {e for found in graph.types.values() for e in found.extents if isinstance(e, str)}
        return all(extents.size(extent, sizes) > 0 for extent in free)
    except ValueError:
        return False


def _reduced(graph: GraphRecord, most: int) -> Sizes:
    """The example's sizes, the largest free one halved until all values fit, or nothing can be halved."""
    sizes = dict(graph.example)
    while work(graph, sizes) > most:
        smaller = [s for s in _halved(sizes) if valid(graph, s)]
        if not smaller:
            return sizes
        sizes = min(smaller, key=lambda s: work(graph, s))
    return sizes


def _halved(sizes: Sizes) -> Iterator[Sizes]:
    for name, size in sizes.items():
        if size > 2:
            yield {**sizes, name: (size + 1) // 2}


def _edges(graph: GraphRecord, timed: Sizes) -> list[Sizes]:
    """The smallest shape that is valid, and odd ones of growing size up to a limit; the timed one where nothing else is."""
    found = [s for s in _candidates(graph, timed) if valid(graph, s)]
    if not found:
        return [timed]
    found.sort(key=lambda s: work(graph, s))
    small = [s for s in found if work(graph, s) <= _MOST_JUDGED] or found[:1]
    steps = sorted({round(i * (len(small) - 1) / max(1, _EDGES - 1)) for i in range(_EDGES)})
    return [small[i] for i in steps]


def _held_out(graph: GraphRecord, timed: Sizes, edges: Sequence[Sizes]) -> list[Sizes]:
    """Near the timed shape, but no multiple of anything: those that keep the limit first, then the largest of others.

    Which ones follows from the graph's digest: the same in every import, and nothing that can be worked out from the timed
    shape alone. What conditions on the sizes allow may be among fixed shares of it only.
    """
    drawn = list(_drawn(timed, random.Random(graph.digest)))
    near = [
        {**timed, **{n: max(2, round(timed[n] * share) + shift) for n in timed}}
        for share, shift in ((0.75, 1), (0.5, -1), (0.9, 3), (0.6, 0), (0.5, 0), (0.75, 0))
    ]
    single = [
        {**timed, n: size} for n in timed for size in (timed[n] // 2 + 1, timed[n] - 1, timed[n] // 2) if size > 1
    ]
    others = [*drawn, *near, *single, *(s for s in _candidates(graph, timed) if s not in edges), *edges]
    kept: list[Sizes] = []
    for sizes in others:
        if sizes != timed and sizes not in kept and valid(graph, sizes):
            kept.append(sizes)
        if len(kept) == _HELD_OUT:
            break
    return kept


def _drawn(timed: Sizes, dice: random.Random) -> Iterator[Sizes]:
    """Every size with a share of its own, then all with the same share: sizes may have to be equal."""
    for alone in (True, True, True, True, False, False, False, False):
        shared = dice.uniform(0.5, 0.95)
        shares = {n: dice.uniform(0.5, 0.95) if alone else shared for n in timed}
        yield {n: max(2, round(size * shares[n]) - dice.randint(0, 1) * alone) for n, size in timed.items()}


def _candidates(graph: GraphRecord, timed: Sizes) -> list[Sizes]:
    """All sizes small and odd together, then every combination with few choices a size, then one size changed."""
    lows = {s.name: max(s.low, 1) for s in graph.symbols}
    diagonal = [{n: max(low, odd + i) for i, (n, low) in enumerate(lows.items())} for odd in _ODD]
    choices = [
        sorted({lows[s.name], lows[s.name] + 1, max(lows[s.name], 17), timed[s.name]}) for s in graph.symbols
    ]  # fmt: skip
    mixed = (
        [dict(zip(lows, sizes, strict=True)) for sizes in product(*choices)]
        if math.prod(map(len, choices)) <= _MOST_TRIED
        else []
    )
    single = [
        {**timed, n: size} for n in lows for size in (lows[n], lows[n] + 1, *_ODD, timed[n] // 4, timed[n] // 2) if size
    ]
    return list({tuple(s.items()): s for s in [*diagonal, *mixed, *single] if s != timed}.values())
