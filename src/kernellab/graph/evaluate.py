"""A graph evaluated node by node, in float64 or in the types it was written in: a second spelling of the module.

Floats of every type become float64 (`wide`), and casts between them change nothing; integers and booleans stay. As written
(`wide=False`) the same graph gives what an honest implementation in the module's own types gives. `operands` is applied to
what goes into products, to see what rounding them first would do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernellab.graph import extents
from kernellab.graph.need_torch import need_torch
from kernellab.graph.ops.table import row
from kernellab.graph.record import (
    FLOATS,
    DtypeName,
    Expression,
    GraphRecord,
    Node,
    Ref,
    Sizes,
    Special,
    TensorType,
    sizes_from,
)  # fmt: skip
from kernellab.graph.sound import function_of

Values = dict[tuple[str, int], Any]
Operands = Callable[[Any], Any]


def evaluate(
    record: GraphRecord, inputs: Mapping[str, Any], wide: bool = True, operands: Operands | None = None
) -> list[Any]:
    """The outputs, in the record's order. `inputs` holds a tensor for each of the record's inputs, by name."""
    machine = Machine(record, inputs, wide, operands)
    values = machine.start()

    def read(ref: Ref) -> Any:
        return values[(ref.ref, ref.part)]

    last, kept = last_use(record), {o.ref.ref for o in record.outputs}
    for number, node in enumerate(record.nodes):
        values.update({(node.name, i): r for i, r in enumerate(machine.results(node, read))})
        for key in [k for k in values if last.get(k[0], -1) <= number and k[0] not in kept]:
            del values[key]
    return [values[(o.ref.ref, o.ref.part)] for o in record.outputs]


def last_use(record: GraphRecord) -> dict[str, int]:
    """The number of the last node that reads a value; its own, where none does."""
    found: dict[str, int] = {}
    for number, node in enumerate(record.nodes):
        found |= {ref.ref: number for ref in node.refs()}
        found.setdefault(node.name, number)
    return found


class Machine:
    """Runs nodes of one record at the sizes of its inputs."""

    def __init__(
        self, record: GraphRecord, inputs: Mapping[str, Any], wide: bool = True, operands: Operands | None = None
    ) -> None:
        self.torch = need_torch()
        self.record = record
        self.wide = wide
        self._operands = operands
        missing = [i.name for i in record.inputs if i.name not in inputs]
        if missing:
            raise ValueError(f"no tensor for {', '.join(missing)}")
        self._inputs = {i.name: inputs[i.name] for i in record.inputs}
        self.sizes: Sizes = sizes_from(record, {n: tuple(t.shape) for n, t in self._inputs.items()})
        tensors = list(self._inputs.values())
        self.device = tensors[0].device if tensors else self.torch.device("cpu")

    def start(self) -> Values:
        """Inputs and constants."""
        values: Values = {(n, 0): self._taken(t) for n, t in self._inputs.items()}
        for constant in self.record.constants:
            plain = [float(v.float) if isinstance(v, Special) else v for v in constant.values]
            tensor = self.torch.tensor(plain, dtype=self._dtype(constant.type.dtype), device=self.device)
            values[(constant.name, 0)] = tensor.reshape(constant.type.shape(self.sizes))
        return values

    def _taken(self, tensor: Any) -> Any:
        tensor = tensor.detach()
        return tensor.double() if self.wide and tensor.is_floating_point() else tensor

    def results(self, node: Node, read: Callable[[Ref], Any]) -> tuple[Any, ...]:
        """What a node makes of the values that `read` finds."""
        args = [self.decode(a, read) for a in node.args]
        kwargs = {k: self.decode(v, read) for k, v in node.kwargs.items()}
        answer = self.run(node.op, args, kwargs)
        results = tuple(answer) if isinstance(answer, list | tuple) else (answer,)
        return tuple(None if t is None else r for r, t in zip(results, node.results, strict=True))

    def run(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """One operator on tensors and plain values."""
        found = row(op)
        if self._operands is not None and found is not None and found.kind in ("contraction", "attention"):
            args = [self._operands(a) if self.is_float(a) else a for a in args]
        if found is not None and found.meaning is not None:
            return found.meaning(self.torch, args, kwargs)
        function = function_of(self.torch, op)
        if kwargs.get("dtype") is not None or not any(isinstance(a, self.torch.Tensor) for a in _flat(args)):
            kwargs = {**kwargs, **self._placed(function)}
        return function(*args, **kwargs)

    def is_float(self, value: Any) -> bool:
        return isinstance(value, self.torch.Tensor) and bool(value.is_floating_point())

    def _placed(self, function: Any) -> dict[str, Any]:
        """Tensors made from nothing are made where the inputs are."""
        takes = any(a.name == "device" for a in function._schema.arguments)
        return {"device": self.device} if takes else {}

    def decode(self, value: Any, read: Callable[[Ref], Any]) -> Any:
        """An argument of the record as a tensor or a plain value."""
        match value:
            case Ref():
                return read(value)
            case Expression():
                return extents.evaluate(value.expr, self.sizes)
            case DtypeName():
                return self._dtype(value.dtype)
            case Special():
                return float(value.float)
            case list():
                return [self.decode(v, read) for v in value]
        return value

    def _dtype(self, name: str) -> Any:
        return self.torch.float64 if self.wide and name in FLOATS else getattr(self.torch, name)

    def shape(self, found: TensorType) -> tuple[int, ...]:
        return found.shape(self.sizes)


def _flat(values: list[Any]) -> list[Any]:
    return [x for v in values for x in (_flat(v) if isinstance(v, list) else [v])]
