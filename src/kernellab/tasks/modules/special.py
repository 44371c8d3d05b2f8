"""Values that a kernel may treat in a way of its own, in one distribution of a module's inputs: chance never draws them.

As tasks/planted.py does for hand-written tasks. Over which axes a module reduces nobody knows here, so whole slices are made
special: of the first axis, for whatever happens inside a sample, and one of the last, for what goes across them. The same
code plants into arrays of the host and into tensors of a device.
Not covered: a maximum over all of a tensor that has four slices or more; what is special behind the first operators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

FAR = 400.0
"""How far below zero a slice lies: a softmax whose maximum begins at zero, or at -100, has nothing left there."""
_NEAR = 0.125
_LARGEST = 2.0
_LEAST_STEPS = 4
_KINDS = ("below", "equal", "topped", "tied", "zero")
_FEW = 4
_MOST_ROWS = 12
_SHARES = (4, 9)
_MOST = 3e4
"""What the last is raised to: a share between 1/16 and 1/512 of all, which no two inputs have in common, and a float16."""


def plant_floats(values: Any, rng: np.random.Generator, steps: Sequence[float] = ()) -> Any:
    """Into numbers between -1 and 1, in place. `steps`: where the graph's decisions change."""
    shape = tuple(n for n in values.shape if n > 1)
    if not shape:
        return values
    body = values.reshape(shape)
    if len(shape) == 1 or shape[0] < _FEW:
        _plant_few(body, rng, steps)
    else:
        _plant_slices(body, rng, steps)
    return values


def lead_to_ends(values: Any, rng: np.random.Generator) -> Any:
    """The largest to the last place and the next to the first, of a few rows and then of the whole, in place: a long sum
    without its tail is within what rounding may cost it, unless much of it stands there. Nothing but places changes. The
    last place of the whole is the end of every axis."""
    shape = tuple(n for n in values.shape if n > 1)
    if shape:
        rows = values.reshape(-1, shape[-1])
        for number in some_places(rng, len(rows), _MOST_ROWS):
            _lead(rows[number])
        _lead(values.reshape(-1))
    return values


def raise_last(values: Any, rng: np.random.Generator) -> Any:
    """The last to a share of all, if it has none yet: of a million terms even the largest is little. In place."""
    raise_to_share(values.reshape(-1), -1, rng)
    return values


def raise_to_share(flat: Any, place: int, rng: np.random.Generator) -> None:
    share, there = 0.5 ** float(rng.uniform(*_SHARES)), float(flat[place])
    flat[place] = math.copysign(max(abs(there), min(share * float(abs(flat).sum()), _MOST)), there)


def put_on_grid(values: Any, rng: np.random.Generator, low: float, high: float) -> None:
    """Every other one to a multiple of a power of two, a few dozen of which lie between the ends: two inputs then have
    numbers in common, however far their ends differ. In place."""
    span = high - low
    step = 2.0 ** (math.floor(math.log2(span)) - 4) if 0 < span < math.inf else 0.125
    some = values.reshape(-1)[int(rng.integers(2)) :: 2]
    some[...] = (some / step).round() * step


def fade(values: Any, where: np.random.Generator, most: int) -> None:
    """Half of the rows, or of the slices of the first axis, smaller by a power of two, in place: of inputs that are added up
    the same ones, by the same factor. What a norm divides by is as small as what keeps it from zero there."""
    whole = where.random() < 0.5
    rows = values.reshape(values.shape[0], -1) if whole else values.reshape(-1, values.shape[-1])
    drawn = where.random((len(rows), 2))
    steps = np.where(drawn[:, 0] < 0.5, np.floor(_LEAST_STEPS + drawn[:, 1] * (most + 1 - _LEAST_STEPS)), 0)
    factors = 2.0**-steps
    rows *= values.new_tensor(factors)[:, None] if hasattr(values, "new_tensor") else factors[:, None]


def mass(values: Any, rng: np.random.Generator, low: int, high: int) -> None:
    """One number at a quarter of all places or more, in place: what counts or collects by such numbers has one that most go
    to, as labels have a background and graphs a hub."""
    flat, number = values.reshape(-1), int(rng.integers(low, high, endpoint=True))
    share = float(rng.uniform(0.25, 0.75))
    chosen = np.flatnonzero(rng.random(len(flat)) < share)
    if len(chosen):
        flat[chosen] = number


def _lead(flat: Any) -> None:
    for end, part in ((-1, flat), (0, flat[:-1])):
        place = int(abs(part).argmax())
        flat[place], flat[end] = float(flat[end]), float(flat[place])


def plant_whole(values: Any, rng: np.random.Generator, low: int, high: int, steps: Sequence[float] = ()) -> Any:
    """Integers: both ends of what is drawn, those that the graph compares with, and one number twice, as far as there is
    room. A single one is left alone."""
    flat = values.reshape(-1)
    inside = [int(s) for s in steps if low <= s <= high and float(s).is_integer()]
    made = [low, high, *inside]
    places = some_places(rng, len(flat), len(made) + 1) if len(flat) > 1 else []
    for place, number in zip(places, made, strict=False):
        flat[place] = number
    if len(flat) > len(places) > len(made):
        flat[places[-1]] = flat[(places[-1] + 1) % len(flat)]
    return values


def plant_flags(values: Any, rng: np.random.Generator) -> Any:
    """Booleans: a row that is set, and one that is not; one of the two where there are few rows."""
    rows = values.reshape(-1, values.shape[-1])
    first = int(rng.integers(2))
    for turn, row in enumerate(some_places(rng, len(rows), 1 if len(rows) < _FEW else 2)):
        rows[row] = (first + turn) % 2
    return values


def _plant_few(body: Any, rng: np.random.Generator, steps: Sequence[float]) -> None:
    """One row, or a few slices: all below zero every other time."""
    if rng.random() < 0.5:
        _lower(body, ..., FAR)
    elif len(body.shape) > 1:
        _lower(body, int(rng.integers(len(body))), FAR)
    else:
        _put(body, rng, [_LARGEST, _LARGEST, *steps] if len(body) > _FEW else steps)


def _plant_slices(body: Any, rng: np.random.Generator, steps: Sequence[float]) -> None:
    """Half of the slices at most. A zero would end a column below zero, so there is one or the other."""
    across = int(rng.integers(body.shape[-1])) if rng.random() < 0.5 else None
    if across is not None:
        _lower(body, (..., across), _NEAR)
    kinds = [k for k in rng.permutation(_KINDS) if across is None or k != "zero"][: len(body) // 2]
    slices = some_places(rng, len(body), len(kinds) + 1)
    for number, kind in zip(slices, kinds, strict=False):
        _make(body[number], str(kind), rng, across)
    _put(body[slices[-1]].reshape(-1), rng, steps, body.shape[-1], across)


def _make(part: Any, kind: str, rng: np.random.Generator, across: int | None) -> None:
    two = [p for p in some_places(rng, part.shape[-1], 3) if p != across][:2]
    if kind == "below":
        _lower(part, ..., FAR)
    elif kind == "equal":
        part[...] = -float(8 + rng.integers(8)) / 8
    elif kind == "zero":
        part[...] = 0.0
    elif kind == "topped":
        part[...] = -abs(part)
        for place, zero in zip(two, (0.0, -0.0), strict=False):
            part[..., place] = zero
    elif len(two) == 2:
        part[..., two[0]] = part[..., two[1]] = _LARGEST


def _lower(body: Any, at: Any, by: float) -> None:
    body[at] = -abs(body[at]) - by


def _put(
    flat: Any, rng: np.random.Generator, numbers: Sequence[float], length: int = 1, across: int | None = None
) -> None:
    """At places of their own, none of them in the column that is kept below zero."""
    free = [p for p in some_places(rng, len(flat), 2 * len(numbers)) if across is None or p % length != across]
    for place, number in zip(free, numbers, strict=False):
        flat[place] = number


def some_places(rng: np.random.Generator, below: int, count: int) -> list[int]:
    """Different ones; as many as there are."""
    return [int(p) for p in rng.choice(below, min(count, below), replace=False, shuffle=True)]
