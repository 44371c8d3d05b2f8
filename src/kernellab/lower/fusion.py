"""Which nodes of a graph are stored, and which are written into the kernels that use them.

Everything is written in its place at first. A node whose work would then be done much more often than it has elements is
stored instead, the most wasteful first, until there is none. What is stored and need not be, now that others are, is written
in its place again. Each stored node and each output is a kernel. `plans.py` asks what else could be stored.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernellab.graph.record import GraphRecord
from kernellab.lower.axes import points
from kernellab.lower.inline import Graph, Inliner, Key, Store, reductions_of
from kernellab.lower.rows import SHORT, windows_of
from kernellab.lower.scans import scan_of
from kernellab.lower.site import NotLowered
from kernellab.lower.values import Value
from kernellab.lower.work import Times, cost_of, evaluated, worked

WASTE = 4.0
"""Storing an element and reading it back costs about so many operations."""
_NOTICED = 0.02
"""Of all work: less is not worth a kernel of its own."""
_MOST_CUTS = 200
_MOST_ROUNDS = 4
_MOST_NODES, _DEEP = 1_000, 60
"""Of a graph; and in a row of nodes that are written one into the other."""
_SCANS = ("cumsum", "cumprod", "cummax", "cummin")
"""They go along an axis in order. Where a kernel cannot, it reads what they made."""


@dataclass(frozen=True)
class Fusion:
    """Kernels in order; each makes tensors of one shape. `label` and `why`: what differs from the first plan of a graph."""

    graph: Graph
    kernels: tuple[tuple[Store, ...], ...]
    sizes: Mapping[str, int]
    label: str = ""
    why: str = ""

    def stored_as(self, key: Key) -> str:
        """As the module itself rounds it there."""
        return self.graph.kept.dtype(key)


def fuse(record: GraphRecord, sizes: Mapping[str, int], model: Times | None = None) -> Fusion:
    """`model`: how often each value is computed, on the machine that it is for."""
    planner = Planner(record, sizes, model or evaluated)
    return planner.fusion(planner.first())


@dataclass(frozen=True)
class Plan:
    """Kernels that store these nodes. Of each node that is not stored: how much work is done more than once, less what it
    would cost to store it; and one of its values."""

    stored: Mapping[Key, int]
    """With their numbers of elements."""
    kernels: tuple[tuple[Store, ...], ...]
    waste: Mapping[Key, float]
    values: Mapping[Key, Value]
    work: float
    """Operations, roughly."""

    @property
    def worst(self) -> Key | None:
        """The most wasteful node, where it is worth a kernel of its own."""
        found = max(self.waste, key=lambda k: self.waste[k], default=None)
        least = _NOTICED * self.work
        return found if found is not None and self.waste[found] > 0 and self.waste[found] >= least else None

    @property
    def cost(self) -> float:
        return self.work + WASTE * sum(self.stored.values())


@dataclass(frozen=True)
class _Kernel:
    """`met`: the nodes on the way to what is stored, `read` those of them that are; of each value that is written in its
    place the operations that computing it once more costs, and those of all times."""

    stores: tuple[Store, ...]
    met: frozenset[Key]
    read: frozenset[Key]
    inside: Sequence[tuple[Key, Value, float, float]]
    work: float


class Planner:
    """Plans of one graph at some sizes. A kernel is made once for all plans that cut the graph alike around it."""

    def __init__(self, record: GraphRecord, sizes: Mapping[str, int], model: Times) -> None:
        if len(record.nodes) > _MOST_NODES:
            raise NotLowered(f"a graph of {len(record.nodes)} operations; {_MOST_NODES} is the most so far")
        self.graph, self.sizes, self._model = Graph(record), sizes, model
        record = self.graph.record
        self.needed = frozenset(k for k in self.graph.outputs if k[0] in self.graph.nodes) | _deep(record)
        self._order = {n.name: i for i, n in enumerate(record.nodes)}
        self._made: dict[Key, list[_Kernel]] = defaultdict(list)

    def fusion(self, plan: Plan, label: str = "", why: str = "") -> Fusion:
        return Fusion(self.graph, plan.kernels, self.sizes, label, why)

    def first(self) -> Plan:
        """By what is wasteful, and nothing else."""
        cuts = self.needed
        for _ in range(_MOST_CUTS):
            plan = self.plan(cuts)
            if plan.worst is None:
                return self._fewer(plan)
            cuts |= {plan.worst}
        raise NotLowered("a graph whose work cannot be kept from being done again and again")

    def _fewer(self, plan: Plan) -> Plan:
        """Without those that were stored before others made it needless, the largest first; again, where that made more
        so."""
        for _ in range(_MOST_ROUNDS):
            before = plan
            for key in sorted(before.stored, key=lambda k: (-before.stored[k], k)):
                if key not in self.needed:
                    other = self.plan(frozenset(plan.stored) - {key})
                    plan = other if other.worst is None and other.cost <= plan.cost else plan
            if plan is before:
                break
        return plan

    def plan(self, cuts: frozenset[Key]) -> Plan:
        """With these nodes stored, which must be all that are needed and perhaps others."""
        kernels = [self._kernel(key, cuts) for key in sorted(cuts, key=lambda k: (self._order[k[0]], k[1]))]
        spent: dict[Key, float] = defaultdict(float)
        once: dict[Key, float] = defaultdict(lambda: math.inf)
        values: dict[Key, Value] = {}
        for node, value, cost, whole in (inside for kernel in kernels for inside in kernel.inside):
            spent[node] += whole
            once[node] = min(once[node], cost)
            values.setdefault(node, value)
        waste = {node: whole - (once[node] + WASTE) * self.elements(node) for node, whole in spent.items()}
        stored = {key: self.elements(key) for key in cuts}
        return Plan(stored, tuple(k.stores for k in kernels), waste, values, sum(k.work for k in kernels))

    def _kernel(self, key: Key, cuts: frozenset[Key]) -> _Kernel:
        for known in self._made[key]:
            if known.met & cuts == known.read:
                return known
        inliner = Inliner(self.graph, cuts)
        stores = tuple(inliner.stores([key]))
        times, scanned = self._model(stores, self.sizes), scan_of(stores) is not None
        met, inside, alone = inliner.written(), [], _unlike(stores, self.sizes)
        for node, value in met:
            ordered = not scanned and self.graph.nodes[node[0]].op.split(".")[1] in _SCANS
            if node not in cuts and (ordered or value in alone):
                inside.append((node, value, 0.0, math.inf))
            elif node not in cuts and value in times:
                cost = cost_of(value, self.sizes)
                inside.append((node, value, cost, math.ceil(times[value] * cost)))
        nodes = frozenset(node for node, _ in met)
        found = _Kernel(stores, nodes, nodes & cuts, inside, worked(times, self.sizes))
        self._made[key].append(found)
        return found

    def elements(self, node: Key) -> int:
        return math.prod(e.at(self.sizes) for e in self.graph.shape(node))


def _unlike(stores: Sequence[Store], sizes: Mapping[str, int]) -> set[Value]:
    """Long sums of unlike things that meet in a kernel, but for the largest result: no loop would make them together, and
    one thread would go over each."""
    if windows_of(stores):
        return set()
    long = [v for v in reductions_of(stores) if points(v.axes, sizes) > SHORT]
    inside = {a for v in long for a in v.axes}
    if len({tuple(a.extent for a in v.axes) for v in long}) < 2 or any(v.free & inside for v in long):
        return set()
    kept = max(long, key=lambda v: points(v.free, sizes))
    return {v for v in long if v is not kept}


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
