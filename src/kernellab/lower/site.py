"""Where a rule stands: one node of the graph, asked for its value at one index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kernellab.graph import extents
from kernellab.graph.record import DtypeName, Expression, Node, Ref, Special, TensorType
from kernellab.lower.axes import Axis, Index
from kernellab.lower.reals import is_real, real_value
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.values import Kind, Value, apply, number

Indices = tuple[Index, ...]


class NotLowered(Exception):
    """An operator, or a use of one, that there is no rule for; said in words."""


class Reader(Protocol):
    """Gives values of earlier nodes, and axes to reduce over."""

    def at(self, ref: Ref, index: Indices) -> Value: ...
    def type_of(self, ref: Ref) -> TensorType: ...
    def axis(self, name: str, extent: Size) -> tuple[Index, tuple[Axis, ...]]: ...


@dataclass(frozen=True)
class Site:
    reader: Reader
    node: Node
    part: int
    index: Indices

    def arg(self, position: int, name: str = "", default: Any = None) -> Any:
        """As the record has it; numbers plain."""
        given = self.node.args[position] if position < len(self.node.args) else self.node.kwargs.get(name, default)
        return _plain(given)

    @property
    def shape(self) -> list[Size]:
        """Of the result that is asked for."""
        return self.shape_of(self._result)

    @property
    def kind(self) -> Kind:
        return self.kind_of(self._result)

    @property
    def _result(self) -> Ref:
        return Ref(ref=self.node.name, part=self.part)

    def shape_of(self, ref: Ref) -> list[Size]:
        return [Size.of(e) for e in self.reader.type_of(ref).extents]

    def kind_of(self, ref: Ref) -> Kind:
        return kind_of(self.reader.type_of(ref).dtype)

    def dtype_of(self, ref: Ref) -> str:
        return self.reader.type_of(ref).dtype

    def at(self, ref: Ref, index: Sequence[Index]) -> Value:
        return self.reader.at(ref, tuple(index))

    def operand(self, value: Any, index: Sequence[Index] | None = None) -> Value:
        """A tensor broadcast to the result's shape, or a plain number."""
        if not isinstance(value, Ref):
            return self.plain(value)
        own = self.shape_of(value)
        index = self.index if index is None else index
        last = index[len(index) - len(own) :]
        return self.at(value, [Index() if extent == ONE else i for i, extent in zip(last, own, strict=True)])

    def plain(self, value: Any) -> Value:
        if isinstance(value, Size):
            from kernellab.lower.values import place

            return place(Index.of(value))
        if isinstance(value, bool | int | float):
            return number(value)
        if isinstance(value, Expression):
            return real_value(value.expr)
        raise NotLowered(f"{self.node.op} with {value!r}")

    def float_operand(self, value: Any) -> Value:
        return apply("float", self.operand(value))

    def fresh(self, hint: str, extent: Size) -> tuple[Index, tuple[Axis, ...]]:
        """An axis of this node's own, to reduce over."""
        return self.reader.axis(f"{self.node.name}_{hint}", extent)


Rule = Callable[[Site], Value]


def kind_of(dtype: str) -> Kind:
    return "bool" if dtype == "bool" else "float" if dtype.startswith(("float", "bfloat")) else "int"


def dims(value: Any, rank: int) -> list[int]:
    """Axes as positive numbers; none means all."""
    listed = [value] if isinstance(value, int) else list(value or ())
    return sorted({d % max(rank, 1) for d in listed}) if listed else list(range(rank))


def _plain(value: Any) -> Any:
    match value:
        case Expression():
            return _number_or_size(value.expr)
        case Special():
            return float(value.float)
        case DtypeName():
            return value.dtype
        case list():
            return [_plain(v) for v in value]
    return value


def _number_or_size(text: str) -> Any:
    if not extents.symbols_of(text):
        found = extents.evaluate(text, {})
        return int(found) if found == int(found) else found
    if is_real(text):
        return Expression(expr=text)
    return Size.of(text)
