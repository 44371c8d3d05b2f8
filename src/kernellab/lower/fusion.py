"""Which nodes of a graph are stored, and which are written into the kernels that use them.

Everything is written in its place at first. A node whose work would then be done much more often than it has elements is
stored instead, the most wasteful first, until there is none. What is stored and need not be, now that others are, is written
in its place again. Each stored node and each output is a kernel.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kernellab.graph.record import GraphRecord
from kernellab.lower.axes import Axis
from kernellab.lower.inline import Graph, Inliner, Key, Store
from kernellab.lower.rows import rows_of
from kernellab.lower.scans import scan_in, scan_of
from kernellab.lower.scope import Scope
from kernellab.lower.site import NotLowered
from kernellab.lower.values import Apply, Load, Number, Place, Reduce, Value, walk

_WASTE = 4.0
"""Storing an element and reading it back costs about so many operations."""
_NOTICED = 0.02
"""Of all work: less is not worth a kernel of its own."""
_COSTS = {"add": 1.0, "sub": 1.0, "mul": 1.0, "div": 4.0, "sqrt": 4.0, "rsqrt": 5.0, "max": 1.0, "min": 1.0, "where": 1.0,
          "float": 0.5, "int": 0.5, "neg": 0.5, "abs": 0.5, "lt": 0.5, "gt": 0.5, "le": 0.5, "ge": 0.5}  # fmt: skip
_FUNCTION = 12.0
_MOST_CUTS = 200
_MOST_ROUNDS = 4
_MOST_NODES, _DEEP = 1_000, 60
"""Of a graph; and in a row of nodes that are written one into the other."""
_SCANS = ("cumsum", "cumprod", "cummax", "cummin")
"""They go along an axis in order. Where a kernel cannot, it reads what they made."""
_PROGRAMS = 10_000
"""Elements that a large device makes at a time."""
Model = Callable[[Sequence[Store], Mapping[str, int]], "Counter[Value]"]


@dataclass(frozen=True)
class Fusion:
    """Kernels in order; each makes tensors of one shape."""

    graph: Graph
    kernels: tuple[tuple[Store, ...], ...]
    sizes: Mapping[str, int]
    work: float
    """Operations, roughly, at the sizes it was made for."""


def fuse(record: GraphRecord, sizes: Mapping[str, int], model: Model | None = None) -> Fusion:
    """`model`: how often each value is computed, on the machine that it is for."""
    model = model or evaluated
    if len(record.nodes) > _MOST_NODES:
        raise NotLowered(f"a graph of {len(record.nodes)} operations; {_MOST_NODES} is the most so far")
    graph = Graph(record)
    outputs = [(o.ref.ref, o.ref.part) for o in record.outputs]
    needed = frozenset(k for k in outputs if k[0] in graph.nodes) | _deep(record)
    cuts = needed
    for _ in range(_MOST_CUTS):
        plan = _kernels(graph, cuts, sizes, model)
        if plan.worst is None:
            plan = _fewer(plan, needed, lambda fewer: _kernels(graph, fewer, sizes, model))
            return Fusion(graph, tuple(plan.kernels), sizes, plan.work)
        cuts |= {plan.worst}
    raise NotLowered("a graph whose work cannot be kept from being done again and again")


@dataclass(frozen=True)
class _Plan:
    """Kernels that store these nodes. `waste`: for each node that is not stored how much work is done more than once."""

    stored: Mapping[Key, int]
    """With their numbers of elements."""
    kernels: Sequence[tuple[Store, ...]]
    waste: Mapping[Key, float]
    work: float

    @property
    def worst(self) -> Key | None:
        """The most wasteful node, where it is worth a kernel of its own."""
        found = max(self.waste, key=lambda k: self.waste[k], default=None)
        return None if found is None or self.waste[found] < _NOTICED * self.work else found

    @property
    def cost(self) -> float:
        return self.work + _WASTE * sum(self.stored.values())


def _fewer(plan: _Plan, needed: frozenset[Key], replanned: Callable[[frozenset[Key]], _Plan]) -> _Plan:
    """Without those that were stored before others made it needless, the largest first; again, where that made more so."""
    for _ in range(_MOST_ROUNDS):
        before = plan
        for key in sorted(before.stored, key=lambda k: (-before.stored[k], k)):
            if key not in needed:
                other = replanned(frozenset(plan.stored) - {key})
                plan = other if other.worst is None and other.cost <= plan.cost else plan
        if plan is before:
            break
    return plan


def _deep(record: GraphRecord) -> frozenset[Key]:
    """Nodes that are stored because too many stand behind them."""
    depth: dict[str, int] = {}
    found: set[Key] = set()
    for node in record.nodes:
        below = 1 + max((depth.get(r.ref, 0) for r in node.refs()), default=0)
        if below > _DEEP and node.results[0] is not None:
            found.add((node.name, 0))
            below = 0
        depth[node.name] = below
    return frozenset(found)


def _kernels(graph: Graph, cuts: frozenset[Key], sizes: Mapping[str, int], model: Model) -> _Plan:
    order = {n.name: i for i, n in enumerate(graph.record.nodes)}
    found = []
    spent: dict[Key, float] = defaultdict(float)
    once: dict[Key, float] = {}
    work = 0.0
    for key in sorted(cuts, key=lambda k: (order[k[0]], k[1])):
        inliner = Inliner(graph, cuts)
        stores = tuple(inliner.stores([key]))
        found.append(stores)
        times, scanned = model(stores, sizes), scan_of(stores) is not None
        work += _worked(times, sizes)
        for node, value in inliner.written():
            if node not in cuts and not scanned and graph.nodes[node[0]].op.split(".")[1] in _SCANS:
                spent[node], once[node] = math.inf, 0.0
            elif node not in cuts and value in times:
                cost = _cost(value, sizes)
                spent[node] += math.ceil(times[value] * cost)
                once[node] = min(once.get(node, math.inf), cost)
    waste = {node: whole - (once[node] + _WASTE) * _elements(graph, node, sizes) for node, whole in spent.items()}
    stored = {key: _elements(graph, key, sizes) for key in cuts}
    return _Plan(stored, found, {k: w for k, w in waste.items() if w > 0}, work)


def _elements(graph: Graph, node: Key, sizes: Mapping[str, int]) -> int:
    return math.prod(e.at(sizes) for e in graph.shape(node))


def work_of(stores: Sequence[Store], sizes: Mapping[str, int], model: Model) -> float:
    """The operations of one kernel, roughly, at these sizes."""
    return _worked(model(stores, sizes), sizes)


def _worked(times: Counter[Value], sizes: Mapping[str, int]) -> float:
    return sum(times[v] * _own(v, sizes) for v in times)


def evaluated(stores: Sequence[Store], sizes: Mapping[str, int]) -> Counter[Value]:
    """How often each value is computed, when each is computed in the outermost loop that it can be in."""
    times: Counter[Value] = Counter()
    scope = Scope(None, ())
    for axis in stores[0].axes:
        scope = Scope(scope, (axis,))
    for store in stores:
        _visit(store.value, scope, times, sizes)
    return times


def evaluated_apart(stores: Sequence[Store], sizes: Mapping[str, int]) -> Counter[Value]:
    """The same where every element is made for itself, unless all reductions run along a row. What too few do counts as
    often as others stand idle meanwhile: a loss that sums over rows is better made of rows first."""
    if scan_of(stores):
        return evaluated(stores, sizes)
    rows = rows_of(stores)
    if rows is not None:
        order = (*rows.chosen, *(a for a in rows.along if a in stores[0].axes))
        return evaluated([replace(s, axes=order) for s in stores], sizes)
    times: Counter[Value] = Counter()
    scope = Scope(None, stores[0].axes)
    for store in stores:
        _visit(store.value, scope, times, sizes)
    programs = max(1, _points(scope.bound, sizes))
    return Counter({value: count * max(1, min(_PROGRAMS, count) // programs) for value, count in times.items()})


def _visit(value: Value, scope: Scope, times: Counter[Value], sizes: Mapping[str, int]) -> None:
    if scope.known(value) is not None:
        return
    home = scope.home(value)
    home.name(value, "done")
    times[value] += _points(home.bound, sizes)
    inner = home
    scan = scan_in(value) if isinstance(value, Reduce) else None
    if scan is not None and scan.along in home.bound:
        _visit(scan.body, home, times, sizes)
        return
    if isinstance(value, Reduce):
        for axis in value.axes:
            inner = Scope(inner, (axis,))
    for child in value.children():
        _visit(child, inner, times, sizes)


def _points(axes: frozenset[Axis], sizes: Mapping[str, int]) -> int:
    return math.prod(a.extent.at(sizes) for a in axes)


def _own(value: Value, sizes: Mapping[str, int]) -> float:
    """The operations of a value itself, what it is made of aside."""
    if isinstance(value, Reduce):
        return 1.0 if scan_in(value) else float(_points(frozenset(value.axes), sizes))
    if isinstance(value, Apply):
        return _COSTS.get(value.function, _FUNCTION)
    return 0.0 if isinstance(value, Number | Place) else 1.0


def _cost(value: Value, sizes: Mapping[str, int]) -> float:
    """The operations that computing a node once more costs: those between its value and what it is made from."""
    whole = 0.0
    bound: frozenset[Axis] = value.free
    for part in walk(value):
        if isinstance(part, Load) and not part.free - bound:
            continue
        inner = part.free - bound
        whole += _own(part, sizes) * _points(frozenset(inner), sizes)
    return whole
