"""How many elements of each value of a graph any kernel must know, counted backwards from the outputs.

Never more than must be read: what cannot be counted is nothing. Parts of a value (slices, splits) count together, where all
of each is needed. Not covered: which elements an index picks, an order ranks or a window skips of an input.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from kernellab.graph import extents
from kernellab.graph.ops.table import is_view, row
from kernellab.graph.record import Expression, GraphRecord, Node, Ref

Key = tuple[str, int]
_LENGTHS = ("aten.split.", "aten.split_with_sizes")
_SLICES = ("aten.slice.", "aten.slice_copy", "aten.narrow.", "aten.select.", "aten.select_copy", "aten.unbind")
_UNCOUNTED = ("aten.diagonal", "aten.unfold", "aten.tril", "aten.triu", "aten.slice_scatter", "aten.select_scatter")
_SAME = ("aten._to_copy", "aten.clone", "aten.alias")
_EACH_COUNTS = (
    "aten.gather.", "aten.index.", "aten._unsafe_index.", "aten.index_select.", "aten.embedding.", "aten.scatter_add.",
    "aten.index_add.",
)  # fmt: skip
"""Where every index, and everything that is added by one, makes a difference."""
_INPUTS_PARTLY = ("sort", "window")
"""Of what the graph has from outside: behind an operation, what they leave out is rarely left out of the inputs."""


def needed(
    graph: GraphRecord,
    given: Mapping[Key, str],
    dims: Mapping[str, int],
    over: frozenset[tuple[str, int]] = frozenset(),
) -> dict[Key, int]:
    """Of the inputs, at these sizes. `given`: the inputs, and values that are another form of one; `over`: arguments that
    may go unread (gaps.py)."""
    return _Needed(graph, given, dims, over).found()


class _Needed:
    def __init__(
        self, graph: GraphRecord, given: Mapping[Key, str], dims: Mapping[str, int], over: frozenset[tuple[str, int]]
    ) -> None:
        self._graph, self._given, self._dims, self._over = graph, given, dims, over
        self._most: dict[Key, int] = defaultdict(int)
        self._parts: dict[Key, dict[int, list[range]]] = defaultdict(lambda: defaultdict(list))
        self._types = graph.types
        self._shapes: dict[Key, tuple[int, ...]] = {}

    def found(self) -> dict[Key, int]:
        for output in self._graph.outputs:
            key = (output.ref.ref, output.ref.part)
            self._most[key] = math.prod(self._shape(key))
        for node in reversed(self._graph.nodes):
            counts = {key: self._count(key) for key in node.made}
            if any(counts.values()):
                self._read(node, counts)
        return {(i.name, 0): self._count((i.name, 0)) for i in self._graph.inputs}

    def _shape(self, key: Key) -> tuple[int, ...]:
        if key not in self._shapes:
            self._shapes[key] = self._types[key].shape(self._dims)
        return self._shapes[key]

    def _count(self, key: Key) -> int:
        shape, most = self._shape(key), self._most[key]
        for dim, ranges in self._parts[key].items():
            others = math.prod(n for d, n in enumerate(shape) if d != dim)
            most = max(most, _together(ranges, shape[dim]) * others)
        return most

    def _all_of(self, key: Key, counts: Mapping[Key, int]) -> bool:
        return counts[key] == math.prod(self._shape(key))

    def _read(self, node: Node, counts: Mapping[Key, int]) -> None:
        """What a node must know of its arguments, where so much of its results is needed."""
        whole = all(self._all_of(k, counts) for k in counts)
        for place, ref in node.placed_refs():
            key = (ref.ref, ref.part)
            if (node.name, place) in self._over:
                continue
            if place == 0 and node.op.startswith((*_LENGTHS, *_SLICES)):
                self._read_parts(node, key, counts)
            elif place == 0 and node.op.startswith("aten.convolution.") and not whole:
                self._read_windows(node, key)
            elif self._whole(node, place, key):
                self._most[key] = max(self._most[key], self._passed_on(node, key, counts))

    def _passed_on(self, node: Node, key: Key, counts: Mapping[Key, int]) -> int:
        """All of an argument for all of the results; as much where the result is the same elements in another form."""
        whole = math.prod(self._shape(key))
        if all(self._all_of(k, counts) for k in counts if counts[k]):
            return whole
        moved = is_view(node.op) or node.op.startswith(_SAME)
        return counts[(node.name, 0)] if moved and math.prod(self._shape((node.name, 0))) == whole else 0

    def _whole(self, node: Node, place: int, key: Key) -> bool:
        """Whether all of this argument must be read for all of what is needed of the results."""
        kind = getattr(row(node.op), "kind", "gather")
        if kind == "gather":
            return place > 0 and key not in self._given and node.op.startswith(_EACH_COUNTS)
        if kind == "factory" or node.op.startswith(_UNCOUNTED) or (kind in _INPUTS_PARTLY and key in self._given):
            return False
        if node.op.startswith("aten.copy.") and place == 0:
            return False
        if node.op.startswith("aten.constant_pad_nd"):
            amounts = node.args[1] if isinstance(node.args[1], list) else [node.args[1]]
            return all((self._number(a, -1) or 0) >= 0 for a in amounts)
        skips = node.op.startswith("aten.convolution") and place == 0 and key in self._given
        return not (skips and strided(node))

    def _read_windows(self, node: Node, key: Key) -> None:
        """Of a convolution with a stride of one, where a piece of its result is needed: all that lies below the piece."""
        padding, dilation, transposed = node.args[4:7]
        weight, made = node.args[1], self._parts[(node.name, 0)]
        if transposed or strided(node) or not isinstance(weight, Ref):
            return
        for dim, ranges in list(made.items()):
            place = dim - 2
            if place < 0 or len(ranges) != 1 or ranges[0].step != 1:
                continue
            before, apart = (self._number(_nth(list_, place), None) for list_ in (padding, dilation))
            if before is None or apart is None or len(ranges[0]) < apart:
                continue
            reach = (self._shape((weight.ref, weight.part))[dim] - 1) * apart
            low, high = ranges[0].start - before, ranges[0].stop - before + reach
            self._parts[key][dim].append(range(max(0, low), min(self._shape(key)[dim], high)))

    def _read_parts(self, node: Node, key: Key, counts: Mapping[Key, int]) -> None:
        shape = self._shape(key)
        for (name, part), count in counts.items():
            if not shape or not count:
                continue
            self._most[key] = max(self._most[key], count)  # elements of a part are elements of the whole
            where = self._range(node, part, shape)
            if where is not None and self._all_of((name, part), counts):
                dim, places = where
                self._parts[key][dim].append(places)

    def _range(self, node: Node, part: int, shape: tuple[int, ...]) -> tuple[int, range] | None:
        """The dim and the places in it that a part of a value has; None where that cannot be told."""
        packet = node.op.split(".")[1].removesuffix("_copy")
        at = 2 if packet.startswith("split") else 1
        dim = self._argument(node, at, "dim", 0)
        if dim is None or not -len(shape) <= dim < len(shape):
            return None
        dim %= len(shape)
        length = shape[dim]
        if packet == "unbind":
            return dim, range(part, part + 1)
        if packet in ("split", "split_with_sizes"):
            return self._piece(node, part, dim, length)
        start = self._argument(node, 2, "index" if packet == "select" else "start", 0)
        if start is None:
            return None
        start = start + length if start < 0 else start
        if packet == "select":
            return dim, range(start, start + 1)
        if packet == "narrow":
            count = self._argument(node, 3, "length", length)
            return None if count is None else (dim, range(start, start + count))
        end, step = self._argument(node, 3, "end", length), self._argument(node, 4, "step", 1)
        if end is None or not step:
            return None
        return dim, range(length)[start : end + length if end < 0 else end : step]

    def _piece(self, node: Node, part: int, dim: int, length: int) -> tuple[int, range] | None:
        """Of a split, which has one length or a list of them."""
        given = node.args[1]
        if not isinstance(given, list):
            each = self._number(given, 0)
            return (dim, range(length)[part * each : (part + 1) * each]) if each else None
        lengths = [self._number(n, None) for n in given[: part + 1]]
        known = [n for n in lengths if n is not None]
        return (dim, range(sum(known[:-1]), sum(known))) if len(known) == len(lengths) else None

    def _argument(self, node: Node, place: int, name: str, default: int) -> int | None:
        return self._number(node.args[place] if place < len(node.args) else node.kwargs.get(name), default)

    def _number(self, value: Any, default: int | None) -> int | None:
        if value is None:
            return default
        if isinstance(value, Expression):
            return extents.size(value.expr, self._dims)
        return value if isinstance(value, int) else None


def _together(ranges: list[range], length: int) -> int:
    """How many places they have, each once."""
    if any(len(r) == length for r in ranges):
        return length
    plain = sorted((r.start, r.stop) for r in ranges if r.step == 1 and len(r))
    count, end = 0, 0
    for start, stop in plain:
        count += max(0, stop - max(start, end))
        end = max(end, stop)
    return max([count, *(len(r) for r in ranges)])


def _nth(given: Any, place: int) -> Any:
    """Of a list that may have one entry for all."""
    return given[min(place, len(given) - 1)] if isinstance(given, list) else given


def strided(node: Node) -> bool:
    """A convolution whose stride leaves elements out, as far as its arguments tell: any stride but one."""
    stride = node.args[3] if len(node.args) > 3 else 1
    return any(s != 1 for s in stride) if isinstance(stride, list) else stride != 1
