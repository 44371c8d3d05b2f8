"""Where a graph rounds to which type. Inputs are exact and outputs are rounded once, so what lies between decides.

A product of bfloat16 matrices is summed in float32 and rounded at the end: it owes float32's accuracy, and one rounding. A
chain of bfloat16 operators rounds at each, and owes bfloat16's. So does a product of something that was computed, whatever
type the graph gives it: hardware takes its operands in the task's own type, as attention does with its shares.
"""

from __future__ import annotations

from kernellab.graph.ops.table import row
from kernellab.graph.record import EPS, GraphRecord, Node

_MOVES = ("layout", "gather", "factory")


def inner_eps(record: GraphRecord) -> float:
    """The unit of the coarsest type that a value between inputs and outputs is rounded to; float32's at least."""
    used, data = _computed_with(record), _data(record)
    own = max([EPS[i.type.dtype] for i in record.inputs if i.type.is_float], default=EPS["float32"])
    if all(t.dtype == "float64" for t in record.types.values() if t.is_float):
        return EPS["float64"]
    found = [EPS["float32"]]
    for node in record.nodes:
        kind = getattr(row(node.op), "kind", "")
        if kind == "attention" or (kind == "contraction" and any(r.ref not in data for r in node.refs())):
            found.append(own)
        if kind not in _MOVES:
            made = [(i, t) for i, t in enumerate(node.results) if t is not None and t.is_float]
            found += [EPS[t.dtype] for i, t in made if (node.name, i) in used]
    return max(found)


def _data(record: GraphRecord) -> set[str]:
    """Inputs and constants, and what is only moved or widened of them."""
    found = {i.name for i in record.inputs} | {c.name for c in record.constants}
    shorter = narrowing(record)
    for node in record.nodes:
        moves = getattr(row(node.op), "kind", "") in _MOVES or node.op.startswith("aten._to_copy")
        if moves and node.name not in shorter and all(r.ref in found for r in node.refs()):
            found.add(node.name)
    return found


def narrowing(record: GraphRecord) -> frozenset[str]:
    """Nodes whose result is of a shorter type than what goes in: data lose their exactness there."""
    types = record.types

    def shorter(node: Node) -> bool:
        given = [EPS[t.dtype] for r in node.refs() if (t := types.get((r.ref, r.part))) is not None and t.is_float]
        made = [EPS[t.dtype] for t in node.results if t is not None and t.is_float]
        return bool(given and made) and max(made) > min(given)

    return frozenset(node.name for node in record.nodes if shorter(node))


def _computed_with(record: GraphRecord) -> set[tuple[str, int]]:
    """Values that something is computed of; those that are only moved to an output are not among them."""
    used: set[tuple[str, int]] = set()
    for node in reversed(record.nodes):
        moves = getattr(row(node.op), "kind", "") in _MOVES
        if not moves or any((node.name, i) in used for i in range(len(node.results))):
            used |= {(ref.ref, ref.part) for ref in node.refs()}
    return used
