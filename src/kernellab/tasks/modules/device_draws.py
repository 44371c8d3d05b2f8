"""Inputs of a captured module, drawn on the device by torch: as tasks/modules/draws.py draws them on the host.

The numbers are others, their distributions are the same. On the host gigabytes would take seconds to draw and to send.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kernellab.graph.forms import made
from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphInput, GraphRecord, Seen
from kernellab.tasks.modules.draws import (
    BARE,
    BOTTOM,
    FAINT,
    FEW,
    GAPS,
    HEAVY,
    LARGER,
    LEADING,
    MIXED,
    OFFSET,
    OWN,
    PLANTED,
    RARELY,
    SPARSE,
    STRETCH,
    TURNING,
    UNEVEN,
    WEIGHTS,
    ZEROS,
    as_bags,
    except_whole,
    faintest,
    first_float,
    leaves_out,
    like_own,
    may_grow,
    may_stretch,
    meets,
    piles,
    span,
    span_apart,
    turns,
)
from kernellab.tasks.modules.excepted import Excepted, ends_of, hides, may_except
from kernellab.tasks.modules.exceptions import WIDE, make_exceptions
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
from kernellab.tasks.modules.uses import Apart, Uses
from kernellab.tasks.planted import MANY, sure_zeros


class DeviceDraws:
    def __init__(self, graph: GraphRecord, device: str) -> None:
        self._graph = graph
        self._uses, self._excepted = Uses(graph), Excepted(graph)
        self._device = device
        self._first = first_float(graph)

    def draw(self, dims: dict[str, int], seed: int, kind: str = OWN) -> list[Any]:
        """One tensor for each input, in the type that its buffer has."""
        torch = need_torch()
        dice = torch.Generator(self._device).manual_seed(seed)
        shapes = [entry.type.shape(dims) or (1,) for entry in self._graph.inputs]
        pairs, places = zip(self._graph.inputs, shapes, strict=True), _Dice(torch, dice, (1,)).number(MANY)
        return [self._one(_Dice(torch, dice, shape), entry, dims, kind, places) for entry, shape in pairs]

    def _one(self, dice: _Dice, entry: GraphInput, dims: dict[str, int], kind: str, places: int) -> Any:
        apart = self._uses.apart(entry.name, dims)
        if apart is not None:
            low, high = span_apart(entry, self._uses, dims, kind, apart)
            return _apart(dice, apart, low, high).to(getattr(dice.torch, entry.type.dtype))
        if entry.seen is not None and entry.seen.form:
            kind_of = getattr(dice.torch, "uint8" if entry.type.dtype == "bool" else entry.type.dtype)
            return dice.torch.from_numpy(made(entry.seen.form, dice.shape)).to(self._device).to(kind_of)
        if (bags := self._uses.bags(entry.name, dims)) is not None:
            return as_bags(dice.integers(0, bags[0], getattr(dice.torch, entry.type.dtype)).sort().values, *bags)
        values = self._at_random(dice, entry, dims, kind, places)
        order = self._uses.sorted(entry.name)
        return values.sort(-1, descending=order < 0).values if order else values

    def _at_random(self, dice: _Dice, entry: GraphInput, dims: dict[str, int], kind: str, places: int) -> Any:
        reach = self._excepted.reach(kind, entry)
        if kind in TURNING and entry.type.dtype == "bool":
            return plant_flags(_ends(dice), dice.host()) if kind == PLANTED else _ends(dice)
        if not entry.type.is_float:
            whole = _whole(dice, entry, self._uses, dims, kind)
            if reach is not None:
                common = np.random.default_rng(places)
                except_whole(whole, dice.host(), common, reach, entry, self._uses, dims)
            return whole
        if like_own(kind) or entry.role != "input" or hides(entry):
            values = _own(dice, entry, kind)
            if kind == FAINT and may_except(entry):
                fade(values, np.random.default_rng(places), faintest(entry))
            if reach is not None:
                common, steps = np.random.default_rng(places), self._uses.steps(entry.name)
                make_exceptions(values, dice.host(), common, reach, ends_of(entry), steps)
        else:
            values = _KINDS[kind](dice, self._uses.terms(entry.name, dims) if entry.name == self._first else 0)
            if kind in (PLANTED, MIXED):
                plant_floats(values, dice.host(), self._uses.steps(entry.name))
            elif kind in LEADING:
                lead_to_ends(values, dice.host())
                if kind == "heavy":
                    raise_last(values, dice.host())
        if meets(kind) and self._uses.searched(entry.name):
            ends = ends_of(entry)
            put_on_grid(values, dice.host(), ends.low, ends.high)
        return values.to(getattr(dice.torch, entry.type.dtype))


class _Dice:
    """Numbers of one shape, in float32."""

    def __init__(self, torch: Any, generator: Any, shape: tuple[int, ...]) -> None:
        self.torch, self._generator, self.shape = torch, generator, shape

    def uniform(self, low: float = 0.0, high: float = 1.0) -> Any:
        made = self.torch.empty(self.shape, device=self._generator.device)
        return made.uniform_(low, high, generator=self._generator)

    def normal(self, mean: float = 0.0, spread: float = 1.0) -> Any:
        made = self.torch.empty(self.shape, device=self._generator.device)
        return made.normal_(mean, spread, generator=self._generator)

    def integers(self, low: int, high: int, dtype: Any) -> Any:
        """Both ends among them."""
        made = self.torch.empty(self.shape, dtype=dtype, device=self._generator.device)
        return made.random_(low, high + 1, generator=self._generator)

    def signs(self, dtype: Any) -> Any:
        return self.integers(0, 1, dtype).mul_(2).sub_(1)

    def number(self, below: int) -> int:
        """One for all of them."""
        return int(self.like((1,)).integers(0, below - 1, self.torch.int64).item())

    def host(self) -> np.random.Generator:
        """For what is drawn place by place."""
        return np.random.default_rng(self.number(MANY))

    def like(self, shape: tuple[int, ...]) -> _Dice:
        return _Dice(self.torch, self._generator, shape)

    @property
    def rows(self) -> _Dice:
        """One number for each row."""
        return self.like((*self.shape[:-1], 1))

    def places(self) -> Any:
        """Of the elements of a row."""
        return self.torch.arange(self.shape[-1], device=self._generator.device)


def _whole(dice: _Dice, entry: GraphInput, uses: Uses, dims: dict[str, int], kind: str) -> Any:
    name = "uint8" if entry.type.dtype == "bool" else entry.type.dtype
    (low, high), mark = span(entry, uses, dims, kind), uses.marked(entry.name)
    values = dice.integers(low, high, getattr(dice.torch, name))
    if mark is not None and (kind in TURNING or leaves_out(entry, mark)):
        values.view(-1)[1:].masked_fill_(dice.uniform().view(-1)[1:] < ZEROS, mark)
    if piles(kind, uses.below(entry.name, dims), entry):
        mass(values, dice.host(), low, high)
    if kind in (PLANTED, MIXED) and entry.type.dtype != "bool":
        plant_whole(values, dice.host(), low, high, uses.steps(entry.name))
    return values


def _apart(dice: _Dice, apart: Apart, low: int, high: int) -> Any:
    """As _apart of the host's."""
    axis, drawn = (0, (math.prod(dice.shape),)) if apart.axis is None else (apart.axis, dice.shape)
    keys = dice.like((*drawn[:axis], high - low + 1, *drawn[axis + 1 :])).uniform()
    if drawn[axis] > 1:
        keys.movedim(axis, -1)[..., [0, -1]] = -1.0
    chosen = keys.argsort(axis).narrow(axis, 0, drawn[axis])
    return chosen.roll(dice.number(drawn[axis]), axis).add(low).view(dice.shape)


def _own(dice: _Dice, entry: GraphInput, kind: str) -> Any:
    values = _like(dice, entry)
    if entry.seen is not None and hides(entry):
        return values.masked_fill_(_hidden(dice, entry.seen.hidden), -math.inf)
    if kind == "gaps" and entry.role == "input" and math.prod(dice.shape) > 1:
        return values.mul_(_kept(dice, GAPS))
    if kind == UNEVEN and entry.role == "input":
        return raise_last(lead_to_ends(values.mul_(_towering(dice)), dice.host()), dice.host())
    if kind in (*TURNING, *WEIGHTS) and may_stretch(entry):
        steps = dice.integers(0, 1, values.dtype).add_(1).mul_(dice.signs(values.dtype))
        values.mul_(steps.mul_(math.log(STRETCH) / 2).exp_())
    if turns(kind, entry):
        values.mul_(dice.signs(values.dtype))
    if kind in WEIGHTS and may_grow(entry):
        values.mul_((dice.uniform() < RARELY).to(values.dtype).mul_(LARGER - 1).add_(1))
    return values


def _kept(dice: _Dice, zeros: float) -> Any:
    kept = dice.uniform() >= zeros
    kept.view(-1)[sure_zeros(dice.shape, dice.number(MANY))] = False
    kept.view(-1)[:1] = True
    return kept


def _hidden(dice: _Dice, share: float) -> Any:
    """As `hidden` of the host's."""
    places, length, whole = dice.places(), dice.shape[-1], dice.torch.int64
    row = dice.torch.arange(math.prod(dice.shape[:-1]), device=places.device).view(*dice.shape[:-1], 1)
    turn = dice.torch.where(row % 4 == 3, 3, 0)
    form = dice.torch.where(row % 4 < 2, 1 + (row + dice.number(2)) % 2, turn)
    kept = dice.rows.integers(0, length - 1, whole).clamp_(form.eq(1).to(whole), length - 1 - form.eq(2).to(whole))
    ends = dice.torch.where(form == 1, places < kept, places > kept)
    some = dice.torch.where(form == 0, dice.uniform() < share, ends & (form != 3))
    return some & (places != kept) & (length > 1)


def _ends(dice: _Dice) -> Any:
    """As _ends of the host's, in the bytes that a boolean's buffer has."""
    bytes_ = dice.torch.uint8
    if dice.shape[-1] < 2:
        return dice.integers(0, 1, bytes_)
    cut = dice.rows.integers(1, dice.shape[-1] - 1, dice.torch.int64)
    first = dice.rows.integers(0, 1, dice.torch.int64) == 1
    return ((dice.places() < cut) == first).to(bytes_)


def _like(dice: _Dice, entry: GraphInput) -> Any:
    seen = entry.seen
    if seen is None:
        return _unseen(dice, entry)
    if seen.low == seen.high:
        return dice.uniform(0.5, 1.5) * seen.low if seen.low else dice.normal(0.0, 0.1)
    values = _between(dice, entry, seen)
    return values.mul_(dice.uniform() >= seen.zeros) if 0.02 < seen.zeros < 1 else values


def _between(dice: _Dice, entry: GraphInput, seen: Seen) -> Any:
    if seen.low >= 0 or entry.role != "input" or max(-seen.low, seen.high) <= 1:
        return dice.uniform(seen.low, seen.high)
    return dice.normal(seen.mean, (seen.high - seen.low) / 8).clamp_(seen.low, seen.high)


def _unseen(dice: _Dice, entry: GraphInput) -> Any:
    if entry.role == "input":
        return dice.normal()
    if len(dice.shape) < 2:
        return dice.uniform(0.5, 1.5)
    bound = 1 / math.sqrt(math.prod(dice.shape[1:]))
    return dice.uniform(-bound, bound)


def _sparse(dice: _Dice, terms: int) -> Any:
    return dice.normal().mul_(dice.uniform() < FEW / max(FEW, terms))


def _bare(dice: _Dice, terms: int) -> Any:
    return dice.normal().masked_fill_(dice.uniform() >= FEW / max(FEW, terms), BOTTOM)


def _heavy(dice: _Dice, terms: int) -> Any:
    return dice.normal().mul_(_towering(dice))


def _towering(dice: _Dice) -> Any:
    return dice.uniform().clamp_(min=1e-4).pow_(-HEAVY)


_KINDS: dict[str, Callable[[_Dice, int], Any]] = {
    "normal": lambda dice, terms: dice.normal(),
    "signed": lambda dice, terms: dice.uniform(-1.0, 1.0),
    **{kind: lambda dice, terms: dice.uniform(-1.0, 1.0).mul_(_kept(dice, ZEROS)) for kind in TURNING},
    "wide": lambda dice, terms: dice.uniform(-WIDE, WIDE),
    SPARSE: _sparse,
    BARE: _bare,
    "heavy": _heavy,
    "offset": lambda dice, terms: dice.normal(OFFSET if dice.number(2) else -OFFSET),
    "offset-above": lambda dice, terms: dice.normal(OFFSET),
}
