"""What a graph is made of: its class of operators, and products that collapse into smaller ones."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kernellab.graph.ops.table import row
from kernellab.graph.record import GraphRecord, Node

_CLASSES = (
    "attention", "recurrent", "convolution", "product", "scan", "sort", "loss", "softmax", "norm", "window", "reduction",
    "gather", "pointwise", "layout",
)  # fmt: skip
_AS = {"arg": "reduction", "compare": "pointwise", "factory": "layout"}
_SUMS = ("aten.sum", "aten.mean")
_TOGETHER = ("aten.add", "aten.sub", "aten.rsub", "aten.cat", "aten.stack", "aten.neg", "aten._to_copy")
"""Linear in all their tensors together; the other linear ones are linear in each."""
_QUOTIENT = "aten.div"


def operator_class(graph: GraphRecord) -> str:
    """The dearest class of operators in it: a convolution with a ReLU is a convolution."""
    found = {_class_of(node) for node in graph.nodes}
    return next((name for name in _CLASSES if name in found), "other")


def _class_of(node: Node) -> str:
    known = row(node.op)
    kind = known.kind if known else "other"
    if kind == "contraction":
        return "convolution" if node.op.startswith("aten.convolution") else "product"
    return _AS.get(kind, kind)


def linear_collapse(graph: GraphRecord) -> str:
    """Where a sum of a product can be taken before the product, in words; "" where that is not so.

    What lies between is linear: views, casts, factors, sums with something else. A sum over the outputs of a product is a
    product with the sum of its weights, which is smaller by the number of outputs.
    """
    source: dict[str, Node] = {}  # a value that is linear in a product, and that product
    for node in graph.nodes:
        operands = [source[ref.ref] for ref in node.refs() if ref.ref in source]
        if operands and node.op.startswith(_SUMS) and _fewer(node, graph):
            return f"{_at(operands[0])} goes into {_at(node)} with nothing but linear operators between"
        known = row(node.op)
        if known is not None and known.kind == "contraction" and known.linear:
            source[node.name] = node
        elif operands and _linear(node, source):
            source[node.name] = operands[0]
    return ""


def _linear(node: Node, source: Mapping[str, Node]) -> bool:
    """Whether a node is linear in what comes from a product."""
    known, refs = row(node.op), list(node.refs())
    taken = [place for place, ref in enumerate(refs) if ref.ref in source]
    if node.op.startswith(_QUOTIENT):
        return taken == [0]
    if node.op.startswith(_TOGETHER):
        return True
    return known is not None and known.linear and len(taken) == 1


def _fewer(node: Node, graph: GraphRecord) -> bool:
    """Whether a sum leaves fewer elements than it was given: over an axis of one it is a view."""
    ref = next(node.refs(), None)
    given, made = graph.types.get((ref.ref, ref.part)) if ref else None, node.results[0]
    return given is None or made is None or math.prod(given.shape(graph.example)) > math.prod(made.shape(graph.example))


def _at(node: Node) -> str:
    name = node.op.split(".")[1]
    return f"{name} ({node.line})" if node.line else name
