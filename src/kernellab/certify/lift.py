"""From recorded plans to one launch for every shape of a range: each number becomes a formula of the dims, or none is found.

A formula (a constant, a product of dims, a share of one rounded up, times a constant) is taken only if it gives the
recorded number at every shape of the recording, which holds odd, prime, tiny and large ones. That is evidence, not a
proof: a launch() that branches at a shape nobody recorded is lifted wrongly. Where any number has no formula, or
plans differ in more than numbers, the launch stays a table of the recorded shapes.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.build.plan import BufferArg, FloatArg, IntArg, Plan, ScratchArg, Step
from kernellab.core.records import Param
from kernellab.tasks.spec import Dims

_RECORDED = 72


@dataclass(frozen=True)
class LiftedStep:
    """`args` are C expressions: names of buffers and scratch pointers, formulas, constants."""

    kernel: str
    grid: tuple[str, ...] | None
    args: tuple[str, ...]


@dataclass(frozen=True)
class Lifted:
    """`scratch` holds the sizes in bytes, as formulas. `shapes`: how many recorded plans agree."""

    scratch: tuple[str, ...]
    steps: tuple[LiftedStep, ...]
    shapes: int


def shapes_to_record(low: Dims, high: Dims, known: Sequence[Dims]) -> list[Dims]:
    """The known shapes, the corners of the range, and others inside it that are not alike; always the same ones."""
    choices = {name: _values(low[name], high[name], [d[name] for d in known]) for name in low}
    corners = [dict(zip(low, point, strict=True)) for point in itertools.product(*((low[n], high[n]) for n in low))]
    dice = random.Random(5)
    mixed = [{name: dice.choice(values) for name, values in choices.items()} for _ in range(4 * _RECORDED)]
    unique = {tuple(d.items()): d for d in (*known, *corners, *mixed)}
    return list(unique.values())[: max(_RECORDED, len(known))]


def _values(low: int, high: int, known: Sequence[int]) -> list[int]:
    found = {low, high, *known}
    size = 1
    while size <= high:
        found |= {size - 1, size, size + 1, size * 3 // 2, size * 5 // 3}
        size *= 2
    return sorted(v for v in found if low <= v <= high)


def lift(
    plans: Sequence[Plan], shapes: Sequence[Dims], params: dict[str, Param], names: Sequence[str]
) -> Lifted | None:
    """One launch for all of these plans, if there is one. `names` are the buffers'."""
    kinds = {(len(p.scratch), *((s.signature, len(s.grid or ())) for s in p.steps)) for p in plans}
    if len(kinds) != 1 or any(p.zeroed for p in plans):
        return None
    numbers = _Numbers(shapes, params)
    scratch = [numbers.formula([p.scratch[k] for p in plans]) for k in range(len(plans[0].scratch))]
    steps = [_step([p.steps[k] for p in plans], numbers, names) for k in range(len(plans[0].steps))]
    found = [s for s in steps if s is not None]
    sizes = [s for s in scratch if s is not None]
    if len(found) != len(steps) or len(sizes) != len(scratch):
        return None
    return Lifted(tuple(sizes), tuple(found), len(shapes))


def _step(steps: Sequence[Step], numbers: _Numbers, names: Sequence[str]) -> LiftedStep | None:
    grid = [numbers.formula([(s.grid or [])[axis] for s in steps]) for axis in range(len(steps[0].grid or ()))]
    args = [_argument([s.args[k] for s in steps], numbers, names) for k in range(len(steps[0].args))]
    whole, extents = [a for a in args if a is not None], [g for g in grid if g is not None]
    if len(whole) != len(args) or len(extents) != len(grid):
        return None
    return LiftedStep(steps[0].kernel, tuple(extents) if steps[0].grid is not None else None, tuple(whole))


def _argument(args: Sequence[object], numbers: _Numbers, names: Sequence[str]) -> str | None:
    first = args[0]
    if isinstance(first, IntArg):
        return numbers.formula([a.value for a in args if isinstance(a, IntArg)])
    if any(a != first for a in args):
        return None
    return plain_argument(first, names)


def plain_argument(argument: object, names: Sequence[str]) -> str:
    """An argument of one plan as a C expression."""
    if isinstance(argument, BufferArg):
        return f"(void *){names[argument.index]}"
    if isinstance(argument, ScratchArg):
        return f"scratch[{argument.index}]"
    if isinstance(argument, FloatArg):
        return repr(argument.value)
    assert isinstance(argument, IntArg)
    return f"{argument.value}LL"


class _Numbers:
    """Looks for a formula that gives recorded numbers at recorded shapes."""

    def __init__(self, shapes: Sequence[Dims], params: dict[str, Param]) -> None:
        self._shapes = shapes
        names = list(shapes[0])
        whole = [v for v in params.values() if isinstance(v, int) and not isinstance(v, bool) and v > 1]
        shares = {
            *whole,
            *(math.prod(pair) for pair in itertools.combinations(whole, 2)),
            *(1 << k for k in range(1, 15)),
        }
        self._shares = [1, *sorted(shares, key=lambda k: (k not in whole, k))]
        groups = [g for size in range(1, len(names) + 1) for g in itertools.combinations(names, size)]
        self._bases = [(" * ".join(g), [math.prod(d[n] for n in g) for d in shapes]) for g in groups]
        self._factors = [("", [1] * len(shapes)), *((f" * {text}", base) for text, base in self._bases)]

    def formula(self, values: Sequence[int]) -> str | None:
        if len(set(values)) == 1:
            return f"{values[0]}LL"
        for share in self._shares:
            for text, base in self._bases:
                parts = [-(-b // share) for b in base]
                inner = text if share == 1 else f"(({text} + {share - 1}) / {share})"
                for more, factor in self._factors:
                    if (times := _times(values, parts, factor)) and not (more and share == 1):
                        found = f"{inner}{more}"
                        return found if times == 1 else f"{times}LL * {found}"
        return None


def _times(values: Sequence[int], parts: Sequence[int], factor: Sequence[int]) -> int:
    """The constant that makes parts * factor the values, or 0."""
    times, rest = divmod(values[0], parts[0] * factor[0])
    fits = not rest and all(v == times * p * f for v, p, f in zip(values, parts, factor, strict=True))
    return max(times, 0) if fits else 0
