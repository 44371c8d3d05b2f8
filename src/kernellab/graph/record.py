"""The graph record: a captured module as plain data. Versioned, hashed, JSON; no code and no torch in it.

Weights and buffers are inputs, never constants. Sizes that may vary are symbols; extents are integers or arithmetic over
them. The digest covers what is computed. It does not cover names, source lines, example sizes or what the examples held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from kernellab.core.ids import digest
from kernellab.core.records import Record
from kernellab.graph import extents
from kernellab.graph.forms import Form
from kernellab.graph.sound import check_names, check_operator

VERSION = 1
MOST_CONSTANT = 64
"""Elements of a constant tensor that is kept in the record; a larger one becomes an input."""

FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
TINY = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-126, "bfloat16": 2.0**-126}
"""What flushing float32 subnormals may lose; float16 keeps its own."""

Dtype = Literal["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
Extent = Annotated[int, Field(strict=True, ge=0)] | str
Role = Literal["input", "weight", "buffer", "constant"]
Sizes = Mapping[str, int]


class Ref(Record):
    """A value made earlier: an input, a constant or a node, and which of a node's results."""

    ref: str
    part: int = 0


class Expression(Record):
    """A number that follows from the sizes."""

    expr: str


class DtypeName(Record):
    dtype: Dtype


class Special(Record):
    """A float that JSON cannot hold."""

    float: Literal["inf", "-inf", "nan"]


Plain = None | bool | int | float | str
Single = Ref | Expression | DtypeName | Special | Plain
Arg = Single | list[Single | list[Single]]


class TensorType(Record):
    dtype: Dtype
    extents: tuple[Extent, ...]

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(extents.size(e, sizes) for e in self.extents)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS


class Symbol(Record):
    """A size that may vary between `low` and `high` (none: no limit); `example` is what it was captured at."""

    name: str
    low: int
    high: int | None
    example: int


class Seen(Record):
    """What the example held, where it was small enough to be drawn. `hidden`: the share of minus infinity, as masks have it;
    the rest is said of the other elements. `form`: what a buffer is, where it is always the same (forms.py)."""

    low: float
    high: float
    mean: float
    zeros: float
    hidden: float = 0.0
    form: Form = ""


class GraphInput(Record):
    """`source` is where a weight, buffer or constant lives in the module, for example "conv.weight"."""

    name: str
    role: Role
    type: TensorType
    source: str = ""
    seen: Seen | None = None


class Constant(Record):
    """A small tensor written in the module's code; `values` in row-major order."""

    name: str
    type: TensorType
    values: tuple[int | float | bool | Special, ...]


class Node(Record):
    """One core ATen call. `results` has one entry a result, None for one that is not made."""

    name: str
    op: str
    args: list[Arg]
    kwargs: dict[str, Arg] = Field(default_factory=dict)
    results: tuple[TensorType | None, ...]
    line: str = ""

    @property
    def made(self) -> list[tuple[str, int]]:
        """Its results, as references name them."""
        return [(self.name, part) for part, result in enumerate(self.results) if result is not None]

    def refs(self) -> Iterator[Ref]:
        yield from (ref for _, ref in self.placed_refs())

    def placed_refs(self) -> Iterator[tuple[int, Ref]]:
        """Each with the number of the argument that it is, or stands in."""
        for place, argument in enumerate([*self.args, *self.kwargs.values()]):
            yield from ((place, ref) for ref in _refs([argument]))


class Output(Record):
    ref: Ref
    type: TensorType


class GraphRecord(Record):
    version: Literal[1] = 1
    name: str
    torch: str
    symbols: tuple[Symbol, ...]
    inputs: tuple[GraphInput, ...]
    constants: tuple[Constant, ...] = ()
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    requires: tuple[str, ...] = ()
    """Conditions on the sizes, for example "d0 >= 3": outside them the graph is another one."""
    fixed: dict[str, Plain] = Field(default_factory=dict)
    """Arguments that are no tensors, fixed at their example's value."""
    written: GraphRecord | None = None
    """The same in the operators that the module's code calls, where they are others: for baselines alone."""

    @model_validator(mode="after")
    def _whole(self) -> GraphRecord:
        """Every name once, every reference to something earlier, every extent over known symbols."""
        known = {s.name for s in self.symbols}
        check_names([*known, *(name for name, _ in self._given())])
        parts: dict[str, int] = {}
        for name, found in self._given():
            _new(parts, name, 1)
            _check_extents(found, known)
        for node in self.nodes:
            check_operator(node.op)
            check_names([node.name, *node.kwargs])
            for ref in node.refs():
                _earlier(parts, ref, node.name)
            for result in node.results:
                _check_extents(result, known)
            for expression in _expressions([*node.args, *node.kwargs.values()]):
                _check_expression(expression, known)
            _new(parts, node.name, len(node.results))
        for condition in self.requires:
            if extents.symbols_of_condition(condition) - known:
                raise ValueError(f"'{condition}' has unknown sizes")
        if not self.outputs:
            raise ValueError("a graph without outputs")
        for output in self.outputs:
            _earlier(parts, output.ref, "the output")
            _same_type(self.types.get((output.ref.ref, output.ref.part)), output)
        return self

    def _given(self) -> list[tuple[str, TensorType]]:
        return [*((i.name, i.type) for i in self.inputs), *((c.name, c.type) for c in self.constants)]

    @property
    def digest(self) -> str:
        return digest(canonical(self))

    @property
    def example(self) -> dict[str, int]:
        return {s.name: s.example for s in self.symbols}

    @property
    def floats_alone(self) -> bool:
        """Whether no value is anything else, in what the module calls either: then nothing is looked up at a place. One that
        is outside is an error on a processor, and the end of the whole process on a GPU."""
        graphs = (self, self.written) if self.written else (self,)
        return all(found.is_float for graph in graphs for found in graph.types.values())

    @property
    def types(self) -> dict[tuple[str, int], TensorType]:
        """The type of every value, by name and part."""
        found = {(name, 0): given for name, given in self._given()}
        for node in self.nodes:
            found |= {(node.name, i): r for i, r in enumerate(node.results) if r is not None}
        return found


def canonical(record: GraphRecord) -> dict[str, Any]:
    """The record with numbers for names, and only what decides the result."""
    names = [*(i.name for i in record.inputs), *(c.name for c in record.constants), *(n.name for n in record.nodes)]
    number = {name: i for i, name in enumerate(names)}
    return {
        "version": record.version,
        "symbols": [[s.name, s.low, s.high] for s in record.symbols],
        "requires": list(record.requires),
        "inputs": [[i.role, _plain_type(i.type)] for i in record.inputs],
        "constants": [[_plain_type(c.type), [_plain(v, number) for v in c.values]] for c in record.constants],
        "nodes": [
            [n.op, _plain(n.args, number), {k: _plain(v, number) for k, v in n.kwargs.items()},
             [_plain_type(r) for r in n.results]]
            for n in record.nodes
        ],
        "outputs": [_plain(o.ref, number) for o in record.outputs],
    }  # fmt: skip


def sizes_from(record: GraphRecord, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """The symbols' values at given input shapes; a ValueError names the input whose shape does not fit."""
    sizes: dict[str, int] = {}
    for entry in record.inputs:
        shape = shapes[entry.name]
        if len(shape) != len(entry.type.extents):
            raise ValueError(f"{entry.name} has {len(shape)} dims, not {len(entry.type.extents)}")
        for extent, found in zip(entry.type.extents, shape, strict=True):
            if isinstance(extent, str) and extent.isidentifier():
                sizes.setdefault(extent, found)
    for entry in record.inputs:
        if entry.type.shape(sizes) != tuple(shapes[entry.name]):
            raise ValueError(f"{entry.name} has shape {tuple(shapes[entry.name])}, not {entry.type.shape(sizes)}")
    return sizes


def allowed(record: GraphRecord, sizes: Sizes) -> bool:
    """Whether the graph is valid at these sizes."""
    inside = all(s.low <= sizes[s.name] and (s.high is None or sizes[s.name] <= s.high) for s in record.symbols)
    return inside and all(extents.holds(condition, sizes) for condition in record.requires)


def _refs(values: Iterable[Any]) -> Iterator[Ref]:
    for value in values:
        if isinstance(value, Ref):
            yield value
        elif isinstance(value, list):
            yield from _refs(value)


def _expressions(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Expression):
            yield value.expr
        elif isinstance(value, list):
            yield from _expressions(value)


def _new(parts: dict[str, int], name: str, results: int) -> None:
    if name in parts:
        raise ValueError(f"two values are called '{name}'")
    parts[name] = results


def _earlier(parts: dict[str, int], ref: Ref, where: str) -> None:
    if not 0 <= ref.part < parts.get(ref.ref, 0):
        raise ValueError(f"{where} reads '{ref.ref}' ({ref.part}), which is not made before it")


def _same_type(made: TensorType | None, output: Output) -> None:
    """The digest covers what nodes make: an output that said otherwise would be another task of the same name."""
    if made != output.type:
        raise ValueError(f"the output '{output.ref.ref}' is not of the type that it is made in")


def _check_extents(found: TensorType | None, known: set[str]) -> None:
    for extent in found.extents if found else ():
        if isinstance(extent, str):
            _check_expression(extent, known)


def _check_expression(expression: str, known: set[str]) -> None:
    if unknown := extents.symbols_of(expression) - known:
        raise ValueError(f"'{expression}' has unknown sizes: {', '.join(sorted(unknown))}")


def _plain_type(found: TensorType | None) -> list[Any] | None:
    return [found.dtype, list(found.extents)] if found else None


def _plain(value: Any, number: dict[str, int]) -> Any:
    if isinstance(value, Ref):
        return {"ref": number[value.ref], "part": value.part}
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [_plain(v, number) for v in value]
    return value
