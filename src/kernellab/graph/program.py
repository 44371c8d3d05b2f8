"""A graph as straight-line torch code at given sizes, in the types it was written in: what a baseline runs.

Everything that follows from the sizes is decided when the program is made, so that running it costs what torch costs and
nothing more, and torch.compile can read it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernellab.graph import extents
from kernellab.graph.need_torch import need_torch
from kernellab.graph.ops.table import row
from kernellab.graph.quick import quick, without_data
from kernellab.graph.record import DtypeName, Expression, GraphRecord, Node, Ref, Sizes, Special
from kernellab.graph.sound import function_of

Program = Callable[..., tuple[Any, ...]]


def program(graph: GraphRecord, sizes: Sizes, device: str = "cpu") -> Program:
    """A torch.fx module that takes the graph's inputs in order and gives its outputs."""
    torch = need_torch()
    return _Writer(torch, graph, sizes, device).written()


class _Writer:
    def __init__(self, torch: Any, graph: GraphRecord, sizes: Sizes, device: str) -> None:
        self._torch, self._graph, self._sizes, self._device = torch, graph, sizes, device
        self._types = graph.types
        self._root = torch.nn.Module()
        self._code = torch.fx.Graph()
        self._values: dict[str, Any] = {}
        self._parts: dict[tuple[str, int], Any] = {}

    def written(self) -> Program:
        for entry in self._graph.inputs:
            self._values[entry.name] = self._code.placeholder(entry.name)
        for constant in self._graph.constants:
            plain = [float(v.float) if isinstance(v, Special) else v for v in constant.values]
            dtype = getattr(self._torch, constant.type.dtype)
            tensor = self._torch.tensor(plain, dtype=dtype, device=self._device)
            self._root.register_buffer(constant.name, tensor.reshape(constant.type.shape(self._sizes)))
            self._values[constant.name] = self._code.get_attr(constant.name)
        for node in self._graph.nodes:
            self._values[node.name] = self._call(node)
        self._code.output(tuple(self._read(o.ref) for o in self._graph.outputs))
        made = self._torch.fx.GraphModule(self._root, self._code)
        found: Program = made.forward if self._device == "cpu" else made
        return found

    def _call(self, node: Node) -> Any:
        args = tuple(self._argument(a) for a in node.args)
        kwargs = {k: self._argument(v) for k, v in node.kwargs.items()}
        function = self._function(node.op)
        schema = getattr(function, "_schema", None)
        if schema is not None and any(a.name == "device" for a in schema.arguments):
            kwargs["device"] = self._torch.device(self._device)
        elif schema is not None and self._device == "cpu":
            function = quick(self._torch, function, *self._without_data(node))
        made = self._code.call_function(function, args, kwargs)
        if len(node.results) > 1:
            for i, found in enumerate(node.results):
                if found is not None:
                    self._parts[(node.name, i)] = self._code.call_function(_part, (made, i))
        return made

    def _without_data(self, node: Node) -> tuple[list[Any], dict[str, Any]]:
        """A node's arguments, with tensors that have a shape and a type and nothing else."""

        def read(ref: Ref) -> Any:
            return without_data(self._torch, self._types[(ref.ref, ref.part)], self._sizes)

        return [self._argument(a, read) for a in node.args], {
            k: self._argument(v, read) for k, v in node.kwargs.items()
        }

    def _function(self, op: str) -> Any:
        found = row(op)
        if found is not None and found.meaning is not None:
            return _Meaning(self._torch, found.meaning)
        return function_of(self._torch, op)

    def _read(self, ref: Ref) -> Any:
        return self._parts.get((ref.ref, ref.part), self._values[ref.ref])

    def _argument(self, value: Any, read: Callable[[Ref], Any] | None = None) -> Any:
        match value:
            case Ref():
                return (read or self._read)(value)
            case Expression():
                return extents.evaluate(value.expr, self._sizes)
            case DtypeName():
                return getattr(self._torch, value.dtype)
            case Special():
                return float(value.float)
            case list():
                return [self._argument(v, read) for v in value]
        return value


class _Meaning:
    """An operator whose meaning the table has: as a function of its arguments."""

    def __init__(self, torch: Any, meaning: Callable[..., Any]) -> None:
        self._torch, self._meaning = torch, meaning
        self.__name__, self.__module__ = "meaning", "kernellab.graph.program"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._meaning(self._torch, list(args), kwargs)


def _part(results: Any, i: int) -> Any:
    return results[i]
