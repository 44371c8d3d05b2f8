"""What operators ask of their inputs, and chance does not give: numbers in order, places that are all different, and sizes
that go together. Torch says nothing of what comes of it otherwise: a search among numbers in no order finds anything, and
of two elements that are written to one place either may stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kernellab.graph.extents import holds
from kernellab.graph.record import Extent, GraphRecord, Node, Ref, TensorType

_WRITES_BY_TENSORS = ("aten.index_put.", "aten._unsafe_index_put.")
_WRITES_ALONG_A_DIM = ("aten.scatter.src", "aten.index_copy.")
_SUMS_BAGS = ("aten._embedding_bag.", "aten._embedding_bag_forward_only.")
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


def all_different(node: Node, types: Types) -> Iterator[Places]:
    """Of one call. Where several indices name a place together, each that may differ by itself is asked to."""
    base = types.get(_key(node.args[0])) if node.args else None
    if base is None:
        return
    if node.op.startswith(_WRITES_ALONG_A_DIM):
        dim, index = node.args[1], node.args[2]
        if isinstance(dim, int) and isinstance(index, Ref) and base.extents:
            found = types[(index.ref, index.part)]
            axis = dim % len(base.extents) if node.op.startswith("aten.scatter") and found.extents else None
            yield Places(index, found, axis, base.extents[dim])
    elif _puts(node) and not _is_single(node, types):
        for dim, index in _indices(node):
            found = types[(index.ref, index.part)]
            if found.dtype != "bool":
                yield Places(index, found, None, base.extents[dim])


def with_conditions(graph: GraphRecord) -> GraphRecord:
    """The graph with what its operators ask of sizes, as far as the example has it; torch's own conditions leave it out."""
    found = [p.room for node in graph.nodes for p in all_different(node, graph.types)]
    found += [c for node in graph.nodes for c in (*_broadcast(node, graph.types), *_room(node, graph.types))]
    kept = [c for c in dict.fromkeys(found) if c not in graph.requires and _says_something(c) and _met(c, graph)]
    return graph.model_copy(update={"requires": (*graph.requires, *kept)}) if kept else graph


def _says_something(condition: str) -> bool:
    left, _, right = condition.partition(" == ")
    return any(c.isalpha() for c in condition) and left != right


def _met(condition: str, graph: GraphRecord) -> bool:
    return holds(condition, graph.example)


def _broadcast(node: Node, types: Types) -> Iterator[str]:
    """What is put at places must have their sizes, or 1."""
    base, given = types.get(_key(node.args[0])) if node.args else None, _given(node, types)
    indices = dict(_indices(node)) if node.op.startswith(_WRITES_BY_TENSORS) else {}
    dims = sorted(indices)
    if base is None or given is None or not dims or dims != list(range(dims[0], dims[-1] + 1)):
        return
    kinds = [types[(r.ref, r.part)] for r in indices.values()]
    if len(kinds) != 1 or kinds[0].dtype == "bool":
        return
    result = [*base.extents[: dims[0]], *kinds[0].extents, *base.extents[dims[0] + 1 :]]
    for one, other in zip(reversed(given.extents), reversed(result), strict=False):
        if one != 1:
            yield f"{one} == {other}"


def _room(node: Node, types: Types) -> Iterator[str]:
    """A slice that is written to has the size of what is written there."""
    if not node.op.startswith("aten.slice_scatter.") or node.args[5:] not in ([], [1]):
        return
    whole, part, dim = types.get(_key(node.args[0])), types.get(_key(node.args[1])), (node.args[2:3] or [0])[0]
    start = (node.args[3:4] or [None])[0] or 0
    if whole is None or part is None or not isinstance(dim, int) or not isinstance(start, int) or start < 0:
        return
    for axis, (of, within) in enumerate(zip(part.extents, whole.extents, strict=True)):
        taken = f"{of} + {start}" if start else f"{of}"
        yield f"{taken} <= {within}" if axis == dim % len(whole.extents) else f"{of} == {within}"


def _puts(node: Node) -> bool:
    adds = node.args[3] if len(node.args) > 3 else node.kwargs.get("accumulate", False)
    return node.op.startswith(_WRITES_BY_TENSORS) and not adds


def _indices(node: Node) -> Iterator[tuple[int, Ref]]:
    indices = node.args[1] if isinstance(node.args[1], list) else []
    yield from ((dim, index) for dim, index in enumerate(indices) if isinstance(index, Ref))


def _given(node: Node, types: Types) -> TensorType | None:
    return types.get(_key(node.args[2])) if len(node.args) > 2 else None


def _is_single(node: Node, types: Types) -> bool:
    """One number goes to all places: it is the same whoever is last."""
    given = _given(node, types)
    return given is None or all(e == 1 for e in given.extents)


def _key(argument: object) -> tuple[str, int]:
    return (argument.ref, argument.part) if isinstance(argument, Ref) else ("", 0)


def _product(extents: tuple[Extent, ...]) -> str:
    """As text over sizes."""
    sizes = [e for e in extents if isinstance(e, int)]
    number = math.prod(sizes)
    words = [e if e.isidentifier() else f"({e})" for e in extents if isinstance(e, str)]
    return " * ".join([*([str(number)] if number != 1 or not words else []), *words])
