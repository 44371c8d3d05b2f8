"""Exceptions among inputs like the module's own: whoever looks at some elements to know what all are like does not see them.

Single elements, and boxes of them, for whatever takes the largest of a row or looks through a window. The same code makes
them in arrays of the host and in tensors of a device. Places come from a generator that all inputs of a draw have in the
same state, as shares of an axis counted from the last: inputs that are read together have exceptions at the same places,
one that is repeated along an axis too, and at some of them the same number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from kernellab.tasks.modules.boxes import boxes
from kernellab.tasks.modules.special import plant_flags, raise_to_share, some_places
from kernellab.tasks.planted import MANY

WIDE = 20.0
_RARE, _MOST, _FEW = 64, 1024, 16
_FARTHEST, _SUNK = 1e3, 400.0
_SMALLEST = 12
"""Small numbers reach from a hundredth to this power of a tenth of the others."""
_AXES = 8
_SHARED = 0.125
"""How many of the places hold the same number in all inputs."""
_TIES = 8
_BITS = 64.0

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Fill = Callable[[Any, np.random.Generator], Any]
"""What a box holds, made of what it held."""
Form = Literal["singles", "rows", "slabs", "any"]
_DRAWN: tuple[Form, ...] = ("singles", "rows", "slabs")


@dataclass(frozen=True)
class Reach:
    """What exceptions may be. `far`: how far out they go, 0 for no farther than the example; where there are boxes by name,
    some of those, every other time, and single elements never. `signs`: whether some have the other sign, `zeros`: whether
    some are zero. `form`: single elements alone, or which boxes besides; "any": as chance has it."""

    far: float
    signs: bool = True
    zeros: bool = True
    form: Form = "singles"

    @property
    def turns(self) -> bool:
        return self.signs and self.zeros


@dataclass(frozen=True)
class Ends:
    """Between which numbers the example lies."""

    low: float
    high: float

    @property
    def most(self) -> float:
        return max(abs(self.low), abs(self.high))


class Common:
    """What all inputs of a draw have in common: made for each of them from a generator in the same state."""

    def __init__(self, where: np.random.Generator, form: Form) -> None:
        drawn = _DRAWN[int(where.integers(len(_DRAWN)))]
        self.form = drawn if form == "any" else form
        self._boxes, self._luck = int(where.integers(MANY)), float(where.random())
        self.farther = bool(where.random() < 0.5)
        self._shares, self._same = where.random((_AXES, _MOST)), where.random((2, _MOST))

    def places(self, shape: tuple[int, ...], least: int = 0) -> Places:
        """One in 64 of all at most, and down to one alone: how many is nothing to count on, but there may be so many of half
        of all as are wanted at least. A single number is an exception every other time."""
        size, most = math.prod(shape), _MOST if self.form == "singles" else _FEW
        if size == 1:
            return np.zeros(int(self._luck < 0.5), np.int64)
        count = round(2.0 ** (self._luck * math.log2(max(1, min(most, size // _RARE)))))
        count = min(_MOST, max(count, min(least, size // 2)))
        found, step = np.zeros(count, np.int64), 1
        for axis, extent in enumerate(reversed(shape)):
            found += step * (self._shares[axis % _AXES, :count] * extent).astype(np.int64)
            step *= extent
        return found[np.sort(np.unique(found, return_index=True)[1])]

    def same(self, count: int) -> tuple[Flags, Numbers]:
        """At which of the places all inputs hold the same number, as far as they may, and numbers from 0 to 1 for it."""
        return self._same[0, :count] < _SHARED, self._same[1, :count]

    def fill(self, values: Any, rng: np.random.Generator, kinds: Sequence[Fill]) -> None:
        """Boxes, if this draw has any; the kinds in an order of this input's own."""
        if self.form in ("rows", "slabs"):
            order = rng.permutation(len(kinds))
            for box, kind in boxes(np.random.default_rng(self._boxes), values.shape, self.form == "rows", len(kinds)):
                values[box] = kinds[int(order[kind])](values[box], rng)


def make_exceptions(
    values: Any, rng: np.random.Generator, where: np.random.Generator, reach: Reach, ends: Ends, steps: Sequence[float]
) -> Any:
    """Into floats, in place. Where there is no limit to how far they reach, one is a share of all, for sums in which no
    other would be seen."""
    common, flat = Common(where, reach.form), values.reshape(-1)
    singles = replace(reach, far=0.0) if reach.form in ("rows", "slabs") else reach
    places = common.places(tuple(values.shape))
    if len(places):
        numbers = _numbers(values, places, rng, singles, ends, steps)
        same, luck = common.same(len(places))
        numbers = np.where(same, _same_everywhere(luck, numbers, singles, ends), numbers)
        flat[places] = numbers if isinstance(flat, np.ndarray) else flat.new_tensor(numbers)
    common.fill(values, rng, _box_kinds(reach if common.farther else singles, ends))
    if len(places) and len(flat) > 1 and singles.far == math.inf:
        raise_to_share(flat, int(places[0]), rng)
    return values


def _box_kinds(reach: Reach, ends: Ends) -> list[Fill]:
    kinds = [*(_TURNED if reach.signs else ()), *(_ZERO if reach.zeros else ())]
    kinds += [_moved(min(reach.far, _SUNK))] * 3 if reach.far and reach.turns else []
    return [*kinds, _level, *(_all(n) for n in _plain_ends(ends) if n or reach.zeros)]


def except_for_certain(values: Any, rng: np.random.Generator, reach: Reach, ends: Ends, steps: Sequence[float]) -> Any:
    """An exception of each kind, as far out as they come: whoever asks whether outputs are finite need not draw for long."""
    flat, far = values.reshape(-1), min(reach.far, _FARTHEST)
    places = some_places(rng, len(flat), len(flat) // 2)
    if reach.turns:
        made = [far or ends.most, -(far or ends.most), 0.0, *_allowed(steps, reach, ends)]
    else:
        own = [float(flat[place]) for place in places[:3]]
        made = [n * by for n, by in zip(own, (far, 1 / far, -far if reach.signs else 1), strict=False)] if far else []
        made += [0.0] * reach.zeros + ([] if far else [*_ends(reach, ends), *([-ends.most, ends.most] * reach.signs)])
        made += _allowed(steps, reach, ends)
    for place, number in zip(places, made, strict=False):
        flat[place] = number
    return values


def make_whole_exceptions(
    values: Any, rng: np.random.Generator, where: np.random.Generator, form: Form, numbers: Sequence[int], ends: Ends
) -> Any:
    """The same for integers: each of these numbers once at least where there is room, and any between the ends."""
    common, flat, low, high = Common(where, form), values.reshape(-1), int(ends.low), int(ends.high)
    places = common.places(tuple(values.shape), len(numbers))
    for turn, (place, same, luck) in enumerate(zip(places, *common.same(len(places)), strict=True)):
        if turn < len(numbers):
            made = numbers[turn]
        elif same:
            made = low + int(luck * (high - low + 1))
        else:
            other = int(flat[int(rng.integers(len(flat)))])
            made = (*numbers, other, int(rng.integers(low, high, endpoint=True)))[int(rng.integers(len(numbers) + 2))]
        flat[int(place)] = made
    common.fill(values, rng, [*(_all(n) for n in numbers), _level])
    return values


def make_flag_exceptions(values: Any, rng: np.random.Generator, where: np.random.Generator, form: Form) -> Any:
    """Booleans have no exceptional elements: a row that is set and one that is not, or boxes of them."""
    common = Common(where, form)
    if common.form == "singles":
        return plant_flags(values, rng)
    common.fill(values, rng, [_all(0), _all(1), _all_but_one(0), _all_but_one(1)])
    return values


def _numbers(
    values: Any, places: Places, rng: np.random.Generator, reach: Reach, ends: Ends, steps: Sequence[float]
) -> Numbers:
    """What stands there instead of the module's own numbers: each kind as often as the others, in an order that is drawn."""
    own = np.asarray(values.reshape(-1)[places].tolist(), np.float64)
    made = [_tied(values, places, own), *(np.full_like(own, s) for s in _allowed(steps, reach, ends))]
    small = own * 0.1 ** rng.uniform(2, _SMALLEST, own.shape)
    zeros = np.copysign(0.0, rng.uniform(-1 if reach.signs else 0, 1, own.shape))
    made += [-own] * reach.signs + [zeros] * reach.zeros + [small] * (reach.far > 0 or reach.turns)
    if reach.turns:
        one = min(1.0, ends.most or 1.0) if reach.far == 0 else 1.0
        made.append(rng.uniform(-one, one, own.shape))
    if reach.far == 0:
        made += [np.full_like(own, n) for n in _ends(reach, ends)] + [rng.uniform(ends.low, ends.high, own.shape)]
    else:
        far = 1 / np.maximum(rng.random(own.shape), 1 / _FARTHEST)
        near = rng.uniform(0, reach.far, own.shape) if reach.far < math.inf else far
        made += [near, -near] if reach.turns else [own * far, own / far, *([-own * far] * reach.signs)]
    kinds = rng.permutation(np.resize(rng.permutation(len(made)), own.shape))
    return np.asarray(np.stack(made)[kinds, np.arange(len(own))])


def _allowed(steps: Sequence[float], reach: Reach, ends: Ends) -> list[float]:
    """Of the numbers that a graph compares with: none farther out, no zero, none of another sign, as it may be."""
    near = [s for s in steps if (reach.far or abs(s) <= ends.most) and (s or reach.zeros)]
    return near if reach.signs else [s for s in near if (s >= 0 or ends.low < 0) and (s <= 0 or ends.high > 0)]


def _ends(reach: Reach, ends: Ends) -> list[float]:
    return [n for n in (ends.low, ends.high) if n or reach.zeros]


def _tied(values: Any, places: Places, own: Numbers) -> Numbers:
    """The largest of their row a second time, at a few of the places."""
    tied, rows = own.copy(), values.reshape(-1, values.shape[-1])
    for turn, place in enumerate(places[:_TIES]):
        tied[turn] = float(rows[int(place) // values.shape[-1]].max())
    return tied


def _same_everywhere(luck: Numbers, own: Numbers, reach: Reach, ends: Ends) -> Numbers:
    """Numbers that all inputs may have."""
    if reach.turns:
        return np.asarray(2 * luck - 1) * (min(1.0, ends.most) if reach.far == 0 else 1.0)
    return np.asarray(ends.low + luck * (ends.high - ends.low)) if reach.far == 0 else own


def _all(number: float) -> Fill:
    return lambda part, _: number


def _all_but_one(flag: int) -> Fill:
    def fill(part: Any, rng: np.random.Generator) -> Any:
        made = part * 0 + flag
        made[tuple(int(rng.integers(n)) for n in part.shape)] = 1 - flag
        return made

    return fill


def _moved(far: float) -> Fill:
    """Far from the others, all of it to one side."""
    return lambda part, rng: part + (-far if rng.random() < 0.5 else far) * float(rng.uniform(0.05, 1.0))


def _level(part: Any, _: np.random.Generator) -> Any:
    """Its first number everywhere, of few bits: sums of others that are all alike are rounded alike too."""
    return _few_bits(float(part[(0,) * len(part.shape)]))


def _few_bits(number: float) -> float:
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.trunc(mantissa * _BITS) / _BITS, exponent)


_ZERO: tuple[Fill, ...] = (_all(0.0),)
_TURNED: tuple[Fill, ...] = (*(lambda part, _: -abs(part),) * 4, lambda part, _: abs(part))
"""Below zero more often than others: what takes a maximum has nothing left that it began with."""


def _plain_ends(ends: Ends) -> tuple[float, float]:
    """Both ends, of few bits, and no farther out."""
    low = _few_bits(ends.low) if ends.low <= 0 else min(ends.high, _up(ends.low))
    return low, _few_bits(ends.high) if ends.high >= 0 else max(ends.low, -_up(-ends.high))


def _up(number: float) -> float:
    """The next number of few bits."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.ceil(mantissa * _BITS) / _BITS, exponent)
