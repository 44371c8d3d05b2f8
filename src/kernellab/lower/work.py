"""How often a kernel computes each of its values, on the machine that it is for, and how many operations that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kernellab.lower.axes import Axis, points
from kernellab.lower.inline import Store
from kernellab.lower.rows import rows_of
from kernellab.lower.scans import scan_in, scan_of
from kernellab.lower.scope import Scope
from kernellab.lower.values import Apply, Load, Number, Place, Reduce, Value, walk

_COSTS = {"add": 1.0, "sub": 1.0, "mul": 1.0, "div": 4.0, "sqrt": 4.0, "rsqrt": 5.0, "max": 1.0, "min": 1.0, "where": 1.0,
          "float": 0.5, "int": 0.5, "neg": 0.5, "abs": 0.5, "lt": 0.5, "gt": 0.5, "le": 0.5, "ge": 0.5}  # fmt: skip
_FUNCTION = 12.0
_PROGRAMS = 10_000
"""Elements that a large device makes at a time."""
Times = Callable[[Sequence[Store], Mapping[str, int]], "Counter[Value]"]
"""How often each value of a kernel is computed."""


def work_of(stores: Sequence[Store], sizes: Mapping[str, int], model: Times) -> float:
    """The operations of one kernel, roughly, at these sizes."""
    return worked(model(stores, sizes), sizes)


def worked(times: Counter[Value], sizes: Mapping[str, int]) -> float:
    return sum(times[v] * own(v, sizes) for v in times)


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
    programs = max(1, points(scope.bound, sizes))
    return Counter({value: count * max(1, min(_PROGRAMS, count) // programs) for value, count in times.items()})


def _visit(value: Value, scope: Scope, times: Counter[Value], sizes: Mapping[str, int]) -> None:
    if scope.known(value) is not None:
        return
    home = scope.home(value)
    home.name(value, "done")
    times[value] += points(home.bound, sizes)
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


def own(value: Value, sizes: Mapping[str, int]) -> float:
    """The operations of a value itself, what it is made of aside."""
    if isinstance(value, Reduce):
        return 1.0 if scan_in(value) else float(points(frozenset(value.axes), sizes))
    if isinstance(value, Apply):
        return _COSTS.get(value.function, _FUNCTION)
    return 0.0 if isinstance(value, Number | Place) else 1.0


def cost_of(value: Value, sizes: Mapping[str, int]) -> float:
    """The operations that computing a node once more costs: those between its value and what it is made from."""
    whole = 0.0
    bound: frozenset[Axis] = value.free
    for part in walk(value):
        if isinstance(part, Load) and not part.free - bound:
            continue
        inner = part.free - bound
        whole += own(part, sizes) * points(frozenset(inner), sizes)
    return whole
