"""What no prompt may hold: the shapes kept back for confirmation, and the paths of this machine.

Held-out shapes never reach a prompt as data (facts.py does not read them). They could come in by way of free text: a
reference that names one in a comment, a candidate whose launch() puts x.shape into its error message. This removes
them from such text.
Covered: extents, sizes and bytes of every buffer at a held-out shape, and whole shapes however they are written.
Not covered: text that a candidate encodes on purpose (hex, words). Whoever shows failures should build held-out shapes
apart from the others and say no more than that one failed. Extents below SMALL on their own: they say nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kernellab.tasks.spec import Dims, Task

SMALL = 17
MARK = "[withheld]"
_LONGEST = 40
_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*)(?!\w|\.\d)")
_PATH = re.compile(r"(?<![\w.<>*)\]/])(?:~|\.{1,2})?/(?:(?:[\w.+@%-]+/)+([\w.+@%-]+)|(?:[\w.+@%-]+/){2,})")


@dataclass(frozen=True)
class Withheld:
    """`numbers` are never shown; `shapes` are the held-out shapes as tuples of extents."""

    numbers: frozenset[int]
    shapes: frozenset[tuple[int, ...]]

    @staticmethod
    def of(task: Task) -> Withheld:
        """Held-out shapes of the task as it is and of every device it has sizes for; what tuning shows is no secret."""
        shown = {n for dims in task.tune for n in _numbers(task, dims)}
        groups = [task.held_out, *(s.held_out for s in task.sizes.values())]
        kept = [dims for group in groups for dims in group if dims not in task.tune]
        numbers = {n for dims in kept for n in _numbers(task, dims)}
        return Withheld(frozenset(n for n in numbers - shown if n >= SMALL), frozenset(_shapes(task, kept)))

    def clean(self, text: str) -> str:
        """`text` without what is withheld."""
        for shape in sorted(self.shapes, reverse=True):
            text = _written(shape).sub(MARK, text)
        return _NUMBER.sub(self._number, text)

    def _number(self, match: re.Match[str]) -> str:
        """One number with separators, or several with commas between them."""
        if len(match[0]) > _LONGEST:  # no extent, and more digits than int() reads
            return match[0]
        if int(re.sub("[_,]", "", match[0])) in self.numbers:
            return MARK
        return ",".join(MARK if int(part) in self.numbers else part for part in match[0].split(","))


NOTHING = Withheld(frozenset(), frozenset())


def without_paths(text: str) -> str:
    """File names instead of paths: where things lie on this machine is nobody's business and helps no one."""
    return _PATH.sub(lambda m: m[1] or "a folder", text)


def _numbers(task: Task, dims: Dims) -> set[int]:
    numbers = set(dims.values())
    for buffer in (*task.inputs, *task.outputs):
        shape = buffer.shape(dims)
        numbers |= {*shape, math.prod(shape), buffer.nbytes(dims)}
    return numbers


def _shapes(task: Task, kept: Iterable[Dims]) -> set[tuple[int, ...]]:
    """Shapes of two extents and more; the only extent of a vector is a number like any other."""
    found = {tuple(dims.values()) for dims in kept}
    found |= {b.shape(dims) for dims in kept for b in (*task.inputs, *task.outputs)}
    shown = {tuple(dims.values()) for dims in task.tune}
    shown |= {b.shape(dims) for dims in task.tune for b in (*task.inputs, *task.outputs)}
    return {s for s in found - shown if len(s) > 1}


def _written(shape: tuple[int, ...]) -> re.Pattern[str]:
    """The extents in order, with 'x', commas, spaces or names such as "N=" between them."""
    between = r"\s*(?:,|x|×|\*)\s*(?:\w+\s*[=:]\s*)?"
    return re.compile(r"(?<![\w.])" + between.join(str(e) for e in shape) + r"(?![\w.]*\d)")
