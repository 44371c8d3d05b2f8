"""How much memory the answers of a captured module take, before any of it is taken.

Of every value that is still read the scale is held beside it, in float64; an operator has terms of its own. Measured by
benchmarks/suites/needs.py on products with large weights, convolutions, norms, row sums and maps of elements.
"""

from __future__ import annotations

import math

from kernellab.graph.evaluate import last_use
from kernellab.graph.ops.table import row
from kernellab.graph.record import GraphRecord, Sizes

_HELD = 16
"""Bytes an element: value and scale."""
_WORKING = 24
"""Of an operator's operands and results: magnitudes, which are there at all, terms, and a result that is not kept."""
_AS_GIVEN = 8
"""Of inputs: the array, and one that waits."""
_ANSWER = 56
"""Of outputs: what float32 gives and what noise gives, errors, and the ends of the interval."""
_WITNESS = 28
"""Of inputs: arrays, their float64, and both again in the process that runs the module."""


def witness_bytes(graph: GraphRecord, sizes: Sizes) -> int:
    """What it takes to hold the module's answers against the graph's where those are made on a device."""
    return _WITNESS * sum(math.prod(i.type.shape(sizes)) for i in graph.inputs)


def answer_bytes(graph: GraphRecord, sizes: Sizes) -> int:
    """At most at once, inputs included."""
    count = {key: math.prod(found.shape(sizes)) for key, found in graph.types.items()}
    last, kept = last_use(graph), {o.ref.ref for o in graph.outputs}
    live = {(i.name, 0) for i in graph.inputs} | {(c.name, 0) for c in graph.constants}
    given = _AS_GIVEN * sum(count[i.name, 0] for i in graph.inputs)
    most = _HELD * sum(count.get(key, 0) for key in live)
    for number, node in enumerate(graph.nodes):
        made = {key for key in count if key[0] == node.name}
        live |= made
        at_work = {(ref.ref, ref.part) for ref in node.refs()} | made
        if (found := row(node.op)) is not None and found.view:
            live -= made  # it lies where its argument does
            last |= {ref.ref: max(last.get(ref.ref, -1), last.get(node.name, -1)) for ref in node.refs()}
        held = _HELD * sum(count.get(key, 0) for key in live)
        most = max(most, held + _WORKING * max((count.get(key, 0) for key in at_work), default=0))
        live = {key for key in live if last.get(key[0], -1) > number or key[0] in kept}
    return given + most + _ANSWER * sum(count[o.ref.ref, o.ref.part] for o in graph.outputs)
