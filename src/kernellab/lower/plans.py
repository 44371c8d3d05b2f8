"""Several plans for a graph, the fastest first by estimate.

The first plan is the one of `fusion.py`; attention in one kernel and apart are two. Others are a change or two away from
it: what is computed again and again is stored, a product is made apart from what stands behind it, what is stored is
computed where it is used. Estimates are rough, so a plan that is not clearly slower is tried as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

from kernellab.graph.record import GraphRecord
from kernellab.lower.attention import attended, attention_of
from kernellab.lower.cost import CEILINGS, Ceilings, demand, seconds_of
from kernellab.lower.fusion import WASTE, Fusion, Plan, Planner
from kernellab.lower.inline import Key, tensor_name
from kernellab.lower.join import Kernel, joined
from kernellab.lower.product import counted, is_product
from kernellab.lower.site import NotLowered
from kernellab.lower.values import Apply, Value
from kernellab.lower.work import Times, evaluated, evaluated_apart

_CHANGES = (5, 3)
"""Of the first plan, and of the best of those."""
_MOST_NODES = 300
"""Of a graph that has more than its first plan."""
_NOTICED, _CLOSE, _CLEAR = 1.02, 1.3, 1.5
"""Ratios of estimates: what makes a difference, what may be the other way round, and what may not."""
_MOST_OTHERS = 2
_PLAIN = counted(evaluated_apart)
_MODELS: dict[str, tuple[Times, ...]] = {"c": (evaluated,), "triton": (attended(_PLAIN), _PLAIN)}
_WHY = {
    "stored": "{} is stored, where the rules would have it computed again",
    "apart": "{} is a kernel of its own, where the rules would not part it from what stands behind it",
    "recomputed": "{} is computed where it is used, where the rules would store it",
}


@dataclass(frozen=True)
class Ranked:
    """`whole`: whether it is given in all its forms or in the first alone. A first plan is, unless it is clearly slower than
    the best; another one is where the first plan is clearly slower than it."""

    fusion: Fusion
    seconds: float
    whole: bool


@dataclass(frozen=True)
class _Machine:
    """What a language's kernels run on: how often it computes a value, what it does in a second, whether kernels that read
    the same are made one."""

    times: Times
    on: Ceilings
    joins: bool

    def fusion(self, planner: Planner, plan: Plan) -> Fusion:
        found = planner.fusion(plan)
        return joined(found, partial(self._seconds, found)) if self.joins else found

    def seconds(self, fusion: Fusion) -> float:
        return seconds_of(fusion, self.times, self.on)

    def _seconds(self, fusion: Fusion, kernel: Kernel) -> float:
        return demand(fusion, kernel, self.times, self.on).seconds(self.on)


@dataclass(frozen=True)
class _Option:
    """A plan by a model of the machine, its fusion and estimate, and what was changed of the first."""

    planner: Planner
    plan: Plan
    fusion: Fusion
    seconds: float
    changes: tuple[tuple[str, Key], ...] = ()

    def clearly_over(self, best: float, on: Ceilings) -> bool:
        """Even if launches cost nothing."""
        return self.seconds - on.launch_s * len(self.fusion.kernels) >= _CLEAR * best


def plans(record: GraphRecord, sizes: Mapping[str, int], language: str, on: Ceilings | None = None) -> list[Ranked]:
    """`on`: what was measured on the device, where something was."""
    on = on or CEILINGS[language]
    times, *more = _MODELS[language]
    machine = _Machine(times, on, joins=language == "triton")
    firsts = [_option(Planner(record, sizes, times), machine)]
    if any(attention_of(stores) for stores in firsts[0].plan.kernels):
        firsts += [_option(Planner(record, sizes, model), machine) for model in more]
    usual = min(firsts, key=lambda o: o.seconds)
    others = _others(usual, machine) if len(record.nodes) <= _MOST_NODES else []
    best = min(o.seconds for o in (usual, *others))
    found = [Ranked(o.fusion, o.seconds, not o.clearly_over(best, on)) for o in firsts]
    for option, fusion in _named(_worth_trying(others, usual.seconds, best), usual.seconds):
        found.append(Ranked(fusion, option.seconds, usual.clearly_over(option.seconds, on)))
    return sorted(found, key=lambda r: r.seconds)


def _option(
    planner: Planner, machine: _Machine, plan: Plan | None = None, changes: tuple[tuple[str, Key], ...] = ()
) -> _Option:
    """The planner's first plan, or this one."""
    plan = plan or planner.first()
    fusion = machine.fusion(planner, plan)
    return _Option(planner, plan, fusion, machine.seconds(fusion), changes)


def _worth_trying(others: list[_Option], usual: float, best: float) -> list[_Option]:
    """Those that are faster than the first plan, and at most one that is not. What hardly differs teaches nothing."""
    ranked = sorted(others, key=lambda o: o.seconds)
    faster = [o for o in ranked if o.seconds * _NOTICED <= usual]
    slower = [o for o in ranked if usual * _NOTICED <= o.seconds <= _CLOSE * best]
    return [*faster, *slower[:1]][:_MOST_OTHERS]


def _named(options: Sequence[_Option], usual: float) -> Iterator[tuple[_Option, Fusion]]:
    """With labels of their own."""
    taken: Counter[str] = Counter()
    for option in options:
        label = "_".join(dict.fromkeys(how for how, _ in option.changes))
        taken[label] += 1
        changes = "; ".join(_WHY[how].format(tensor_name(key)) for how, key in option.changes)
        why = f"Here {changes}: {option.seconds * 1e6:.3g} us by estimate, by the rules {usual * 1e6:.3g} us."
        name = f"{label}{taken[label] if taken[label] > 1 else ''}"
        yield option, replace(option.fusion, label=name, why=why)


def _others(first: _Option, machine: _Machine) -> list[_Option]:
    """Some changes of the first plan, then some of the best that came of it."""
    planner, best = first.planner, first
    found = {frozenset(first.plan.stored): first}
    for most in _CHANGES:
        start = best
        for how, key in _changes(start.plan, planner)[:most]:
            cuts = frozenset(start.plan.stored) ^ {key}
            plan = None if cuts in found else _possible(planner, cuts)
            if plan is not None:
                found[cuts] = option = _option(planner, machine, plan, (*start.changes, (how, key)))
                best = min(best, option, key=lambda o: o.seconds)
        if best is start:
            break
    return [option for option in found.values() if option is not first]


def _possible(planner: Planner, cuts: frozenset[Key]) -> Plan | None:
    """Unless something must be stored that is not."""
    try:
        plan = planner.plan(cuts)
    except NotLowered:
        return None
    return None if math.inf in plan.waste.values() else plan


def _changes(plan: Plan, planner: Planner) -> list[tuple[str, Key]]:
    """What to do with which node: those that storing costs least, and the largest that are stored, in turn."""
    stored = sorted(plan.stored.keys() - planner.needed, key=lambda k: (-plan.stored[k], k))
    pairs = zip_longest(_to_store(plan, planner), [("recomputed", key) for key in stored])
    return [change for pair in pairs for change in pair if change is not None]


def _to_store(plan: Plan, planner: Planner) -> Iterator[tuple[str, Key]]:
    """What is computed more than once, and products with something behind them."""
    seen: set[Value] = set()
    for key in sorted(plan.values, key=lambda k: -plan.waste[k]):
        value = plan.values[key]
        while isinstance(value, Apply) and value.function in ("float", "int"):
            value = value.children()[0]
        if value not in seen:
            seen.add(value)
            if plan.waste[key] + WASTE * planner.elements(key) > 0:
                yield "stored", key
            elif is_product(value):
                yield "apart", key
