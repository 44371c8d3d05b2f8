"""A graph record for people to read: one line a value."""

from __future__ import annotations

from typing import Any

from kernellab.graph.record import Expression, GraphRecord, Ref, Special, TensorType


def text(record: GraphRecord) -> str:
    lines = [f"graph {record.name}, {len(record.nodes)} operations, {record.digest[:12]}"]
    for symbol in record.symbols:
        limit = "" if symbol.high is None else f" to {symbol.high}"
        lines.append(f"  size {symbol.name} from {symbol.low}{limit}, example {symbol.example}")
    for entry in record.inputs:
        source = f"  ({entry.source})" if entry.source else ""
        lines.append(f"  {entry.role} {entry.name}: {_type(entry.type)}{source}")
    for constant in record.constants:
        values = ", ".join(_value(v) for v in constant.values)
        lines.append(f"  constant {constant.name}: {_type(constant.type)} = [{values}]")
    for node in record.nodes:
        arguments = [_value(a) for a in node.args] + [f"{k}={_value(v)}" for k, v in node.kwargs.items()]
        made = ", ".join("-" if r is None else _type(r) for r in node.results)
        where = f"  # {node.line}" if node.line else ""
        lines.append(f"  {node.name} = {node.op.removeprefix('aten.')}({', '.join(arguments)}) -> {made}{where}")
    lines.append("  return " + ", ".join(_value(o.ref) for o in record.outputs))
    return "\n".join(lines)


def _type(found: TensorType) -> str:
    return f"{found.dtype}[{', '.join(map(str, found.extents))}]"


def _value(value: Any) -> str:
    match value:
        case Ref():
            return value.ref if value.part == 0 else f"{value.ref}.{value.part}"
        case Expression():
            return value.expr
        case Special():
            return value.float
        case list():
            return f"[{', '.join(_value(v) for v in value)}]"
        case _:
            return str(getattr(value, "dtype", value))
