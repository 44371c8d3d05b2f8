"""A module record as a Task like the hand-written ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from kernellab.graph import extents
from kernellab.graph.need_torch import need_torch
from kernellab.graph.program import Program, program
from kernellab.graph.record import GraphRecord, TensorType, sizes_from
from kernellab.graph.text import text
from kernellab.tasks.dtypes import np_dtype
from kernellab.tasks.modules.draws import draws, varied
from kernellab.tasks.modules.host_arrays import tensors
from kernellab.tasks.modules.oracle import TorchOracle
from kernellab.tasks.modules.record import ModuleRecord, ShapeGroups
from kernellab.tasks.modules.uses import Uses
from kernellab.tasks.spec import ON_GPU, Buffer, Captured, Dims, Sizes, Task, elements


@dataclass(frozen=True)
class GraphBuffer(Buffer):
    """A buffer whose extents are the graph's own arithmetic."""

    def shape(self, dims: Dims) -> tuple[int, ...]:
        return tuple(extents.size(e, dims) for e in self.extents)


def module_task(record: ModuleRecord) -> Task:
    """Needs no file but the record. Torch is imported when something is computed."""
    graph = record.graph
    oracle = TorchOracle(graph, record.precision)
    inputs = tuple(_buffer(i.name, i.type, i.role != "input") for i in graph.inputs)
    taken = {b.name for b in inputs}
    outputs = tuple(_buffer(_output_name(n, taken), o.type) for n, o in enumerate(graph.outputs))
    uses = Uses(graph, masked=record.version > 2)
    shapes, larger = record.shapes, record.device_shapes
    return Task(
        name=record.name,
        about=_about(record),
        inputs=inputs,
        outputs=outputs,
        reference=oracle.reference,
        tune=shapes.tune,
        held_out=shapes.held_out,
        edge=shapes.edge,
        sizes={} if larger == shapes else {ON_GPU: _sizes(larger)},
        distributions=draws(graph, record.distributions),
        baselines={k: _into(_programs(g), graph) for k, g in _spellings(graph).items()},
        gpu_baselines={k: OnDevice(_programs(g), graph, record.precision) for k, g in _spellings(graph).items()},
        bytes_moved=partial(_least_bytes, _least_read(uses, inputs, record.version), inputs, outputs),
        precision=record.precision,
        captured=Captured(graph, oracle, record.digest, text(graph), tuple(filter(varied, record.distributions))),
    )


def _buffer(name: str, found: TensorType, weight: bool = False) -> Buffer:
    """Single numbers are buffers of one element, booleans bytes."""
    dtype = "uint8" if found.dtype == "bool" else found.dtype
    return GraphBuffer(name, found.extents or (1,), dtype, weight=weight)


def _output_name(number: int, taken: set[str]) -> str:
    name = f"out{number}" if number else "out"
    return f"{name}_" if name in taken else name


def _about(record: ModuleRecord) -> str:
    suite = f" of {record.origin.suite}" if record.origin.suite else ""
    name = record.origin.problem or record.graph.name
    return f"{name}{suite}: {len(record.graph.nodes)} operations, captured from PyTorch"


def _sizes(groups: ShapeGroups) -> Sizes:
    return Sizes(groups.tune, groups.held_out, groups.edge)


LeastRead = Callable[[Buffer, Dims], int]


def _least_read(uses: Uses, inputs: tuple[Buffer, ...], version: int) -> LeastRead:
    """Elements of an input that no kernel can leave unread, as this version of records counts them."""
    if version > 1:
        return lambda buffer, dims: uses.least_read(buffer.name, dims)
    whole = {b.name for b in inputs if uses.wholly_read(b.name)}
    return lambda buffer, dims: elements([buffer], dims) if buffer.name in whole else 0


def _least_bytes(read: LeastRead, inputs: tuple[Buffer, ...], outputs: tuple[Buffer, ...], dims: Dims) -> int:
    """What is written, and of the inputs what must be read."""
    known = sum(read(b, dims) * np_dtype(b.dtype).itemsize for b in inputs)
    return known + sum(b.nbytes(dims) for b in outputs)


def _spellings(graph: GraphRecord) -> dict[str, GraphRecord]:
    """As the module is written, and where that is taken apart, in core operators: torch may do either faster."""
    written = graph.written or graph
    return {"torch": written} | ({"torch-core": graph} if len(written.nodes) != len(graph.nodes) else {})


def _programs(graph: GraphRecord) -> Callable[[tuple[tuple[int, ...], ...], str], Program]:
    """Straight-line code for each set of input shapes, made when it is first wanted."""

    @cache
    def made(shapes: tuple[tuple[int, ...], ...], device: str) -> Program:
        names = [i.name for i in graph.inputs]
        return program(graph, sizes_from(graph, dict(zip(names, shapes, strict=True))), device)

    return made


def _into(programs: Callable[..., Program], graph: GraphRecord) -> Callable[..., None]:
    """Torch's own operators one after the other, eagerly, on arrays or tensors; the results go into the outputs.

    Called in a clock: tensors that are what the graph wants are taken as they are, which on small ones is much of the time.
    """
    count = len(graph.inputs)
    ready = all(i.type.extents and i.type.dtype != "bool" for i in graph.inputs)

    def run(*buffers: Any) -> None:
        torch = need_torch()
        values: Sequence[Any] = buffers[:count]
        if not ready or not all(type(v) is torch.Tensor for v in values):
            values = list(tensors(graph, values).values())
        if torch.is_grad_enabled():
            with torch.no_grad():
                results = programs(tuple([v.shape for v in values]), "cpu")(*values)
        else:
            results = programs(tuple([v.shape for v in values]), "cpu")(*values)
        for out, value in zip(buffers[count:], results, strict=True):
            _written(torch, out, value)

    return run


def _written(torch: Any, out: Any, value: Any) -> None:
    if isinstance(out, np.ndarray):
        wide = value.float() if value.dtype == torch.bfloat16 else value
        out[...] = wide.reshape(out.shape).numpy().astype(out.dtype)
    else:
        out.copy_(value if value.shape == out.shape else value.reshape(out.shape))


@dataclass(frozen=True)
class OnDevice:
    """The same on a GPU, with torch's switches set to the task's contract."""

    programs: Callable[..., Program]
    graph: GraphRecord
    precision: str

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        self._set_switches()
        given = list(tensors(self.graph, inputs).values())
        return self.programs(tuple(tuple(v.shape) for v in given), "cuda")(*given)

    def straight(self, *inputs: Any) -> Callable[..., Any]:
        """For inputs of these shapes, as code that torch.compile can read: nothing in it is looked up or decided."""
        self._set_switches()
        torch = need_torch()
        given = list(tensors(self.graph, inputs).values())
        program = self.programs(tuple(tuple(v.shape) for v in given), str(given[0].device.type))
        flags = tuple(i.type.dtype == "bool" for i in self.graph.inputs)
        single = tuple(not i.type.extents for i in self.graph.inputs)

        def run(*buffers: Any) -> Any:
            values = [b.to(torch.bool) if flag else b for b, flag in zip(buffers, flags, strict=True)]
            return program(*[v.reshape(()) if one else v for v, one in zip(values, single, strict=True)])

        return run

    def _set_switches(self) -> None:
        torch = need_torch()
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.precision != "ieee"
