"""Which inputs hold exceptions under a distribution, and how far those reach: by its name, which is all that a record keeps.

"exceptions" has them in all inputs at once, at the same places where inputs have the same size: a branch on two inputs
meets both. "exceptions:x" has them in x alone, and as far as x allows: who looks at all of a small input to know what a
large one is like does not see them, and an input that allows no zero keeps no other from having one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernellab.graph.record import GraphInput, GraphRecord

WIDE = 20.0
REACHES = {"exceptions": math.inf, "exceptions-near": WIDE, "exceptions-alike": 0.0}
"""How far they reach where nothing nearer has to be chosen: the first under which outputs are finite."""
TOGETHER = tuple(REACHES)
_ALONE = ":"
_MOST_ALONE = 6


class Excepted:
    def __init__(self, graph: GraphRecord) -> None:
        self._inputs = [i for i in graph.inputs if may_except(i)]
        several = [i.name for i in self._inputs if i.type.extents]
        self._several = several if len(several) > 1 else []

    @property
    def alone(self) -> Iterator[tuple[str, ...]]:
        """For each input that has exceptions alone, its distributions: the first that can be used is. Of many inputs
        several are drawn together, every sixth."""
        for name in self._several[:_MOST_ALONE]:
            yield tuple(f"{kind}{_ALONE}{name}" for kind in REACHES)

    def reach(self, kind: str, entry: GraphInput) -> float | None:
        """None where this input has no exceptions under this distribution."""
        kind, _, name = kind.partition(_ALONE)
        if kind not in REACHES or not may_except(entry) or (name and not self._with(name, entry.name)):
            return None
        return REACHES[kind]

    def _with(self, first: str, name: str) -> bool:
        names = self._several
        return name in names and names.index(name) % _MOST_ALONE == names.index(first)


def excepts(kind: str) -> bool:
    """Whether it is like the module's own, but for exceptions."""
    return kind.partition(_ALONE)[0] in REACHES


def hides(entry: GraphInput) -> bool:
    """Whether the example held minus infinity: a mask, and no distribution but its own makes one."""
    return entry.seen is not None and entry.seen.hidden > 0


def may_except(entry: GraphInput) -> bool:
    """An input, and no mask."""
    return entry.role == "input" and not hides(entry)
