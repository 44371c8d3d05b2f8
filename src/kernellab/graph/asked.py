"""What operators ask of their inputs, and chance does not give: numbers in order, places that are all different, and sizes
that go together. Torch says nothing of what comes of it otherwise: a search among numbers in no order finds anything, and
of two elements that are written to one place either may stay.

Where equal places get equal elements nothing is asked: which of them stays does not show, and repeats are what such code is
for (a penalty for every word that was said, however often).
Not covered: equal elements that follow otherwise than element by element; places that are computed from an input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernellab.graph.extents import holds
from kernellab.graph.ops.table import is_view, row
from kernellab.graph.record import Extent, GraphRecord, Node, Ref, TensorType

_WRITES_BY_TENSORS = ("aten.index_put.", "aten._unsafe_index_put.")
_WRITES_ALONG_A_DIM = ("aten.scatter.src", "aten.index_copy.")
_SUMS_BAGS = ("aten._embedding_bag.", "aten._embedding_bag_forward_only.")
_ALL_ALIKE = ("aten.full", "aten.zeros", "aten.ones", "aten.scalar_tensor", "aten.new_")
_COPIES = ("aten._to_copy.", "aten.clone.", "aten.alias.")
Types = dict[tuple[str, int], TensorType]


@dataclass(frozen=True)
class Places:
    """An index whose elements are places below `below`, and must differ: along one of its axes, or (None) all of them."""

    ref: Ref
    type: TensorType
    axis: int | None
    below: Extent

    @property
    def room(self) -> str:
        """The condition under which there are places enough."""
        of = self.type.extents if self.axis is None else (self.type.extents[self.axis],)
        return f"{_product(of)} <= {self.below}"


@dataclass(frozen=True)
class Bags:
    """Places that begin at 0 and ascend, none beyond `among`; the last is the end of all where it `ends` them."""

    ref: Ref
    among: Extent
    ends: bool


def in_order(node: Node) -> Ref | None:
    """The argument whose rows must ascend."""
    packet = node.op.split(".")[1]
    place = {"searchsorted": 0, "bucketize": 1}.get(packet)
    if place is None or place >= len(node.args) or node.kwargs.get("sorter") is not None:
        return None
    found = node.args[place]
    return found if isinstance(found, Ref) else None


def bags(node: Node, types: Types) -> Bags | None:
    """Where each of several sums begins among the elements that are summed."""
    elements = types.get(_key(node.args[1])) if len(node.args) > 2 else None
    if not node.op.startswith(_SUMS_BAGS) or elements is None or not isinstance(node.args[2], Ref):
        return None
    return Bags(node.args[2], elements.extents[0], ends=bool((node.args[7:8] or [False])[0]))


class Writes:
    """What the writes of a graph ask of the places that they go to."""

    def __init__(self, nodes: Sequence[Node], types: Types) -> None:
        self._nodes = {n.name: n for n in nodes}
        self._types = types

    def apart(self, node: Node) -> list[Places]:
        """Of one call, the indices that must differ. Where several name a place together, each as far as the others leave
        it open."""
        base = self._types.get(_key(node.args[0])) if node.args else None
        if base is None:
            return []
        if node.op.startswith(_WRITES_ALONG_A_DIM):
            return self._along_a_dim(node, base)
        if not _puts(node) or self._alike(node.args[2:3], list(_indices(node)), None):
            return []
        return list(self._together(base, dict(_indices(node))))

    def sizes(self, node: Node) -> Iterator[str]:
        """Conditions on sizes: what is put at places, or into a slice, is as large as those."""
        if node.op.startswith(_WRITES_BY_TENSORS):
            yield from self._broadcast(node)
        elif node.op.startswith("aten.slice_scatter."):
            yield from self._sliced(node)

    def _along_a_dim(self, node: Node, base: TensorType) -> list[Places]:
        dim, index = node.args[1], node.args[2]
        if not isinstance(dim, int) or not isinstance(index, Ref) or not base.extents:
            return []
        found, scatters = self._types[(index.ref, index.part)], node.op.startswith("aten.scatter")
        axis = dim % len(base.extents) if scatters and found.extents else None
        if self._alike(node.args[3:4], [(dim % len(base.extents), index)], axis):
            return []
        return [Places(index, found, axis, base.extents[dim])]

    def _together(self, base: TensorType, indices: dict[int, Ref]) -> Iterator[Places]:
        types = {dim: self._types[(index.ref, index.part)] for dim, index in indices.items()}
        if any(found.dtype == "bool" for found in types.values()):
            return
        rank = max(len(found.extents) for found in types.values())
        spans = {dim: _span(found, rank) for dim, found in types.items()}
        counted = {dim for dim, index in indices.items() if self._counts(index)}
        for dim, index in indices.items():
            others = (d for d in indices if d != dim and (spans[d] < spans[dim] or d in counted))
            left = spans[dim] - {axis for d in others for axis in spans[d]}
            if dim in counted or not left:
                continue
            alone = left.pop() - (rank - len(types[dim].extents)) if len(left) == 1 and rank > 1 else None
            yield Places(index, types[dim], alone, base.extents[dim])

    def _counts(self, ref: Ref) -> bool:
        """Whether it is every place along an axis, or a view of that."""
        node = self._nodes.get(ref.ref)
        while node is not None and (is_view(node.op) or node.op.startswith(_COPIES)) and isinstance(node.args[0], Ref):
            node = self._nodes.get(node.args[0].ref)
        return node is not None and node.op.startswith("aten.arange.")

    def _alike(self, given: Sequence[object], indices: Sequence[tuple[int, Ref]], axis: int | None) -> bool:
        """Whether equal places get equal elements."""
        return not given or _Following(self._nodes, self._types, indices, axis).follows(given[0])

    def _broadcast(self, node: Node) -> Iterator[str]:
        base, given = self._types.get(_key(node.args[0])), self._types.get(_key((node.args[2:3] or [None])[0]))
        indices = dict(_indices(node))
        types = [self._types[(r.ref, r.part)] for r in indices.values()]
        if base is None or not indices or any(found.dtype == "bool" for found in types):
            return
        rank = max(len(found.extents) for found in types)
        joined: list[Extent] = [1] * rank
        for found in types:
            for axis, extent in enumerate(found.extents, rank - len(found.extents)):
                if joined[axis] != 1 and extent != 1:
                    yield f"{joined[axis]} == {extent}"
                joined[axis] = extent if extent != 1 else joined[axis]
        if given is None:
            return
        dims, kept = sorted(indices), [e for d, e in enumerate(base.extents) if d not in indices]
        first = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
        result = [*kept[:first], *joined, *kept[first:]]
        for one, other in zip(reversed(given.extents), reversed(result), strict=False):
            if one != 1:
                yield f"{one} == {other}"

    def _sliced(self, node: Node) -> Iterator[str]:
        whole, part = self._types.get(_key(node.args[0])), self._types.get(_key(node.args[1]))
        dim, start = (node.args[2:3] or [0])[0], (node.args[3:4] or [None])[0] or 0
        if node.args[5:] not in ([], [1]) or whole is None or part is None:
            return
        if not isinstance(dim, int) or not isinstance(start, int) or start < 0:
            return
        for axis, (of, within) in enumerate(zip(part.extents, whole.extents, strict=True)):
            taken = f"{of} + {start}" if start else f"{of}"
            yield f"{taken} <= {within}" if axis == dim % len(whole.extents) else f"{of} == {within}"


class _Following:
    """Whether elements are the same wherever these indices are: constants, what was read at the same places, and what is
    made of those element by element."""

    def __init__(
        self, nodes: dict[str, Node], types: Types, indices: Sequence[tuple[int, Ref]], axis: int | None
    ) -> None:
        self._nodes, self._types, self._axis = nodes, types, axis
        self._indices = [(dim, self._plain(ref)) for dim, ref in indices]
        self._known: dict[tuple[str, int], bool] = {}

    def follows(self, value: object) -> bool:
        if not isinstance(value, Ref):
            return True
        key = self._plain(value)
        if key not in self._known:
            self._known[key] = False
            self._known[key] = self._made(key)
        return self._known[key]

    def _made(self, key: tuple[str, int]) -> bool:
        extents, node = self._types[key].extents, self._nodes.get(key[0])
        level = self._axis is not None and extents[self._axis : self._axis + 1] == (1,)
        if all(e == 1 for e in extents) or level or key in [index for _, index in self._indices]:
            return True
        if node is None:
            return False
        if node.op.startswith(_ALL_ALIKE) or self._reads_there(node):
            return True
        found = row(node.op)
        by_element = found is not None and (found.kind in ("pointwise", "compare") and not found.view)
        return by_element and all(self.follows(ref) for ref in node.refs())

    def _reads_there(self, node: Node) -> bool:
        if node.op.startswith("aten.gather.") and isinstance(node.args[1], int):
            rank = max(1, len(self._types[_key(node.args[0])].extents))
            return [(node.args[1] % rank, self._plain(node.args[2]))] == self._indices
        if node.op.startswith(("aten.index.", "aten._unsafe_index.")):
            return [(dim, self._plain(ref)) for dim, ref in _indices(node)] == self._indices
        return False

    def _plain(self, value: object) -> tuple[str, int]:
        """What it is a copy of."""
        node = self._nodes.get(value.ref) if isinstance(value, Ref) else None
        while node is not None and node.op.startswith(_COPIES) and isinstance(node.args[0], Ref):
            value, node = node.args[0], self._nodes.get(node.args[0].ref)
        return _key(value)


def with_conditions(graph: GraphRecord) -> GraphRecord:
    """The graph with what its operators ask of sizes, as far as the example has it; torch's own conditions leave it out."""
    writes = Writes(graph.nodes, graph.types)
    found = [places.room for node in graph.nodes for places in writes.apart(node)]
    found += [condition for node in graph.nodes for condition in writes.sizes(node)]
    kept = [
        c for c in dict.fromkeys(found) if c not in graph.requires and _says_something(c) and holds(c, graph.example)
    ]
    return graph.model_copy(update={"requires": (*graph.requires, *kept)}) if kept else graph


def _says_something(condition: str) -> bool:
    left, _, right = condition.partition(" == ")
    return any(c.isalpha() for c in condition) and left != right


def _puts(node: Node) -> bool:
    adds = node.args[3] if len(node.args) > 3 else node.kwargs.get("accumulate", False)
    return node.op.startswith(_WRITES_BY_TENSORS) and not adds


def _indices(node: Node) -> Iterator[tuple[int, Ref]]:
    indices = node.args[1] if isinstance(node.args[1], list) else []
    yield from ((dim, index) for dim, index in enumerate(indices) if isinstance(index, Ref))


def _span(found: TensorType, rank: int) -> set[int]:
    """The axes of what it is broadcast to along which it differs."""
    return {axis for axis, e in enumerate(found.extents, rank - len(found.extents)) if e != 1}


def _key(argument: object) -> tuple[str, int]:
    return (argument.ref, argument.part) if isinstance(argument, Ref) else ("", 0)


def _product(extents: tuple[Extent, ...]) -> str:
    """As text over sizes."""
    sizes = [e for e in extents if isinstance(e, int)]
    number = math.prod(sizes)
    words = [e if e.isidentifier() else f"({e})" for e in extents if isinstance(e, str)]
    return " * ".join([*([str(number)] if number != 1 or not words else []), *words])
