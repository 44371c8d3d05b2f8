"""In which type a node is kept between kernels, and which type factors have, so that nothing is lost that the module has.

The module rounds to 16 bits at every node of such a type. A float32 node that is nothing but a 16-bit one cast up, or that
is only ever cast down, holds no more: kept in 16 bits it is half as much to move, and a factor of one product on a tensor
core.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kernellab.graph.ops.table import row
from kernellab.graph.record import GraphRecord, Node

_Key = tuple[str, int]
SHORT = ("bfloat16", "float16")
_CASTS = ("aten._to_copy.", "aten.to.")
_SCALED = ("aten.mul.Scalar", "aten.mul.Tensor", "aten.div.Scalar", "aten.div.Tensor")
_WEIGHTS, _CHOSEN = "aten._softmax.", "aten.where."


class Kept:
    """`factors`: the 16-bit type that all factors of the graph's products have before they are cast or scaled, "" where one
    has not. The weights of an attention have that of what they weigh, as attention in 16 bits rounds them."""

    def __init__(self, record: GraphRecord) -> None:
        self._types = record.types
        self._outputs = {(o.ref.ref, o.ref.part) for o in record.outputs}
        self._origins, self._ends = self._gone_through(record.nodes), self._gone_back(record.nodes)
        self.factors = self._of_factors(record.nodes)

    def dtype(self, key: _Key) -> str:
        own = self._types[key].dtype
        if own != "float32" or key in self._outputs:
            return own
        return self._origins[key] or self._ends[key] or own

    def _gone_through(self, nodes: Iterable[Node], scaled: bool = False) -> Mapping[_Key, str]:
        """The 16-bit type that each has, or that all of it had before it was cast or moved; or `scaled` by a number."""
        found = {key: self._short(key) for key in self._types}
        for node in nodes:
            if _moves(node) or (scaled and node.op in _SCALED and len(self._floats(node)) == 1):
                origin = _only(found[key] for key in self._floats(node))
                found |= {key: self._short(key) or origin for key in node.made}
        return found

    def _gone_back(self, nodes: Sequence[Node]) -> Mapping[_Key, str]:
        """The 16-bit type that all who use it cast it to, perhaps behind a move."""
        wanted: dict[_Key, set[str]] = defaultdict(set)
        for node in reversed(nodes):
            ends = {self._short(key) or ("" if key in self._outputs else _only(wanted[key])) for key in node.made}
            for key in self._floats(node):
                wanted[key] |= ends if _moves(node) else {""}
        return {key: _only(wanted[key]) for key in self._types}

    def _of_factors(self, nodes: Iterable[Node]) -> str:
        origins, weights = self._gone_through(nodes, scaled=True), self._weights(nodes)
        products = [n for n in nodes if (found := row(n.op)) is not None and found.kind in ("contraction", "attention")]
        return _only(origins[key] for node in products for key in self._floats(node) if key not in weights)

    def _weights(self, nodes: Iterable[Node]) -> set[_Key]:
        found: set[_Key] = set()
        for node in nodes:
            passes = (_moves(node) or node.op.startswith(_CHOSEN)) and not found.isdisjoint(self._floats(node))
            if passes or node.op.startswith(_WEIGHTS):
                found.update(node.made)
        return found

    def _short(self, key: _Key) -> str:
        dtype = self._types[key].dtype
        return dtype if dtype in SHORT else ""

    def _floats(self, node: Node) -> list[_Key]:
        return [(r.ref, r.part) for r in node.refs() if self._types[r.ref, r.part].is_float]


def _only(types: Iterable[str]) -> str:
    """The type that all have; "" where there is none, or more than one."""
    found = set(types)
    return found.pop() if len(found) == 1 else ""


def _moves(node: Node) -> bool:
    """Whether its results are elements of what it is given, as they are or in another type."""
    found = row(node.op)
    layout = found is not None and found.kind == "layout" and found.linear
    return layout or node.op.startswith(_CASTS)
