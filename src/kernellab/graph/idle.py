"""What a graph decides with some inputs: bounds that nothing lies beyond, and conditions that fall one way.

A kernel that leaves such a decision out is right on these inputs. Looked at are bounds and choices of floats that follow
from the inputs. Not covered: integers, and operators that choose inside themselves, such as softplus beyond its threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernellab.graph.evaluate import Machine
from kernellab.graph.record import GraphRecord, Node, Ref

BOUNDS = ("clamp", "clamp_min", "clamp_max", "hardtanh")
_EITHER = ("minimum", "maximum", "where")
_DECIDING = (*BOUNDS, *_EITHER)


def idle(record: GraphRecord, inputs: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The name of a node, and which of its sides nothing reaches."""
    machine = Machine(record, inputs)
    values, given = machine.start(), {i.name for i in record.inputs}
    found: set[tuple[str, str]] = set()

    def read(ref: Ref) -> Any:
        return values[(ref.ref, ref.part)]

    for node in record.nodes:
        results = machine.results(node, read)
        values.update({(node.name, i): r for i, r in enumerate(results)})
        if any(ref.ref in given for ref in node.refs()):
            given.add(node.name)
            found |= {(node.name, side) for side in _unreached(machine, node, read, results[0])}
    return found


def _unreached(machine: Machine, node: Node, read: Any, result: Any) -> Iterator[str]:
    packet = node.op.split(".")[1]
    if packet not in _DECIDING or not machine.is_float(result):
        return
    args = [machine.decode(a, read) for a in node.args]
    if packet == "where":
        yield from (side for side, met in zip(("first", "second"), (args[0], ~args[0]), strict=True) if not met.any())
    elif packet in _EITHER:
        yield from (side for side, own in zip(("first", "second"), args, strict=False) if not (result == own).any())
    else:
        low, high = _ends(packet, args, {k: machine.decode(v, read) for k, v in node.kwargs.items()})
        yield from ["lower bound"] if low is not None and not (args[0] < low).any() else []
        yield from ["upper bound"] if high is not None and not (args[0] > high).any() else []


def _ends(packet: str, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """What a bounding operator bounds its first argument by, below and above."""
    rest = [*args[1:], None, None]
    if packet == "clamp_max":
        return None, kwargs.get("max", rest[0])
    defaults = (-1.0, 1.0) if packet == "hardtanh" and len(args) == 1 else (rest[0], rest[1])
    return kwargs.get("min", defaults[0]), kwargs.get("max", defaults[1])
