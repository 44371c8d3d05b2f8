"""Graph -> loop form: the value of a node at an index, with every node between it and what is stored written in its place.

What is stored: the graph's inputs, and the nodes at which it is cut. Where a reshape would cut through an axis, the
axis becomes two, and all begins again with both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.graph.record import GraphRecord, Ref, Special, TensorType
from kernellab.lower.axes import Axis, Index, Refine, linear
from kernellab.lower.distinct import distinct
from kernellab.lower.kept import Kept
from kernellab.lower.rules.table import rule
from kernellab.lower.same_sizes import as_products
from kernellab.lower.site import Indices, NotLowered, Site, kind_of
from kernellab.lower.sizes import Size
from kernellab.lower.values import Load, Reduce, Value, apply, load, number, place, reductions_in, walk

Key = tuple[str, int]
_MOST_SPLITS = 64
_MOST_NODES = 2_000
"""Of one kernel: what is longer is cut by the fusion."""


@dataclass(frozen=True)
class Store:
    """One tensor that a kernel makes: `value` at `index`, for every point of `axes`."""

    tensor: Key
    index: Indices
    value: Value
    axes: tuple[Axis, ...]


def reductions_of(stores: Sequence[Store]) -> list[Reduce]:
    """Of all their values, each once."""
    return reductions_in(*(s.value for s in stores))


def loads_of(stores: Sequence[Store]) -> list[Load]:
    """What all their values read, each once."""
    return [v for v in walk(*(s.value for s in stores)) if isinstance(v, Load)]


class Graph:
    """A record, by name; its outputs are tensors of their own."""

    def __init__(self, record: GraphRecord) -> None:
        self.record = record = distinct(record)
        self.types = as_products(record)
        self.kept = Kept(record)
        self.nodes = {n.name: n for n in record.nodes}
        self.constants = {c.name: c for c in record.constants}
        self.outputs: list[Key] = [(o.ref.ref, o.ref.part) for o in record.outputs]
        self.keys = {tensor_name(key): key for key in self.types}

    def shape(self, key: Key) -> list[Size]:
        return [Size.of(e) for e in self.types[key].extents]


class Inliner:
    """Values in terms of the inputs and of the nodes in `cuts`."""

    def __init__(self, graph: Graph, cuts: frozenset[Key]) -> None:
        self._graph, self._cuts = graph, cuts
        self._splits: dict[str, Size] = {}
        self._known: dict[tuple[Key, Indices], Value] = {}
        self._target: Key | None = None
        self._letters: dict[str, str] = {}

    def stores(self, keys: Sequence[Key]) -> list[Store]:
        """Tensors of one shape, made by one kernel over the same axes."""
        for _ in range(_MOST_SPLITS):
            try:
                return self._stores(keys)
            except Refine as refine:
                self._splits[refine.axis.name] = refine.inner
                self._known.clear()
        raise NotLowered("a chain of reshapes that splits axes without end")

    def _stores(self, keys: Sequence[Key]) -> list[Store]:
        found = []
        index: Indices = ()
        axes: tuple[Axis, ...] = ()
        for number_, extent in enumerate(self._graph.shape(keys[0])):
            one, made = self._axis(f"i{number_}", extent)
            index, axes = (*index, one), axes + made
        for key in keys:
            self._target = key
            found.append(Store(key, index, self._value(key, index), axes))
        return found

    def axis(self, name: str, extent: Size) -> tuple[Index, tuple[Axis, ...]]:
        """An axis of a node's own by the node's word for it; loops have short names."""
        return self._axis(self._letters.setdefault(name, f"r{len(self._letters)}"), extent)

    def _axis(self, name: str, extent: Size) -> tuple[Index, tuple[Axis, ...]]:
        if extent.number == 1:
            return Index(), ()
        inner = self._splits.get(name)
        if inner is None:
            axis = Axis(name, extent)
            return Index.of(axis), (axis,)
        outer = extent.over(inner)
        assert outer is not None
        above, first = self._axis(f"{name}o", outer)
        below, second = self._axis(f"{name}i", inner)
        return above.times(inner) + below, (*first, *second)

    def type_of(self, ref: Ref) -> TensorType:
        return self._graph.types[(ref.ref, ref.part)]

    def at(self, ref: Ref, index: Indices) -> Value:
        return self._value((ref.ref, ref.part), index)

    def written(self) -> list[tuple[Key, Value]]:
        """Every node that was written in its place, with its value there."""
        return [(key, value) for (key, _), value in self._known.items() if key[0] in self._graph.nodes]

    def _value(self, key: Key, index: Indices) -> Value:
        known = self._known.get((key, index))
        if known is None:
            if len(self._known) > _MOST_NODES:
                raise NotLowered("too much in one kernel")
            known = self._known[(key, index)] = self._made(key, index)
        return known

    def _made(self, key: Key, index: Indices) -> Value:
        name, part = key
        stored = key in self._cuts and key != self._target
        if name in self._graph.constants:
            return self._constant(name, index)
        if stored or name not in self._graph.nodes:
            return load(tensor_name(key), index, kind_of(self._graph.types[key].dtype))
        node = self._graph.nodes[name]
        found = rule(node.op)
        if found is None:
            raise NotLowered(f"there is no rule for {node.op}" + (f" ({node.line})" if node.line else ""))
        value = found(Site(self, node, part, index))
        return apply(kind, value) if (kind := kind_of(self._graph.types[key].dtype)) != "bool" else value

    def _constant(self, name: str, index: Indices) -> Value:
        """A number; of a small table, the one whose turn it is."""
        constant = self._graph.constants[name]
        numbers = [number(float(v.float) if isinstance(v, Special) else v) for v in constant.values]
        if not numbers:
            raise NotLowered("a constant without elements")
        where = place(linear(index, self._graph.shape((name, 0))))
        found: Value = numbers[-1]
        for spot, each in reversed(list(enumerate(numbers[:-1]))):
            found = apply("where", apply("eq", where, number(spot)), each, found)
        return found


def tensor_name(key: Key) -> str:
    return key[0] if not key[1] else f"{key[0]}_{key[1]}"
