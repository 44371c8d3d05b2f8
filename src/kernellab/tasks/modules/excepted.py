"""Which inputs hold exceptions under a distribution, and what those are: by its name, which is all that a record keeps.

"exceptions", "rows" and "slabs" have them in all inputs at once: a branch on two inputs meets both. "exceptions:x" has them
in x alone, and as far as x allows: who looks at all of a small input to know what a large one is like does not see them,
and an input that allows no zero keeps no other from having one. "exceptions:but x" has them in all others,
"exceptions:the large" in those that no kernel reads whole to look at them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from kernellab.graph.record import GraphInput, GraphRecord
from kernellab.tasks.modules.exceptions import WIDE, Ends, Reach

_FORBIDDEN = {"nonzero": (True, False), "unsigned": (False, True)}
_BOXES: dict[str, tuple[float, bool, bool]] = {
    "": (math.inf, True, True), "-near": (WIDE, True, True), "-within": (0.0, True, True),
    **{f"-{name}": (0.0, *allowed) for name, allowed in _FORBIDDEN.items()}, "-inside": (0.0, False, False),
}  # fmt: skip
"""How far some boxes lie, and whether there may be other signs, and zeros."""
_NOT_ALL = tuple(f"exceptions-{n}" for n in _FORBIDDEN)
SINGLES = ("exceptions", "exceptions-near", *_NOT_ALL, "exceptions-alike", "exceptions-inside")
ROWS, SLABS = (tuple(f"{form}{name}" for name in _BOXES) for form in ("rows", "slabs"))
"""How far they reach where nothing nearer has to be chosen: the first under which outputs are finite. Boxes hold nothing
that is farther out than the example every other time, and no single number is: a maximum over all does not tell them."""
REACHES: dict[str, Reach] = {
    "exceptions": Reach(math.inf), "exceptions-near": Reach(WIDE),
    **{name: Reach(math.inf, *allowed) for name, allowed in zip(_NOT_ALL, _FORBIDDEN.values(), strict=True)},
    "exceptions-alike": Reach(math.inf, False, False), "exceptions-inside": Reach(0.0, False, False),
    **{name: Reach(*allowed, "rows") for name, allowed in zip(ROWS, _BOXES.values(), strict=True)},
    **{name: Reach(*allowed, "slabs") for name, allowed in zip(SLABS, _BOXES.values(), strict=True)},
}  # fmt: skip
_ALONE, _BUT, _LARGE = ":", "but ", "the large"
_MOST_ALONE = 6
_MUCH_LARGER = 16


class Excepted:
    def __init__(self, graph: GraphRecord) -> None:
        several = [i.name for i in graph.inputs if may_except(i)]
        self._several = several if len(several) > 1 else []
        sizes = {i.name: math.prod(i.type.shape(graph.example)) for i in graph.inputs if i.name in several}
        self._large = [name for name, size in sizes.items() if _MUCH_LARGER * size >= max(sizes.values())]

    @property
    def alone(self) -> Iterator[tuple[str, ...]]:
        """For each input that has exceptions alone, its distributions: the first that can be used is. Then those of all but
        one, where there are three or more, and those of the large ones, where there are several small ones besides: those
        can be read whole. Of many inputs several are drawn together: every sixth, and where they are left out neighbours."""
        for name in self._several[:_MOST_ALONE]:
            yield tuple(f"{kind}{_ALONE}{name}" for kind in SINGLES)
        for name in self._several[:: self._beside] if len(self._several) > 2 else ():
            yield tuple(f"{kind}{_ALONE}{_BUT}{name}" for kind in SINGLES)
        if 2 <= len(self._large) <= len(self._several) - 2:
            yield tuple(f"{kind}{_ALONE}{_LARGE}" for kind in SINGLES)

    def reach(self, kind: str, entry: GraphInput) -> Reach | None:
        """None where this input has no exceptions under this distribution."""
        kind, _, name = kind.partition(_ALONE)
        if kind not in REACHES or not may_except(entry):
            return None
        if not name:
            return REACHES[kind]
        return replace(REACHES[kind], form="any") if self._meant(name, entry.name) else None

    def _meant(self, which: str, name: str) -> bool:
        if which == _LARGE:
            return name in self._large
        but = which.startswith(_BUT)
        return not self._left_out(which[len(_BUT) :], name) if but else self._with(which, name)

    @property
    def _beside(self) -> int:
        return math.ceil(len(self._several) / _MOST_ALONE) if self._several else 1

    def _with(self, first: str, name: str) -> bool:
        names = self._several
        return name in names and names.index(name) % _MOST_ALONE == names.index(first)

    def _left_out(self, first: str, name: str) -> bool:
        names, beside = self._several, self._beside
        return name not in names or names.index(name) // beside == names.index(first) // beside


def ends_of(entry: GraphInput) -> Ends:
    """Of an example that was too large to look at, what most normal numbers lie between."""
    return Ends(entry.seen.low, entry.seen.high) if entry.seen else Ends(-2.0, 2.0)


def excepts(kind: str) -> bool:
    """Whether it is like the module's own, but for exceptions."""
    return kind.partition(_ALONE)[0] in REACHES


def hides(entry: GraphInput) -> bool:
    """Whether the example held minus infinity: a mask, and no distribution but its own makes one."""
    return entry.seen is not None and entry.seen.hidden > 0


def may_except(entry: GraphInput) -> bool:
    """An input, and no mask."""
    return entry.role == "input" and not hides(entry)
