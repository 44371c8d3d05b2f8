"""Which blocks of lanes lie inside of everything, so that nothing in them asks where the edges are.

A test in the innermost loop keeps a compiler from using vectors. Most blocks need none: whether the first and the last lane
pass, at either end of every loop inside, is asked once for the block.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernellab.lower.axes import Axis, Index
from kernellab.lower.c_text import factor_text, index_text
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.values import Value


class Edges:
    """`lane` is the axis that goes in blocks, if one does; `around` are the axes whose loops are around a block."""

    def __init__(self, lane: Axis | None, around: Sequence[Axis]) -> None:
        self._lane, self._around = lane, frozenset(around)
        self._conditions: dict[str, None] = {}

    def test(self, index: Index, extent: Size, plain: str) -> str:
        """What to ask of an element; it is not asked of those inside."""
        ends = self._ends(index)
        if ends is None:
            return plain
        self._conditions |= dict.fromkeys([f"{ends[0]} >= 0", f"{ends[1]} < {factor_text(extent)}"])
        return f"(inside || {plain})"

    def condition(self) -> str:
        """True of a full block that lies inside; nothing where nothing was asked."""
        return " && ".join(self._conditions)

    def _ends(self, index: Index) -> tuple[str, str] | None:
        """The least and the most that it can be in a block; None where the block says nothing of it, or it is not known."""
        if self._lane is None or self._lane not in index.axes:
            return None
        least, most = (self._end(index, up) for up in (False, True))
        return None if least is None or most is None else (_text(least), _text(most))

    def _end(self, index: Index, up: bool) -> Index | None:
        found = Index((), index.offset)
        for term, factor in index.terms:
            positive = factor.at_least(ONE)
            if not isinstance(term, Axis) or not (positive or (-factor).at_least(ONE)):
                return None
            if term == self._lane:
                last = "(first + LANES - 1)" if positive == up else "first"
                found += Index(((Axis(last, term.extent), factor),))
            elif term in self._around:
                found += Index(((term, factor),))
            elif positive == up:
                found = found.shifted(factor * (term.extent - ONE))
        return found


def _text(index: Index) -> str:
    text = index_text(index, _no_values)
    return text if text.isidentifier() else f"({text})"


def _no_values(value: Value) -> str:
    raise KeyError(value)
