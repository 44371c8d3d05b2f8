"""Value, scale and budget of every output of a graph, by the table's rules.

An error is counted in ULP of the scale (see ops/pairs.py). The budget is the larger of 4 ULP plus the square root of the
terms of the largest sum on the path, and four times the error of an honest implementation in the graph's own types, up to a
limit (steady.py): elements beyond it are few decisions that fell otherwise, and excuse nobody but themselves. What was
never rounded must be equal. Where a graph rounds to short types between its operators, scales are too generous to see a
wrong result: there the root mean square of the errors of every block of neighbours is held against the honest one's as well.
Scales add up what rounding could do at most, operator after operator; real errors cancel. So where all is float32 the root
mean square is held against noise: the graph with every operator's result disturbed as float32 in a plain order would.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from kernellab.graph.blocks import BLOCK, FEWEST
from kernellab.graph.evaluate import Machine, Operands, evaluate, last_use
from kernellab.graph.need_torch import need_torch
from kernellab.graph.ops.pairs import FLOOR_ULP, Call, Pair, Scaled, in_memory
from kernellab.graph.ops.table import row
from kernellab.graph.record import EPS, FLOATS, TINY, GraphRecord, Node, Output, Ref
from kernellab.graph.rounding import inner_eps, narrowing
from kernellab.graph.steady import excused, most_ulp

REFERENCE_FACTOR = 4.0
MEAN_FACTOR = 4.0
"""How much larger than the honest one's a root mean square error may be."""
NOISE_FACTOR = 8.0
"""How much larger than that of the noise it may be."""
_FLUSHED = TINY["float32"] / EPS["float32"]
"""The least scale of what was computed: below it float32 has fewer bits, or none where subnormals are flushed to zero."""
_PLAIN = 0.25
"""What a sum of K terms one after the other loses, over the square root of K; a little more than is usual."""
_SEED, _ODD = 20261, 0x5851F42D4C957F2D


@dataclass(frozen=True)
class Judged:
    """One output: what it must be, on which scale, and by how many ULP it may be off.

    `unscaled` names the operators on the way without a scale rule: there the scale is the magnitude of the result.
    `floor_ulp` is the budget without the error of the implementation it was compared with, `wanted_ulp` the one that
    would have covered all of it.
    """

    pair: Pair
    dtype: str
    budget_ulp: float
    unscaled: tuple[str, ...]
    most_rms_ulp: float = math.inf
    floor_ulp: float = 0.0
    wanted_ulp: float = 0.0

    @property
    def exact(self) -> bool:
        return self.dtype not in FLOATS

    def error_ulp(self, got: Any) -> Any:
        """The error of each element in ULP of its scale: zero where both are the same infinity or NaN, or become it in the
        output's type."""
        value, scale = self.pair.value, self.pair.scale
        wide, held = got.double(), value.to(getattr(need_torch(), self.dtype)).double()
        same = (wide == value) | (wide.isnan() & value.isnan()) | (held.isinf() & (wide == held))
        unit = (EPS[self.dtype] * scale).clamp(min=4 * TINY[self.dtype] / self.budget_ulp)
        error = ((wide - value).abs() / unit).nan_to_num(math.inf, math.inf)
        return error.where(~same, error * 0).nan_to_num(0.0, math.inf)

    def accepts(self, got: Any) -> bool:
        """Whether every element is within the budget; integers and booleans are exact where the decision is not open."""
        if tuple(got.shape) != tuple(self.pair.value.shape):
            return False
        if not self.exact:
            error = self.error_ulp(got)
            inside = bool((error <= self.budget_ulp).all()) and rms(error) <= self.most_rms_ulp
            return self._equal(got) if self.pair.exact else inside
        return bool(accepted(self, got).all())

    def _equal(self, got: Any) -> bool:
        """What was only moved or chosen; a subnormal may have become zero."""
        value = self.pair.value
        same = (got == value) | (got.isnan() & value.isnan()) | ((got - value).abs() <= TINY[self.dtype])
        return bool(same.all())


def rms(error: Any) -> float:
    """The largest root mean square of a block of neighbours: a tile that is wrong is not lost among all that is right."""
    squares = error.reshape(-1).pow(2)
    whole = squares.numel() // BLOCK * BLOCK
    means = [squares[:whole].reshape(-1, BLOCK).mean(1)] if whole else []
    means += [squares[whole:].mean().reshape(1)] if squares.numel() - whole >= FEWEST else []
    return max((float(m.max().sqrt()) for m in means), default=0.0)


def accepted(judged: Judged, got: Any) -> Any:
    """Element by element, whether an integer or boolean is right, or one that an honest rounding could have given."""
    if judged.pair.choice is not None:
        return _chosen(judged, got)
    near = (got.double() - judged.pair.value.double()).abs() <= judged.pair.scale
    if judged.dtype == "bool":  # in a buffer of bytes
        near = near & (got.double() <= 1)
    return (got == judged.pair.value) | near


def judge(
    record: GraphRecord,
    inputs: Mapping[str, Any],
    unit: float = 0.0,
    operands: Operands | None = None,
    alone: bool = False,
) -> list[Judged]:
    """Every output of the graph at these inputs, with the error of the graph in its own types in the budget.

    `unit` is the spacing of a type coarser than the graph's own that operands of products may be rounded to, by `operands`.
    `alone`: elements will be looked at one by one, never as neighbours; what those may be off together takes as long again.
    """
    pairs, unscaled = propagate(record, inputs, unit)
    honest = evaluate(record, inputs, wide=False, operands=operands)
    eps = max(inner_eps(record), unit)
    found = [
        _judged(pair, output, got, _path(record, output.ref) & set(unscaled), unscaled, eps)
        for pair, output, got in zip(pairs, record.outputs, honest, strict=True)
    ]
    if alone or eps > EPS["float32"] or not any(j.dtype == "float32" and j.pair.value.numel() >= FEWEST for j in found):
        return found
    noisy = disturbed(record, inputs)
    return [_held_together(*each) for each in zip(found, noisy, honest, strict=True)]


def _held_together(judged: Judged, noisy: Any, honest: Any) -> Judged:
    """An implementation in the graph's own types may be worse than the noise: some functions of libraries are."""
    if judged.dtype != "float32" or judged.pair.exact or noisy.numel() < FEWEST:
        return judged
    noise, own = (rms(_within_budget(judged, got)) for got in (noisy, honest))
    most = max(NOISE_FACTOR * noise, MEAN_FACTOR * own)
    return replace(judged, most_rms_ulp=most) if math.isfinite(most) and most > 0 else judged


def _within_budget(judged: Judged, got: Any) -> Any:
    """The errors that an element may have: of a decision that fell otherwise no mean is made."""
    error = judged.error_ulp(got)
    return error.where(error <= judged.budget_ulp, error.new_zeros(()))


def disturbed(record: GraphRecord, inputs: Mapping[str, Any]) -> list[Any]:
    """The outputs in float64, with every operator's result off by what float32 in a plain order might cost it: up or down,
    and on the scale of that operator alone."""
    steps = count(1)

    def noise(pair: Pair) -> Pair:
        value = pair.value
        if not value.is_floating_point():
            return pair
        if pair.exact:
            return _input_pair(value)
        size = EPS["float32"] * _PLAIN * (1 + max(pair.budget - FLOOR_ULP, 1.0))
        return _input_pair(value + _signs(value, next(steps)).mul_(pair.scale).mul_(size))

    return [pair.value for pair in propagate(record, inputs, after=noise)[0]]


def _signs(value: Any, step: int) -> Any:
    """1 or -1 for every element, by its bits: what is the same is rounded the same, and a sum of it goes one way."""
    bits = value.double().contiguous().view(need_torch().int64)
    mixed = ((bits ^ bits >> 29) * _ODD + step * _SEED) * _ODD
    return (mixed >> 40 & 1).double().mul_(2).sub_(1)


def propagate(
    record: GraphRecord, inputs: Mapping[str, Any], unit: float = 0.0, after: Callable[[Pair], Pair] | None = None
) -> tuple[list[Pair], dict[str, str]]:
    """A pair for every output, and the nodes without a rule, by name, with their operator.

    `unit`: as in `judge`; what is that close to a kink or to another element leaves a decision open. `after`: what becomes
    of a node's results before others read them.
    """
    machine = Machine(record, inputs)
    pairs = {key: _input_pair(value) for key, value in machine.start().items()}
    unscaled: dict[str, str] = {}
    last, eps, narrowed = last_use(record), max(inner_eps(record), unit), narrowing(record)
    for number, node in enumerate(record.nodes):
        made = _scaled(machine, node, pairs, eps)
        if node.name in narrowed:
            made = [p and replace(p, exact=False, bare=False) for p in made]
        if _rule(node) is None:
            unscaled[node.name] = node.op
        made = [p and after(p) for p in made] if after else made
        pairs |= {(node.name, i): p for i, p in enumerate(made) if p is not None}
        for key in [k for k in pairs if last.get(k[0], -1) <= number and k[0] not in _kept(record)]:
            del pairs[key]
    return [pairs[(o.ref.ref, o.ref.part)] for o in record.outputs], unscaled


def _input_pair(value: Any) -> Pair:
    """Data are exact; their scale is their magnitude, and nothing where they are not finite."""
    if not value.is_floating_point():
        return Pair(value, value.double() * 0, exact=True)
    size = value.abs()
    if _bounded(size):
        return Pair(value, size, exact=True, bare=True)
    return Pair(value, size.where(value.isfinite(), value.new_zeros(())), exact=True)


def _rule(node: Node) -> Any:
    found = row(node.op)
    return found.scale if found else None


def _scaled(machine: Machine, node: Node, pairs: dict[tuple[str, int], Pair], eps: float) -> list[Pair | None]:
    def read_pair(ref: Ref) -> Pair:
        return pairs[(ref.ref, ref.part)]

    results = machine.results(node, lambda ref: read_pair(ref).value)
    args = [machine.decode(a, read_pair) for a in node.args]
    kwargs = {k: machine.decode(v, read_pair) for k, v in node.kwargs.items()}

    def run(other: list[Any], named: dict[str, Any]) -> Any:
        return machine.run(node.op, [_values(a) for a in other], {k: _values(v) for k, v in named.items()})

    call = Call(node.op, args, kwargs, results, eps, machine.torch, run)
    rule = _rule(node)
    answer = rule(call) if rule else Scaled(tuple(None for _ in results))
    before = max([p.terms for p in call.pairs()], default=0.0)
    seen = {(_storage(p.value), _storage(p.scale)): p.bare for p in call.pairs()}
    return [_pair(result, answer, i, max(answer.terms_of(i), before), seen) for i, result in enumerate(results)]


Seen = dict[tuple[int, int], bool]
"""Where values and scales of arguments lie, and whether those are bare."""


def _storage(values: Any) -> int:
    return int(values.untyped_storage().data_ptr())


def _values(value: Any) -> Any:
    if isinstance(value, Pair):
        return value.value
    return [_values(v) for v in value] if isinstance(value, list | tuple) else value


def _pair(result: Any, answer: Scaled, i: int, terms: float, seen: Seen) -> Pair | None:
    if result is None:
        return None
    scale = answer.scales[i] if i < len(answer.scales) else None
    choice = (answer.choices or {}).get(i)
    if not result.is_floating_point():
        open_ = result.double() * 0 if scale is None else scale
        open_ = open_.clamp(max=1.0) if result.dtype == (open_ > 0).dtype else open_  # a boolean has no further to go
        return Pair(result, open_.expand(result.shape), terms, not bool(open_.any()), choice)
    own = _own_scale(result, scale, answer.exact, seen)
    bare = own is scale and answer.exact and seen.get((_storage(result), _storage(own)), False)
    return Pair(result, own, terms, answer.exact, choice, answer.whole, bare)


def _own_scale(result: Any, scale: Any, exact: bool, seen: Seen) -> Any:
    """Its magnitude where a rule says nothing; no smaller than what may be flushed, unless exact; 0 where it is not finite.
    In place, since these are the largest arrays of all; and as it is, where nothing of it has to change, or where both
    are views of what has been `seen` (value and scale of an argument)."""
    alike = exact and scale is not None and scale.shape == result.shape
    if alike and ((_storage(result), _storage(scale)) in seen or (_bounded(scale) and _finite(result))):
        return scale
    held = result.abs() if scale is None else scale.expand(result.shape).clone()
    if bool((unknown := held.isnan()).any()):
        held = held.where(~unknown, result.abs())
    if not exact:
        held.masked_fill_((held < _FLUSHED) & (result != 0), _FLUSHED)
    return held.masked_fill_(~result.isfinite(), 0.0)


def _bounded(scale: Any) -> bool:
    """Whether every element is a number below infinity; read once, where a mask would be as large as it is."""
    return bool(in_memory(scale).max() < math.inf) if scale.numel() else True


def _finite(values: Any) -> bool:
    """Of a type that has infinities."""
    if not values.numel():
        return True
    low, high = in_memory(values).aminmax()
    return bool((low > -math.inf) & (high < math.inf))


def _judged(pair: Pair, output: Output, honest: Any, missing: set[str], unscaled: dict[str, str], eps: float) -> Judged:
    names = tuple(sorted({unscaled[n] for n in missing}))
    if output.type.dtype not in FLOATS:
        return Judged(pair, output.type.dtype, 0.0, names)
    own = EPS[output.type.dtype]
    if own > eps:
        pair, floor = _rounded_once(pair, eps / own), 4.0
    else:
        # The sum's share is lost in float32, whatever is stored; the rest in the coarsest type on the way.
        floor = 4.0 * eps / own + (pair.budget - 4.0) * min(1.0, EPS["float32"] / own)
    error = Judged(pair, output.type.dtype, floor, names).error_ulp(honest)
    wanted = REFERENCE_FACTOR * float(error.max()) if error.numel() else 0.0
    most = most_ulp(floor, own, ieee=eps <= EPS["float32"])
    if wanted > most:
        pair, error = excused(pair, honest, error, most / REFERENCE_FACTOR, own)
    worst = float(error.max()) if error.numel() else 0.0
    budget = max(floor, min(REFERENCE_FACTOR * worst, most) if math.isfinite(worst) else floor)
    wanted = wanted if math.isfinite(wanted) else 0.0
    first = Judged(pair, output.type.dtype, budget, names, floor_ulp=floor, wanted_ulp=wanted)
    if eps <= EPS["float32"] or error.numel() < FEWEST or not math.isfinite(worst):
        return first
    return replace(first, most_rms_ulp=MEAN_FACTOR * rms(error) + rms(_last_bit(first)))


def _rounded_once(pair: Pair, share: float) -> Pair:
    """A result of a shorter type than everything before it: its own rounding, and what was lost before."""
    scale = pair.value.abs() + share * (pair.budget / 4.0) * pair.scale
    return replace(pair, scale=scale.where(pair.value.isfinite(), scale.new_zeros(())))


def _last_bit(judged: Judged) -> Any:
    """One ULP of each value, in ULP of its scale."""
    share = judged.pair.value.abs() / judged.pair.scale
    return share.nan_to_num(0.0, 0.0, 0.0)


def _kept(record: GraphRecord) -> set[str]:
    return {o.ref.ref for o in record.outputs}


def _path(record: GraphRecord, ref: Ref) -> set[str]:
    """The nodes that a value is made of."""
    wanted = {ref.ref}
    for node in reversed(record.nodes):
        if node.name in wanted:
            wanted |= {r.ref for r in node.refs()}
    return wanted


def _chosen(judged: Judged, got: Any) -> Any:
    """An index passes when its element is within reach of the winner's."""
    choice = judged.pair.choice
    assert choice is not None
    source = choice.source
    index = got.reshape(choice.best.shape)
    inside = (index >= 0) & (index < source.value.shape[choice.dim])
    index = index.where(inside, index * 0)
    if choice.distinct:
        inside = inside & ~(index.sort(choice.dim).values.diff(dim=choice.dim) == 0).any(choice.dim, keepdim=True)
    reach = choice.reach
    picked, allowed = source.value.gather(choice.dim, index), reach.gather(choice.dim, index)
    same = (picked == choice.best) | (picked.isnan() & choice.best.isnan())
    near = (picked - choice.best).abs() <= allowed + reach.amax(choice.dim, keepdim=True)
    return (inside & (same | near)).reshape(got.shape)
