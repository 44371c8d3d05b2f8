"""Outputs that are inputs, or come twice, as copies: each output is a tensor of its own, which one kernel writes.

Gradients of the two sides of a sum are the same tensor, and both are asked for.
"""

from __future__ import annotations

from kernellab.graph.record import GraphRecord, Node, Output, Ref

_COPY = "aten.clone.default"


def distinct(record: GraphRecord) -> GraphRecord:
    nodes, outputs = list(record.nodes), list(record.outputs)
    made, seen = {n.name for n in nodes}, set[tuple[str, int]]()
    taken = {*made, *(i.name for i in record.inputs), *(c.name for c in record.constants)}
    for number, output in enumerate(outputs):
        key = output.ref.ref, output.ref.part
        if key[0] in made and key not in seen:
            seen.add(key)
            continue
        name = next(n for n in (f"copy_{k}" for k in range(len(taken) + 1)) if n not in taken)
        taken.add(name)
        nodes.append(Node(name=name, op=_COPY, args=[output.ref], results=(output.type,)))
        outputs[number] = Output(ref=Ref(ref=name, part=0), type=output.type)
    if len(nodes) == len(record.nodes):
        return record
    return record.model_copy(update={"nodes": tuple(nodes), "outputs": tuple(outputs)})
