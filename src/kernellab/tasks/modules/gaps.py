"""Which arguments may go unread since something leaves their elements out: scores of hidden keys, the values beside them.

A mask by places (made of a comparison of places, or a triangle) hides whole stretches: of a cache that is filled in part a
kernel reads that part. So does a mask that is given, where an element of it stands for a line of memory, or for a row of
what a product was made of. What such a mask meets is not counted. A mask with an element for each of what it hides is no
reason: lines are read whole.
Covered: nothing is called read that need not be. Not covered: how much of it a mask leaves; so it counts as nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernellab.graph.ops.table import is_view, row
from kernellab.graph.record import GraphInput, GraphRecord, Node

Key = tuple[str, int]
_PLACES = ("aten.arange", "aten.iota")
_TRIANGLES = ("aten.tril", "aten.triu")
_CHOOSE, _FILL = "aten.where.", "aten.masked_fill."
_SAME = ("aten._to_copy", "aten.clone", "aten.alias", "aten.copy")
_THROUGH = ("pointwise", "compare", "softmax", "scan")
"""What keeps the elements apart that a mask has left out."""
_MEETING = ("pointwise", "contraction", "attention")
"""Where one argument's elements make no difference beside another's."""


def passed_over(graph: GraphRecord) -> frozenset[tuple[str, int]]:
    """Arguments, each by its node and its place among its operands, of which a kernel may leave any element unread."""
    return frozenset(_Gaps(graph).found())


class _Gaps:
    """`places`: numbers made of places alone; `truths`: booleans, and numbers that stand for them; `masks`: those by place;
    `gaps`: values of which a mask has left something out; `products`: values made of contractions."""

    def __init__(self, graph: GraphRecord) -> None:
        self._graph, self._types = graph, graph.types
        self._places: set[Key] = set()
        self._truths: set[Key] = {(i.name, 0) for i in graph.inputs if i.type.dtype == "bool" or _is_hiding(i)}
        self._masks: set[Key] = set()
        self._gaps: set[Key] = set()
        self._products: set[Key] = set()

    def found(self) -> Iterator[tuple[str, int]]:
        for node in self._graph.nodes:
            args = {place: (ref.ref, ref.part) for place, ref in node.placed_refs()}
            yield from ((node.name, place) for place in self._over(node, args))
            self._mark(node, args)

    def _over(self, node: Node, args: Mapping[int, Key]) -> list[int]:
        """Places of arguments that something beside them hides."""
        branches = _branches(node)
        if branches:
            condition = args.get(_condition(node))
            met = [place for place in branches if place in args]
            return [p for p in met if condition is not None and self._hides(condition, node, args[p])]
        if _kind(node) not in _MEETING:
            return []
        hiding = [place for place, key in args.items() if key in self._gaps]
        return [
            place for place, met in args.items()
            if any(other != place for other in hiding)
            or any(other != place and self._hides(key, node, met) for other, key in args.items())
        ]  # fmt: skip

    def _hides(self, key: Key, node: Node, met: Key) -> bool:
        """Whether it hides stretches of what it meets."""
        if key in self._masks:
            return True
        made = node.results[0]
        if key not in self._truths or made is None:
            return False
        mask = self._types[key].extents
        lines = bool(made.extents) and (not mask or mask[-1] != made.extents[-1])
        return lines or (met in self._products and _size(mask) != _size(made.extents))

    def _mark(self, node: Node, args: Mapping[int, Key]) -> None:
        kind = _kind(node)
        keys = node.made
        tensors = set(args.values())
        if node.op.startswith(_PLACES):
            self._places.update(keys)
        elif node.op.startswith(_TRIANGLES):
            self._masks.update(keys)
        elif _branches(node):
            self._choice(node, args, keys)
        elif kind in _THROUGH or is_view(node.op) or node.op.startswith(_SAME):
            self._pass_on(node, kind, tensors, keys)
        kept = kind in _THROUGH or is_view(node.op)
        if kind in ("contraction", "attention") or (kept and tensors & self._products):
            self._products.update(keys)

    def _choice(self, node: Node, args: Mapping[int, Key], keys: list[Key]) -> None:
        """Between numbers, as they are added to scores or times them, it is another form of its condition."""
        condition = args.get(_condition(node))
        if all(place not in args or not self._types[args[place]].extents for place in _branches(node)):
            (self._masks if condition in self._masks else self._truths).update(keys)
        elif self._over(node, args):
            self._gaps.update(keys)

    def _pass_on(self, node: Node, kind: str, tensors: set[Key], keys: list[Key]) -> None:
        if kind == "compare" and tensors & self._places:
            self._masks.update(keys)
        elif tensors and tensors <= self._places:
            self._places.update(keys)
        elif tensors and tensors <= self._masks | self._truths:
            (self._masks if tensors & self._masks else self._truths).update(keys)
        elif kind == "compare":
            self._truths.update(keys)
        elif tensors & self._gaps or any(
            self._hides(key, node, met) for key in tensors for met in tensors if key != met
        ):
            self._gaps.update(keys)


def _kind(node: Node) -> str:
    return getattr(row(node.op), "kind", "gather")


def _branches(node: Node) -> tuple[int, ...]:
    """What a choice is made between."""
    return (1, 2) if node.op.startswith(_CHOOSE) else (0,) if node.op.startswith(_FILL) else ()


def _condition(node: Node) -> int:
    return 0 if node.op.startswith(_CHOOSE) else 1


def _size(extents: tuple[int | str, ...]) -> tuple[int | str, ...]:
    return tuple(e for e in extents if e != 1)


def _is_hiding(entry: GraphInput) -> bool:
    """Minus infinity is added to what does not count."""
    return entry.seen is not None and entry.seen.hidden > 0
