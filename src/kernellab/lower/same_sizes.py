"""Sizes that a graph says are products of others: then an axis so long can be split.

What has a key for each group of heads is repeated to as many as there are heads; where it is expanded to them, both are the
same number. The number of heads is a product then, and groups are read where their heads are made.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernellab.graph.record import GraphRecord, TensorType
from kernellab.lower.sizes import ONE, Size


def as_products(record: GraphRecord) -> Mapping[tuple[str, int], TensorType]:
    """The types of a graph, with products in the place of such sizes."""
    made = _made_of(record)
    if not made:
        return record.types
    return {
        key: known.model_copy(update={"extents": tuple(Size.of(e).put(made).text for e in known.extents)})
        for key, known in record.types.items()
    }


def _made_of(record: GraphRecord) -> Mapping[str, Size]:
    """By their names. A dim that is expanded, and has more than one element, stays as long as it is."""
    found: dict[str, Size] = {}
    for node in record.nodes:
        made = node.results[0]
        if made is None or not node.op.startswith("aten.expand."):
            continue
        given = record.types[next((r.ref, r.part) for r in node.refs())]
        for pair in zip(reversed(given.extents), reversed(made.extents), strict=False):
            one, other = map(Size.of, pair)
            for name, whole in ((one.symbol, other), (other.symbol, one)):
                if name and whole != ONE and not whole.symbol and all(len(m) > 1 and name not in m for m, _ in whole):
                    found.setdefault(name, whole)
    return found
