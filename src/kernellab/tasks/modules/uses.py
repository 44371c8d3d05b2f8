"""What a graph does with its inputs: what an integer indexes, how long the sums over a float are, what may go unread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernellab.graph.asked import Writes, bags, in_order
from kernellab.graph.idle import BOUNDS
from kernellab.graph.ops.table import is_view, row
from kernellab.graph.record import GraphRecord, Node, Ref, TensorType
from kernellab.tasks.modules.gaps import passed_over
from kernellab.tasks.modules.needed import needed, strided

_PARTLY = ("gather", "sort", "window")
_SAME = ("aten._to_copy", "aten.clone", "aten.alias", "aten.copy")
_PART_OF = (
    "aten.slice",
    "aten.select",
    "aten.narrow",
    "aten.split",
    "aten.unbind",
    "aten.diagonal",
    "aten.constant_pad_nd",
)
_ENDS = ("lt", "le", "gt", "ge")
_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge", "threshold")
_ROUNDED = ("round", "floor", "ceil", "trunc", "frac")
_HALVES = (0.5, 1.5, 2.5, -0.5, 1.0, -1.0)
_MOST_STEPS = 16
_DRAWN = 1.0
"""What the numbers reach that steps are planted among."""
_BEYOND = 1.5
_LARGEST = {"float16": 65504.0}
NO_LIMIT = 1 << 31
"""What an integer that indexes nothing is below."""
_ALL = (1 << 63) - 1


@dataclass(frozen=True)
class Apart:
    """Integers below this that must differ: along an axis, or (None) all of them."""

    axis: int | None
    below: int


class Uses:
    """Looks through views and casts: an input and its views are one thing here."""

    def __init__(self, graph: GraphRecord, masked: bool = True) -> None:
        """`masked`: what masks leave out need not be read; the first versions of records count it."""
        self._graph = graph
        self._types = graph.types
        self._over = passed_over(graph) if masked else frozenset()
        self._nodes = {n.name: n for n in graph.nodes}
        self._writes = Writes(graph.nodes, graph.types)
        self._makers = {n.name: n for n in graph.nodes if n.op.startswith(("aten.scalar_tensor", "aten.full."))}
        self._source: dict[tuple[str, int], str] = {(i.name, 0): i.name for i in graph.inputs}
        for node in graph.nodes:
            for ref in self._passed_on(node):
                if (ref.ref, ref.part) in self._source:
                    self._source[(node.name, 0)] = self._source[(ref.ref, ref.part)]
        self._found: dict[tuple[tuple[str, int], ...], dict[tuple[str, int], int]] = {}

    def below(self, name: str, dims: dict[str, int]) -> int:
        """Integers of this input must be below this; far away where they index nothing."""
        return min([_extent(e, dims) for e in self._indexed(name)], default=NO_LIMIT)

    def counted(self, name: str, dims: dict[str, int]) -> int | None:
        """How many places there are that integers of this input are compared with: lengths are no more than that."""
        found = [
            _extent(extent, dims)
            for node, place in self._consumers(name)
            if node.op.split(".")[1] in _ENDS
            and place < 2
            and (extent := self._places(_ref(node, 1 - place))) is not None
        ]
        return min(found, default=None)

    def _places(self, ref: Ref | None) -> int | str | None:
        """The extent of what is every place along a dim, or a view of that."""
        while ref is not None:
            node = self._nodes.get(ref.ref)
            if node is None:
                return None
            if node.op.startswith("aten.arange."):
                made = node.results[0]
                return made.extents[0] if made is not None else None
            ref = _ref(node, 0) if is_view(node.op) or node.op.startswith(_SAME) else None
        return None

    def sorted(self, name: str) -> int:
        """1 where the graph searches its rows, which must ascend then; -1 where it turns them round first; else 0."""
        searched = (ref for node in self._graph.nodes if (ref := in_order(node)) is not None)
        return next((sign for ref in searched for found, sign in [self._turned(ref)] if found == name), 0)

    def _turned(self, ref: Ref) -> tuple[str, int]:
        """Which input it is, with rows of the same length, and whether in the same order or the other way round."""
        sign, rows = 1, self._types[(ref.ref, ref.part)].extents[-1:]
        while (node := self._nodes.get(ref.ref)) is not None and isinstance(first := _ref(node, 0), Ref):
            last = len(self._types[(first.ref, first.part)].extents) - 1
            if node.op.startswith("aten.neg.") or (node.op.startswith("aten.flip.") and node.args[1] in ([-1], [last])):
                sign = -sign
            elif not _passes_on(node):
                return "", 0
            ref = first
        return (ref.ref, sign) if self._types[(ref.ref, ref.part)].extents[-1:] == rows else ("", 0)

    def bags(self, name: str, dims: dict[str, int]) -> tuple[int, bool] | None:
        """Of places where sums begin: among how many elements they lie, and whether the last is the end of them."""
        for node, _ in self._consumers(name):
            found = bags(node, self._types)
            if found is not None and self._source.get((found.ref.ref, found.ref.part)) == name:
                return _extent(found.among, dims), found.ends
        return None

    def searched(self, name: str) -> bool:
        """Whether the graph looks for its numbers among others, or for others among them: which side equal ones are on
        shows only where there are such."""
        return any(in_order(node) is not None for node, _ in self._consumers(name))

    def apart(self, name: str, dims: dict[str, int]) -> Apart | None:
        """Whether the graph writes to the places that this input names, so that they must differ, and there are enough."""
        own = self._types[(name, 0)]
        for node, _ in self._consumers(name):
            for places in self._writes.apart(node):
                if self._source.get((places.ref.ref, places.ref.part)) != name:
                    continue
                axis = None if places.axis is None else _own_axis(own.extents, places.type.extents, places.axis)
                shape, below = own.shape(dims), _extent(places.below, dims)
                if (math.prod(shape) if axis is None else shape[axis]) <= below:
                    return Apart(axis, below)
        return None

    def marked(self, name: str) -> int | None:
        """An integer that the graph asks for by name, as losses do for what they leave out."""
        for node, place in self._consumers(name):
            mark = node.args[1] if node.op in ("aten.eq.Scalar", "aten.ne.Scalar") and place == 0 else None
            if isinstance(mark, int) and not isinstance(mark, bool):
                return mark
        return None

    def steps(self, name: str) -> tuple[float, ...]:
        """Numbers at which what the graph does first with this input changes, and what lies beyond those that are far out:
        those that it compares it or its magnitude with or bounds it by, and where it is rounded to whole ones halves and
        whole ones. Chance never draws them."""
        readers = list(self._consumers(name))
        found = self._steps(name, readers)
        for node, _ in readers:
            if node.op.startswith("aten.abs."):
                sizes = self._steps(name, self._readers(Ref(ref=node.name)))
                found |= dict.fromkeys(step for size in sizes for step in (size, -size))
        return tuple(found)[:_MOST_STEPS]

    def _steps(self, name: str, readers: Iterable[tuple[Node, int]]) -> dict[float, None]:
        found: dict[float, None] = {}
        for node, place in readers:
            packet = node.op.split(".")[1]
            if packet in _ROUNDED:
                found |= dict.fromkeys(_HALVES)
            elif packet == "hardshrink":
                bound = self._number(node, 1)
                found |= dict.fromkeys((0.5, -0.5) if bound is None else (bound, -bound))
            elif packet in _COMPARED:
                found |= self._with_beyond(name, [self._number(node, 1 - place)] if place < 2 else [])
            elif packet in BOUNDS and place == 0:
                named = [n for n in node.kwargs.values() if isinstance(n, int | float)]
                found |= self._with_beyond(name, [self._number(node, 1), self._number(node, 2), *named])
        return found

    def _readers(self, ref: Ref) -> Iterator[tuple[Node, int]]:
        """Who reads a result, and as which argument."""
        for node in self._graph.nodes:
            yield from ((node, place) for place, read in node.placed_refs() if read == ref)

    def _with_beyond(self, name: str, numbers: list[float | None]) -> dict[float, None]:
        largest = _LARGEST.get(self._types[(name, 0)].dtype, 3e38)
        steps = [n for n in numbers if n is not None and abs(n) <= largest]
        far = [_BEYOND * n for n in steps if _DRAWN < abs(n) <= largest / _BEYOND]
        return dict.fromkeys([*steps, *far])

    def _number(self, node: Node, place: int) -> float | None:
        """An argument that is a number, written in the code or made a tensor of one."""
        given = node.args[place] if place < len(node.args) else None
        made = self._makers.get(given.ref) if isinstance(given, Ref) else None
        if made is not None:
            given = made.args[0 if "scalar_tensor" in made.op else 1]
        return float(given) if isinstance(given, int | float) and math.isfinite(given) else None

    def terms(self, name: str, dims: dict[str, int]) -> int:
        """How many elements of this input go into one sum, by the first thing that is done with it."""
        found = self._types[(name, 0)]
        for node, place in self._consumers(name):
            if node.op.startswith("aten.convolution") and place == 0:
                weight = self._type(node, 1)
                return math.prod(weight.shape(dims)[1:]) if weight else 1
        shape = found.shape(dims)
        return shape[-1] if shape else 1

    def least_read(self, name: str, dims: dict[str, int]) -> int:
        """Elements of this input that any kernel must read at these sizes; 0 where that is not known."""
        return min(math.prod(self._types[(name, 0)].shape(dims)), self._needed(dims).get((name, 0), 0))

    def wholly_read(self, name: str) -> bool:
        """Whether nothing that picks elements reads this input: all that the first version of records counts."""
        readers = [node for node, _ in self._consumers(name)]
        picked = [n for n in readers if n.op.startswith(_PART_OF) or getattr(row(n.op), "kind", "gather") in _PARTLY]
        skipping = [n for n in readers if n.op.startswith("aten.convolution") and strided(n)]
        return bool(readers) and not picked and not skipping

    def _needed(self, dims: dict[str, int]) -> dict[tuple[str, int], int]:
        """Of every input, the elements that must be known, so far as they can be counted: asked for again and again, at few
        sizes."""
        key = tuple(sorted(dims.items()))
        if key not in self._found:
            self._found[key] = needed(self._graph, self._source, dims, self._over)
        return self._found[key]

    def _passed_on(self, node: Node) -> list[Ref]:
        """What a node is another form of: a view's or a copy's source, or integers that a mask or a bound lets through."""
        whole = node.results[0]
        masks = node.op.startswith("aten.where") and whole is not None and not whole.is_float
        bounded = node.op.startswith("aten.clamp") and whole is not None and not whole.is_float
        places = (1, 2) if masks else (0,) if bounded or _passes_on(node) else ()
        return [ref for place in places if (ref := _ref(node, place)) is not None]

    def _consumers(self, name: str) -> Iterator[tuple[Node, int]]:
        """Who reads an input, and as which argument; views of it are looked through."""
        for node in self._graph.nodes:
            if self._source.get((node.name, 0)) == name:
                continue
            for place, ref in node.placed_refs():
                if self._source.get((ref.ref, ref.part)) == name:
                    yield node, place

    def _indexed(self, name: str) -> Iterator[int | str]:
        for node, place in self._consumers(name):
            yield from self._limits(node, place)

    def _limits(self, node: Node, place: int) -> Iterator[int | str]:
        """The extents that an index in this place of this call runs over."""
        first = self._type(node, 0)
        if first is None or place == 0:
            return
        packet = node.op.split(".")[1]
        if packet == "embedding" or packet == "_embedding_bag":
            yield first.extents[0]
        elif packet in (
            "gather",
            "index_select",
            "scatter",
            "scatter_add",
            "index_add",
            "index_copy",
            "scatter_reduce",
        ):
            dim = node.args[1]
            if isinstance(dim, int) and first.extents:
                yield first.extents[dim]
        elif packet.startswith("nll_loss"):
            yield first.extents[min(1, len(first.extents) - 1)]
        elif packet in ("index", "index_put", "_unsafe_index"):
            indices = node.args[1] if isinstance(node.args[1], list) else []
            yield from (first.extents[i] for i, index in enumerate(indices) if isinstance(index, Ref))

    def _type(self, node: Node, place: int) -> TensorType | None:
        ref = _ref(node, place)
        return self._types.get((ref.ref, ref.part)) if ref is not None else None


def _own_axis(own: tuple[int | str, ...], view: tuple[int | str, ...], axis: int) -> int | None:
    """Which axis of a tensor this one of a view is, which may have more axes, of 1 or repeated."""
    for first in (0, len(view) - len(own)):
        if first >= 0 and view[first : first + len(own)] == own and first <= axis < first + len(own):
            return axis - first
    places, start = [], 0
    for extent in own:
        if extent not in view[start:]:
            return None
        places.append(view.index(extent, start))
        start = places[-1] + 1
    return places.index(axis) if axis in places else None


def _passes_on(node: Node) -> bool:
    found = row(node.op)
    whole = found is not None and found.view and (not node.op.startswith(_PART_OF) or _is_whole_slice(node))
    return len(node.results) == 1 and (whole or node.op.startswith(_SAME))


def _is_whole_slice(node: Node) -> bool:
    """x[:, None] has a slice that leaves nothing out."""
    return node.op.startswith("aten.slice.") and node.args[2:3] == [0] and node.args[3:] == [_ALL]


def _ref(node: Node, place: int) -> Ref | None:
    argument = node.args[place] if place < len(node.args) else None
    return argument if isinstance(argument, Ref) else None


def _extent(extent: int | str, dims: dict[str, int]) -> int:
    return TensorType(dtype="int64", extents=(extent,)).shape(dims)[0]
