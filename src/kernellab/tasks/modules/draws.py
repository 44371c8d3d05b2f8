"""Inputs of a captured module: like its own example, and drawn in ways that make precision and mistakes visible.

Weights are drawn like the module's own: a kernel may not depend on their values, but a network is made for their size. One
distribution turns the signs of those that are all the same, as norms begin: training does so too. Integers stay in the
range that the example had and that whatever they index allows. Where an example holds minus infinity, so do the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kernellab.graph.forms import made
from kernellab.graph.record import GraphInput, GraphRecord, Seen
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.modules.excepted import ROWS, SINGLES, SLABS, Excepted, ends_of, excepts, hides, may_except
from kernellab.tasks.modules.exceptions import (
    WIDE,
    Ends,
    Reach,
    make_exceptions,
    make_flag_exceptions,
    make_whole_exceptions,
)
from kernellab.tasks.modules.special import (
    fade,
    lead_to_ends,
    mass,
    plant_flags,
    plant_floats,
    plant_whole,
    put_on_grid,
    raise_last,
)
from kernellab.tasks.modules.uses import NO_LIMIT, Apart, Uses
from kernellab.tasks.planted import MANY, hidden, sure_zeros
from kernellab.tasks.spec import Array, Buffer, Dims, Draw, DrawOne, Together

OWN = "own"
PLANTED, MIXED, TURNED = "planted", "planted-mixed", "turned"
TURNING = (PLANTED, MIXED, TURNED)
"""Where signs, zeros and indices are special. "planted" holds what special.py has, "planted-mixed" no whole rows of
booleans, "turned" nothing of it."""
LEADING = ("heavy", "wide")
"""Where the largest stand at the ends."""
FAINT = "faint"
"""Like the module's own, but for rows or slices that are smaller in all inputs."""
KINDS = (OWN, "normal", PLANTED, "sparse", "heavy", "offset", FAINT, "exceptions", "rows", "slabs")
"""The first one is timed; a task has those under which its outputs are finite, and of several inputs such as have exceptions
in one alone and in all others (excepted.py). Those with exceptions are like the module's own but for a few elements
(exceptions.py): the others are all unlike what is timed, and a kernel may look at some elements before it decides what to
do with all."""
WEIGHTS = ("weights", "weights-stretched")
"""Inputs as in the example, and weights that training may have turned, stretched and made larger; where there are such as it
may turn, also with the signs that they had."""
UNEVEN = "uneven"
SPARSE, BARE = "sparse", "bare"
INSTEAD = {
    "normal": ("gaps",), PLANTED: (MIXED, TURNED, "signed"), SPARSE: (BARE,), "heavy": ("wide", UNEVEN),
    "offset": ("offset-above",),
    "exceptions": SINGLES[1:], "rows": ROWS[1:], "slabs": SLABS[1:],
}  # fmt: skip
"""What comes instead of one under which they are not: the first under which they are."""
ALL_KINDS = (*KINDS, *(kind for others in INSTEAD.values() for kind in others))
FEW = 4
OFFSET = 30.0
BOTTOM = -40.0
HEAVY = 1 / 1.2
GAPS = 0.5
STRETCH = 64.0
"""How many times larger or smaller weights become at most that are all the same in the example."""
LARGER = 16.0
RARELY = 1 / 64
"""And how much and how often single ones of the others, under WEIGHTS."""
ZEROS = 0.125
"""How many elements are zero under "planted" and "turned" ("gaps": GAPS), a few of them for certain: of every input, so
that no sign of zero and no division by it goes unseen."""


def draws(graph: GraphRecord, kinds: tuple[str, ...] = KINDS) -> Mapping[str, Draw]:
    """A draw for each of these distributions, for the buffers of this graph's task."""
    uses, excepted = Uses(graph), Excepted(graph)
    entries = {i.name: i for i in graph.inputs}
    first = first_float(graph)
    return {kind: Together(_draw(kind, entries, uses, excepted, first)) for kind in kinds}


def more_kinds(graph: GraphRecord) -> list[tuple[str, ...]]:
    """Besides KINDS, those that a graph has for its inputs and weights: of each the first that can be used."""
    more = list(Excepted(graph).alone)
    more += [WEIGHTS] if any(may_stretch(i) or may_grow(i) for i in graph.inputs) else []
    return more + ([WEIGHTS[1:]] if any(may_turn(i) for i in graph.inputs) else [])


def varied(kind: str) -> bool:
    """Whether one drawing shows little of what may be: those that have exceptions in all inputs, or other weights."""
    return kind in (*SINGLES, *ROWS, *SLABS, *WEIGHTS)


def like_own(kind: str) -> bool:
    return kind in (OWN, "gaps", UNEVEN, FAINT, *WEIGHTS) or excepts(kind)


def meets(kind: str) -> bool:
    """Whether numbers that are looked for among others equal some of them."""
    return kind in TURNING or excepts(kind)


def faintest(entry: GraphInput) -> int:
    """How many powers of two a row may be smaller: numbers of its type stay ordinary ones."""
    return 8 if entry.type.dtype == "float16" else 16


def piles(kind: str, below: int, entry: GraphInput) -> bool:
    """Whether one place gets much of all."""
    return kind in (*LEADING, UNEVEN) and below < NO_LIMIT and entry.type.dtype != "bool"


def first_float(graph: GraphRecord) -> str:
    """The input that is drawn sparse."""
    return next((i.name for i in graph.inputs if i.role == "input" and i.type.is_float), "")


def _draw(kind: str, entries: Mapping[str, GraphInput], uses: Uses, excepted: Excepted, first: str) -> DrawOne:
    def draw(rng: np.random.Generator, places: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
        entry, shape = entries[buffer.name], buffer.shape(dims)
        apart = uses.apart(entry.name, dims)
        if apart is not None:
            return _apart(rng, shape, apart, *span_apart(entry, uses, dims, kind, apart)).astype(buffer.dtype)
        if entry.seen is not None and entry.seen.form:
            return made(entry.seen.form, shape).astype(buffer.dtype)
        if (bags := uses.bags(entry.name, dims)) is not None:
            return np.asarray(as_bags(np.sort(rng.integers(0, bags[0], shape, buffer.dtype, endpoint=True)), *bags))
        values = (floats if is_float(buffer.dtype) else others)(rng, places, buffer, dims)
        order = uses.sorted(entry.name)
        return np.sort(values, axis=-1)[..., ::order] if order else values

    def others(rng: np.random.Generator, places: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
        entry, shape = entries[buffer.name], buffer.shape(dims)
        if kind in TURNING and entry.type.dtype == "bool":
            ends = _ends(rng, shape).astype(buffer.dtype)
            return np.asarray(plant_flags(ends, rng)) if kind == PLANTED else ends
        whole = _whole(rng, entry, buffer, shape, uses, dims, kind)
        reach = excepted.reach(kind, entry)
        if reach is not None:
            except_whole(whole, rng, places, reach, entry, uses, dims)
        return whole

    def floats(rng: np.random.Generator, places: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
        entry, shape = entries[buffer.name], buffer.shape(dims)
        if like_own(kind) or entry.role != "input" or hides(entry):
            values = _own(rng, entry, shape, kind)
            if kind == FAINT and may_except(entry):
                fade(values, places, faintest(entry))
            reach = excepted.reach(kind, entry)
            if reach is not None:
                make_exceptions(values, rng, places, reach, ends_of(entry), uses.steps(entry.name))
        else:
            values = _KINDS[kind](rng, shape, uses.terms(entry.name, dims) if entry.name == first else 0)
            if kind in (PLANTED, MIXED):
                plant_floats(values, rng, uses.steps(entry.name))
            elif kind in LEADING:
                lead_to_ends(values, rng)
                if kind == "heavy":
                    raise_last(values, rng)
        if meets(kind) and uses.searched(entry.name):
            ends = ends_of(entry)
            put_on_grid(values, rng, ends.low, ends.high)
        return values.astype(buffer.dtype)

    return draw


def weighs_as_own(kind: str, entry: GraphInput) -> bool:
    """A weight that this distribution draws as the first one does."""
    special = kind in (*TURNING, *WEIGHTS) and (may_stretch(entry) or turns(kind, entry))
    return entry.role == "weight" and entry.type.is_float and not special and not (kind in WEIGHTS and may_grow(entry))


def may_turn(entry: GraphInput) -> bool:
    """A weight of one sign: training may turn some of it."""
    seen = entry.seen if entry.type.is_float else None
    return entry.role == "weight" and seen is not None and not seen.low < 0 < seen.high and seen.low + seen.high != 0


def turns(kind: str, entry: GraphInput) -> bool:
    """Where inputs are special too, those alone that are all the same: turning others would hide rows below zero."""
    return may_turn(entry) and (kind == WEIGHTS[0] or (kind in TURNING and may_stretch(entry)))


def may_stretch(entry: GraphInput) -> bool:
    """Weights, and what training keeps beside them, that are all the same and not zero, as those of norms are before it."""
    seen = entry.seen if entry.type.is_float else None
    return entry.role in ("weight", "buffer") and seen is not None and seen.low == seen.high != 0


def may_grow(entry: GraphInput) -> bool:
    """Weights of a layer: some become larger than they were when it was made."""
    return entry.role == "weight" and entry.type.is_float and bool(entry.type.extents)


def _own(rng: np.random.Generator, entry: GraphInput, shape: tuple[int, ...], kind: str) -> Array:
    values = _like(rng, entry, shape)
    if entry.seen is not None and hides(entry):
        values = np.where(hidden(rng, shape, entry.seen.hidden), -np.inf, values)
    elif kind == "gaps" and entry.role == "input" and math.prod(shape) > 1:  # a single number is no gap
        values = values * _kept(rng, shape, GAPS)
    elif kind == UNEVEN and entry.role == "input":
        values = raise_last(lead_to_ends(values * _towering(rng, shape), rng), rng)
    if kind in (*TURNING, *WEIGHTS) and may_stretch(entry):
        values = values * STRETCH ** rng.choice((-1.0, -0.5, 0.5, 1.0), shape)
    if turns(kind, entry):
        values = values * rng.choice((-1.0, 1.0), shape)
    if kind in WEIGHTS and may_grow(entry):
        values = values * np.where(rng.random(shape) < RARELY, LARGER, 1.0)
    return np.asarray(values)


def _ends(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Booleans that are set at one end of a row, and not at the other, where it has two."""
    if shape[-1] < 2:
        return rng.random(shape) < 0.5
    row = (*shape[:-1], 1)
    cut, first = rng.integers(1, shape[-1], row), rng.random(row) < 0.5
    return np.asarray((np.arange(shape[-1]) < cut) == first)


def _whole(
    rng: np.random.Generator,
    entry: GraphInput,
    buffer: Buffer,
    shape: tuple[int, ...],
    uses: Uses,
    dims: Dims,
    kind: str,
) -> Array:
    low, high = span(entry, uses, dims, kind)
    values = rng.integers(low, high, shape, dtype=buffer.dtype, endpoint=True)
    mark = uses.marked(entry.name)
    if mark is not None and (kind in TURNING or leaves_out(entry, mark)):
        values.reshape(-1)[1:][rng.random(values.size - 1) < ZEROS] = mark  # never all of them
    if piles(kind, uses.below(entry.name, dims), entry):
        mass(values, rng, low, high)
    if kind in (PLANTED, MIXED) and entry.type.dtype != "bool":
        plant_whole(values, rng, low, high, uses.steps(entry.name))
    return values


def leaves_out(entry: GraphInput, mark: int | None) -> bool:
    """Whether the example held a mark that no index can be, as losses have it for what they leave out."""
    return mark is not None and mark < 0 and entry.seen is not None and entry.seen.low == mark


def span(entry: GraphInput, uses: Uses, dims: Dims, kind: str) -> tuple[int, int]:
    """The least and the largest integer: the example's, below what they index; without an example small ones. Lengths are
    any that there are, for an example is small. Under one distribution an index may be any too: an example seldom has them
    all."""
    below, counted = uses.below(entry.name, dims), uses.counted(entry.name, dims)
    low, high = (int(entry.seen.low), int(entry.seen.high)) if entry.seen else (0, min(below, 8) - 1)
    if leaves_out(entry, uses.marked(entry.name)) and below < NO_LIMIT:
        low = 0  # the mark, which indexes nothing, is put among them
    low = max(low, -below) if below < NO_LIMIT else low  # counted from the end
    if entry.type.dtype == "bool":
        low, high = 0, 1
    elif counted is not None and low >= 0:
        low, high = min(low, 1, counted), counted
    elif kind in TURNING and below < NO_LIMIT:
        low, high = min(low, 0), min(below - 1, int(np.iinfo(entry.type.dtype).max))
    high = max(0, min(high if high > low else low + 1, below - 1))
    return min(low, high), high


def span_apart(entry: GraphInput, uses: Uses, dims: Dims, kind: str, apart: Apart) -> tuple[int, int]:
    """The same for those that must all differ: as many as are needed, and any under exceptions."""
    shape = entry.type.shape(dims)
    needed = math.prod(shape) if apart.axis is None else shape[apart.axis]
    low, high = span(entry, uses, dims, TURNED if excepts(kind) else kind)
    high = min(max(high, low + needed - 1), apart.below - 1)
    return min(low, high - needed + 1), high


def _apart(rng: np.random.Generator, shape: tuple[int, ...], apart: Apart, low: int, high: int) -> Array:
    """Different ones, both ends among them where there are two or more."""
    axis, drawn = (0, (math.prod(shape),)) if apart.axis is None else (apart.axis, shape)
    keys = rng.random((*drawn[:axis], high - low + 1, *drawn[axis + 1 :]))
    if drawn[axis] > 1:
        np.moveaxis(keys, axis, -1)[..., [0, -1]] = -1.0
    chosen = np.take(keys.argsort(axis), np.arange(drawn[axis]), axis)
    return (low + np.roll(chosen, int(rng.integers(drawn[axis])), axis)).reshape(shape)


def as_bags(values: Any, among: int, ends: bool) -> Any:
    """Numbers up to `among`, in order, as places where sums begin; of the host or of a device, in place."""
    values[0] = 0
    if ends:
        values[-1] = among
    return values


def except_whole(
    values: Any,
    rng: np.random.Generator,
    places: np.random.Generator,
    reach: Reach,
    entry: GraphInput,
    uses: Uses,
    dims: Dims,
) -> None:
    """Exceptions among booleans and integers, in place, of the host or of a device."""
    if entry.type.dtype == "bool":
        make_flag_exceptions(values, rng, places, reach.form)
    else:
        low, high = span(entry, uses, dims, TURNED)
        make_whole_exceptions(values, rng, places, reach.form, _exceptional(entry, uses, low, high), Ends(low, high))


def _exceptional(entry: GraphInput, uses: Uses, low: int, high: int) -> list[int]:
    """Integers that an example seldom has, and a graph allows: those that it compares with, and both ends."""
    mark = uses.marked(entry.name)
    steps = [int(s) for s in uses.steps(entry.name) if float(s).is_integer() and low <= s <= high]
    return list(dict.fromkeys([*([] if mark is None else [mark]), *steps, low, high]))


def _like(rng: np.random.Generator, entry: GraphInput, shape: tuple[int, ...]) -> Array:
    """Numbers of the example's size and sign: uniform between its ends, or normal where they lie far out."""
    seen = entry.seen
    if seen is None:
        return _unseen(rng, entry, shape)
    if seen.low == seen.high:
        around = rng.uniform(0.5, 1.5, shape) * seen.low if seen.low else 0.1 * rng.standard_normal(shape)
        return np.asarray(around)
    values = _between(rng, entry, seen, shape)
    return np.asarray(values * (rng.random(shape) >= seen.zeros) if 0.02 < seen.zeros < 1 else values)


def _between(rng: np.random.Generator, entry: GraphInput, seen: Seen, shape: tuple[int, ...]) -> Array:
    if seen.low >= 0 or entry.role != "input" or max(-seen.low, seen.high) <= 1:
        return rng.uniform(seen.low, seen.high, shape)
    spread = (seen.high - seen.low) / 8
    return np.clip(rng.normal(seen.mean, spread, shape), seen.low, seen.high)


def _unseen(rng: np.random.Generator, entry: GraphInput, shape: tuple[int, ...]) -> Array:
    """Of examples that were too large to look at: normal inputs, weights of the size that layers are made with."""
    if entry.role == "input":
        return rng.standard_normal(shape)
    if len(shape) < 2:
        return rng.uniform(0.5, 1.5, shape)
    bound = 1 / math.sqrt(math.prod(shape[1:]))
    return rng.uniform(-bound, bound, shape)


def _normal(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    return np.asarray(rng.standard_normal(shape))


def _signed(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    return rng.uniform(-1, 1, shape)


def _sparse(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    """About four terms of every sum over the first input are not zero: errors cannot average out."""
    values = rng.standard_normal(shape)
    return np.asarray(values * (rng.random(shape) < FEW / max(FEW, terms)))


def _bare(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    """The same for sums of exponentials, where zeros are no small terms but thousands that are all alike: rounded alike too,
    they carry an honest running sum far off."""
    return np.where(rng.random(shape) < FEW / max(FEW, terms), rng.standard_normal(shape), BOTTOM)


def _heavy(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    """A few elements dominate: those at the ends among them (lead_to_ends)."""
    return np.asarray(rng.standard_normal(shape) * _towering(rng, shape))


def _towering(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Factors of one and more, a few of them a thousand: of numbers that keep their sign."""
    return np.asarray(1 / np.maximum(rng.random(shape), 1e-4) ** HEAVY)


def _offset(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    """The mean is far larger than the spread, or as far below."""
    return np.asarray(rng.standard_normal(shape) + (OFFSET if rng.random() < 0.5 else -OFFSET))


def _above(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    return np.asarray(rng.standard_normal(shape) + OFFSET)


def _kept(rng: np.random.Generator, shape: tuple[int, ...], zeros: float) -> Array:
    """Where no zero stands: at the first place never, so that not all of them are."""
    kept = rng.random(shape) >= zeros
    kept.reshape(-1)[sure_zeros(shape, int(rng.integers(MANY)))] = False
    kept.reshape(-1)[:1] = True
    return kept


def _turned(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    return np.asarray(rng.uniform(-1, 1, shape) * _kept(rng, shape, ZEROS))


def _wide(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    """Far out on both sides, where "heavy" would be too far."""
    return rng.uniform(-WIDE, WIDE, shape)


_KINDS: dict[str, Callable[[np.random.Generator, tuple[int, ...], int], Array]] = {
    "normal": _normal, "signed": _signed, **dict.fromkeys(TURNING, _turned), SPARSE: _sparse, BARE: _bare, "heavy": _heavy,
    "wide": _wide, "offset": _offset, "offset-above": _above,
}  # fmt: skip
