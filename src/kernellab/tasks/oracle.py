"""The oracle: the reference in float64 and, from it, the interval in which every output element must lie.

Error is counted in ULPs of the element's scale (|expected|, or the task's own scale where terms cancel or where a sum's
error belongs to the element; sums.py has those). The budget is the largest of four times the trusted same-dtype
implementation's own error on these very inputs, twice the error of the task's plain-order implementation where it gives
one, and 4 + sqrt(terms summed) ULP; never above 1024 ULP, since half precision in disguise starts at 4096. Terms are those
that are not zero, so that `sparse` inputs leave hardly more than an element's own error, however long the sum.

16-bit outputs are storage: an honest kernel computes in float32 and rounds once. Their scale is therefore |expected|, for
that rounding, plus the float32 floor on the task's scale; the floor is one ULP of that, and four times the trusted
implementation's half ULP makes about two. Sixteen bits anywhere on the way cost more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kernellab.core.errors import TaskRefused
from kernellab.graph.blocks import BLOCK, FEWEST
from kernellab.graph.steady import steady_budget
from kernellab.tasks.dtypes import is_float, is_short, limits, widen
from kernellab.tasks.expected import Expected
from kernellab.tasks.spec import IEEE, Array, Dims, Task, dims_label

_TRUSTED_MULTIPLE = 4.0
_PLAIN_MULTIPLE = 2.0
_FLOOR_ULP = 4.0
_FLOOR_CAP = 1024.0
_SHORT_FLOOR_ULP = 1.0
_BAND_ELEMENTS = 1 << 18
_PIECE = 1 << 15
OWN_SHARE = 0.5
"""Of the budget, that the root mean square of what neighbours have not in common may reach. Honest ones reach a tenth."""


def run_reference(task: Task, inputs: list[Array]) -> tuple[Array, ...]:
    """The reference on float64 copies (exact tasks: on the inputs as they are)."""
    given = [a.copy() if task.exact or not is_float(a.dtype) else a.astype(np.float64) for a in inputs]
    with np.errstate(all="ignore"):
        result = task.reference(*given)
    results = result if isinstance(result, tuple) else (result,)
    return tuple(np.asarray(r) for r in results)


def run_trusted(task: Task, inputs: list[Array], dims: Dims) -> list[Array]:
    """The trusted same-dtype implementation: the numpy baseline, or torch's where the task is a captured graph."""
    outputs = [np.empty(b.shape(dims), b.dtype) for b in task.outputs]
    with np.errstate(all="ignore"):
        task.baselines[task.trusted](*(a.copy() for a in inputs), *outputs)
    return outputs


def expect(
    task: Task, dims: Dims, inputs: list[Array], budgets: Sequence[float] = (), band: int = _BAND_ELEMENTS,
    workers: Executor | None = None,
) -> list[Expected]:  # fmt: skip
    """What the outputs must be, and how far they may be off.

    `budgets` (in ULP, one for each output) spares the trusted implementations where they are known for such inputs.
    `band`: how many elements are looked at together where the task has a halo; `workers` share the bands.
    """
    if task.oracle is not None:
        return task.oracle.expect(dims, inputs)
    floor = floor_ulp(task, dims, inputs)
    bands = _bands(task, dims, band)
    if len(bands) == 1 or task.exact:
        values = _checked(task, dims, run_reference(task, inputs))
        if task.exact:
            cast = [v.astype(b.dtype) for v, b in zip(values, task.outputs, strict=True)]
            return [Expected(v, v, 0.0, v, v, True) for v in cast]
        scales = _scales(task, dims, inputs, values)
        wanted = budgets or _budgets(task, dims, inputs, values, scales, floor)
        found = _steadied(task, dims, wanted)
        return _whole(task, [interval(*each) for each in _columns(task, values, scales, found)], wanted)
    share: Callable[..., Any] = map if workers is None else workers.map
    parts = list(share(partial(_band_terms, task, dims, inputs, floor, not budgets), bands))
    wanted = budgets or [max(column) for column in zip(*(own for _, _, own in parts), strict=True)]
    found = _steadied(task, dims, wanted)
    joined = [_Joined(b.shape(dims), b.dtype, e) for b, e in zip(task.outputs, found, strict=True)]
    list(share(partial(_join, task, joined, found), bands, parts))
    return _whole(task, [whole.expected for whole in joined], wanted)


def needs_luck(task: Task, dims: Dims, expected: Expected) -> bool:
    """Whether a budget that covers the honest implementation is larger than any that no luck is needed for."""
    most = steady_budget(expected.floor_ulp or floor_ulp(task, dims), task.precision == IEEE)
    return not expected.exact and max(expected.budget_ulp, expected.wanted_ulp) > most


def _steadied(task: Task, dims: Dims, wanted: Sequence[float]) -> list[float]:
    """What the trusted implementations make widens a budget so far and no further: an element that is thousands of ULP off
    would excuse every wrong one beside it. A task where that is the rule is refused when it proves its judge."""
    most = steady_budget(floor_ulp(task, dims), task.precision == IEEE)
    return [min(w, most) for w in wanted]


def _whole(task: Task, expected: list[Expected], wanted: Sequence[float]) -> list[Expected]:
    return _with_shared(task, [replace(e, wanted_ulp=w) for e, w in zip(expected, wanted, strict=True)])


def _with_shared(task: Task, expected: list[Expected]) -> list[Expected]:
    """Short floats have none: their scale is for one rounding."""
    if task.shared is None:
        return expected
    given = task.shared(*(e.value for e in expected))
    factors = given if isinstance(given, tuple) else (given,)
    if len(factors) != len(expected):
        raise TaskRefused(f"task '{task.name}': shared gives {len(factors)} outputs, {len(expected)} declared",
                          "return a tuple with one array or None for each output")  # fmt: skip
    pairs = zip(expected, factors, strict=True)
    return [e if f is None or is_short(e.low.dtype) else replace(e, shared=_a_row_each(task, e, f)) for e, f in pairs]


def _a_row_each(task: Task, expected: Expected, factors: Any) -> Array:
    """One number a row, at least 0; a row of no numbers has no say."""
    try:
        found = np.broadcast_to(np.nan_to_num(np.asarray(factors, np.float64)), (*expected.value.shape[:-1], 1))
    except (ValueError, TypeError):
        found = np.full(1, -1.0)
    if (found < 0).any():
        raise TaskRefused(f"task '{task.name}': shared is to give one number a row, none below 0",
                          "keep the reduced axis: any_order_ulp(y, 1) / 5 does")  # fmt: skip
    return found


def float32_slack(task: Task, dims: Dims, dtype: str) -> float:
    """The share of the task's scale, in ULPs of a 16-bit dtype, that computing in float32 may cost before rounding."""
    return floor_ulp(task, dims) * limits("float32").eps / limits(dtype).eps


def floor_ulp(task: Task, dims: Dims, inputs: Sequence[Array] = ()) -> float:
    """The error, in ULPs of the scale, that any honest float32 or float64 kernel may make.

    Zeros are no terms: where an input consists of little else, a sum over it is a short one.
    """
    terms = float(task.reduction(dims)) if task.reduction else 1.0
    if terms > 1:
        long = [a for a in inputs if is_float(a.dtype) and a.size >= terms]
        terms = max(1.0, terms * min([np.count_nonzero(a) / a.size for a in long], default=1.0))
    return min(_FLOOR_ULP + math.sqrt(terms), _FLOOR_CAP)


def _checked(task: Task, dims: Dims, values: tuple[Array, ...]) -> tuple[Array, ...]:
    """The reference's results, if they are what the task declares."""
    if len(values) != len(task.outputs):
        raise TaskRefused(
            f"task '{task.name}': the reference returns {len(values)} outputs, {len(task.outputs)} declared",
            "return a tuple with one array for each output",
        )
    for buffer, value in zip(task.outputs, values, strict=True):
        if value.shape != buffer.shape(dims):
            raise TaskRefused(
                f"task '{task.name}': the reference gives shape {value.shape} for '{buffer.name}' at {dims_label(dims)}, "
                f"declared {buffer.shape(dims)}",
                "make the reference and the outputs agree",
            )
    return values


@dataclass(frozen=True)
class _Band:
    """Rows [start, end) of the outputs, computed from rows [first, last) of the inputs."""

    start: int
    end: int
    first: int
    last: int


def in_bands(task: Task, dims: Dims) -> bool:
    """Whether a shape's answers are made in pieces: one row is one piece."""
    return not task.exact and len(_bands(task, dims, _BAND_ELEMENTS)) > 1


def _bands(task: Task, dims: Dims, elements: int) -> list[_Band]:
    """Pieces that stay in the processor's caches, where the task says that rows depend on near rows alone."""
    first = task.inputs[0]
    rows = first.shape(dims)[0]
    if task.halo is None or math.prod(first.shape(dims)) < 2 * elements:
        return [_Band(0, rows, 0, rows)]
    step = max(1, elements * rows // math.prod(first.shape(dims)))
    starts = range(0, rows, step)
    return [
        _Band(a, min(a + step, rows), max(0, a - task.halo), min(rows, a + step + task.halo)) for a in starts
    ]  # fmt: skip


def _band_terms(
    task: Task, dims: Dims, inputs: list[Array], floor: float, own: bool, band: _Band
) -> tuple[list[Array], list[Array], list[float]]:
    """Values, scales and (if asked for) budgets of one band's rows."""
    given = [a[band.first : band.last] for a in inputs]
    here = {**dims, str(task.inputs[0].extents[0]): band.last - band.first}
    values = _checked(task, here, run_reference(task, given))
    scales = _scales(task, dims, given, values)
    kept = slice(band.start - band.first, band.end - band.first)
    cut_values, cut_scales = [v[kept] for v in values], [s[kept] for s in scales]
    if not own:
        return cut_values, cut_scales, []
    return cut_values, cut_scales, _budgets(task, here, given, cut_values, cut_scales, floor, kept)


def _budgets(
    task: Task, dims: Dims, inputs: list[Array], values: Sequence[Array], scales: Sequence[Array], floor: float,
    kept: slice = slice(None),
) -> list[float]:  # fmt: skip
    """What the trusted implementations make of these inputs, in ULP; `kept` are the rows that count."""
    trusted = [t[kept] for t in run_trusted(task, inputs, dims)]
    plain = [p[kept] for p in _run_plain(task, inputs) or []] or trusted
    floors = [_SHORT_FLOOR_ULP if is_short(b.dtype) else floor for b in task.outputs]
    return [_budget(*each) for each in zip(values, scales, trusted, plain, floors, strict=True)]


def _columns(
    task: Task, values: Sequence[Array], scales: Sequence[Array], budgets: Sequence[float]
) -> list[tuple[Array, Array, float, str]]:
    return [(v, s, e, b.dtype) for v, s, e, b in zip(values, scales, budgets, task.outputs, strict=True)]


class _Joined:
    """An output whose bands are filled in by whoever has computed them."""

    def __init__(self, shape: tuple[int, ...], dtype: str, budget: float) -> None:
        wide, ends = [np.empty(shape) for _ in range(2)], [np.empty(shape, dtype) for _ in range(2)]
        self.expected = Expected(wide[0], wide[1], budget, ends[0], ends[1], False)

    def fill(self, rows: slice, piece: Expected) -> None:
        whole = self.expected
        for into, part in ((whole.value, piece.value), (whole.scale, piece.scale), (whole.low, piece.low),
                           (whole.high, piece.high)):  # fmt: skip
            into[rows] = part


def _join(
    task: Task, joined: Sequence[_Joined], budgets: Sequence[float], band: _Band,
    part: tuple[list[Array], list[Array], list[float]],
) -> None:  # fmt: skip
    for whole, each in zip(joined, _columns(task, part[0], part[1], budgets), strict=True):
        whole.fill(slice(band.start, band.end), interval(*each))


def error_ulp(got: Array, expected: Array, scale: Array) -> tuple[float, float, int]:
    """Largest error: absolute, in ULPs of the scale, and where. Non-finite values must match exactly.

    Piece by piece: what stays in the processor's caches is done in a third of the time.
    """
    flat = [np.broadcast_to(a, got.shape).reshape(-1) for a in (got, expected, scale)]
    absolute, ulps, worst = 0.0, -1.0, 0
    for start in range(0, max(1, got.size), _PIECE):
        difference, errors = _each_error(*(a[start : start + _PIECE] for a in flat))
        place = int(np.argmax(errors))
        absolute = max(absolute, float(difference.max()))
        if not math.isnan(ulps) and not errors[place] <= ulps:  # an error that is no number is the largest of all
            ulps, worst = float(errors[place]), start + place
    return absolute, ulps, worst


def rms_ulp(got: Array, expected: Array, scale: Array) -> float:
    """The largest root mean square of the errors of a block of neighbours, in ULPs of the scale (graph/scale.rms)."""
    squares = np.square(_each_error(got, expected, scale)[1]).reshape(-1)
    whole = squares.size // BLOCK * BLOCK
    means = [squares[:whole].reshape(-1, BLOCK).mean(1).max()] if whole else []
    means += [squares[whole:].mean()] if squares.size - whole >= FEWEST else []
    return float(np.sqrt(max(means, default=0.0)))


def own_rms_ulp(got: Array, expected: Array, scale: Array, shared: Array) -> float:
    """The largest root mean square of the errors of a block of neighbours in a row, what the row has in common taken out, in
    ULPs of what is left of the scale. Values so small that their ULP is not compared have no say."""
    length = got.shape[-1]
    most = 0.0
    rows = [a.reshape(-1, length) for a in (got, expected, np.broadcast_to(scale, got.shape))]
    factors = shared.reshape(-1, 1)
    several = max(1, _PIECE // length)
    for row in range(0, len(rows[0]), several):
        for column in range(0, length, _PIECE):
            here = slice(row, row + several), slice(column, column + _PIECE)
            most = max(most, _own_rms(rows[0][here], rows[1][here], rows[2][here], factors[here[0]]))
    return most


def own_is_over(got: Array, expected: Array, scale: Array, shared: Array, most: float) -> bool:
    """Whether `own_rms_ulp` is more than `most`."""
    found = got, expected, scale, shared
    return not _each_within(*found, most) and own_rms_ulp(*found) > most


def _each_within(got: Array, expected: Array, scale: Array, shared: Array, most: float) -> bool:
    """Whether every error that has a say is so small by itself that no mean of `own_rms_ulp` can be larger than `most`: that
    is seen in a seventh of the time."""
    length, info = got.shape[-1], limits(got.dtype)
    rows = [a.reshape(-1, length) for a in (got, expected, np.broadcast_to(scale, got.shape))]
    factors, several = shared.reshape(-1, 1), max(1, _PIECE // length)
    for row in range(0, len(rows[0]), several):
        here, value, whole = (a[row : row + several] for a in rows)
        with np.errstate(all="ignore"):
            unit = np.abs(value)
            unit *= -factors[row : row + several]
            unit += whole
            unit *= most * info.eps
            off = here - value
            over = ~(np.abs(off, out=off) <= unit)
            if over.any() and not (np.abs(value[over]) * info.eps < info.quiet).all():
                return False
    return True


def _own_rms(got: Array, expected: Array, scale: Array, shared: Array) -> float:
    """Of rows that are short, or pieces of long ones."""
    info = limits(got.dtype)
    with np.errstate(all="ignore"):
        unit = info.eps * (scale - np.abs(expected) * shared)
        told = np.isfinite(expected) & (np.abs(expected) * info.eps >= info.quiet) & (unit > 0)
        error = np.where(told, (got - expected) / unit, 0.0)
        factor = np.where(told, expected / unit, 0.0)
    whole = got.shape[1] // BLOCK * BLOCK
    parts = [(0, whole, BLOCK)] * (whole > 0) + [(whole, got.shape[1], got.shape[1] - whole)]
    return max((_left_rms(*(a[:, at:to].reshape(-1, size) for a in (error, factor, told)))
                for at, to, size in parts if size >= FEWEST), default=0.0)  # fmt: skip


def _left_rms(error: Array, factor: Array, told: Array) -> float:
    """Least squares of errors by one factor, row by row: what is left."""
    count = np.count_nonzero(told, axis=1)
    with np.errstate(all="ignore"):
        common = (error * factor).sum(axis=1, keepdims=True) / (factor * factor).sum(axis=1, keepdims=True)
        means = np.square(error - common * factor).sum(axis=1) / count
    return float(np.sqrt(means[count >= FEWEST].max(initial=0.0)))


def _each_error(got: Array, expected: Array, scale: Array) -> tuple[Array, Array]:
    info = limits(got.dtype)
    with np.errstate(all="ignore"):
        wide = got.astype(np.float64)
        difference = np.subtract(wide, expected)
        np.abs(difference, out=difference)
        same = None
        if not np.isfinite(difference).all():  # seldom, and what follows takes its time
            held = expected.astype(got.dtype).astype(np.float64)  # what is too large for the type is an infinity there
            same = ~np.isfinite(held) & ((wide == held) | (np.isnan(wide) & np.isnan(expected)))
            difference[same] = 0.0
            difference[np.isnan(difference)] = np.inf
        unit = np.maximum(scale, info.tiny)
        np.multiply(unit, info.eps, out=unit)
        ulps = np.subtract(difference, info.quiet)
        np.maximum(ulps, 0.0, out=ulps)
        np.divide(ulps, unit, out=ulps)
        if same is not None:
            ulps[same] = 0.0
    return difference, ulps


def _scales(task: Task, dims: Dims, inputs: list[Array], values: tuple[Array, ...]) -> list[Array]:
    if task.scale is None:
        scales = [np.abs(v) for v in values]
    else:
        with np.errstate(all="ignore"):
            given = task.scale(*(a.astype(np.float64) for a in inputs))
        arrays = given if isinstance(given, tuple) else (given,)
        scales = [np.broadcast_to(np.asarray(s, np.float64), v.shape) for s, v in zip(arrays, values, strict=True)]
    triples = zip(values, scales, task.outputs, strict=True)
    return [_short_scale(v, s, float32_slack(task, dims, b.dtype)) if is_short(b.dtype) else s for v, s, b in triples]


def _short_scale(value: Array, scale: Array, slack: float) -> Array:
    """One ULP of it is one rounding to the dtype and the float32 floor: computing costs float32 ULPs, not 16-bit ones."""
    return np.asarray(np.abs(value) + slack * scale)


def _run_plain(task: Task, inputs: list[Array]) -> list[Array] | None:
    if task.plain is None:
        return None
    with np.errstate(all="ignore"):
        result = task.plain(*(widen(a.copy()) for a in inputs))
        results = list(result) if isinstance(result, tuple) else [result]
        pairs = zip(results, task.outputs, strict=True)
        return [r.astype(b.dtype) if is_short(b.dtype) else r for r, b in pairs]


def _budget(value: Array, scale: Array, trusted: Array, plain: Array, floor: float) -> float:
    error = error_ulp(trusted, value, scale)[1]
    other = error if plain is trusted else error_ulp(plain, value, scale)[1]
    own = [_TRUSTED_MULTIPLE * error, _PLAIN_MULTIPLE * other]
    return max(floor, *(e for e in own if math.isfinite(e)), 0.0)


def interval(value: Array, scale: Array, budget: float, dtype: str) -> Expected:
    """Every number of the dtype that is at most `budget` ULP of the scale away."""
    info = limits(dtype)
    with np.errstate(all="ignore"):
        slack = budget * info.eps * np.maximum(scale, info.tiny) + info.quiet
        if is_short(dtype):
            low, high = _at_least(value - slack, dtype), -_at_least(-value - slack, dtype)
        else:
            low, high = (value - slack).astype(dtype), (value + slack).astype(dtype)
    odd = ~np.isfinite(value)
    if odd.any():  # seldom, and choosing by a mask takes its time
        low[odd] = high[odd] = value[odd]
    return Expected(value, scale, budget, low, high, False)


def _at_least(limit: Array, dtype: str) -> Array:
    """The smallest numbers of the dtype that are not below: to the nearest would give away half an ULP of about two.

    What rounds to an infinity stays one: an honest result inside the interval may do so too.
    """
    near = np.asarray(limit.astype(dtype))
    below = np.isfinite(near) & (near.astype(np.float64) < limit)
    near[below] = np.nextafter(near[below], np.array(np.inf, dtype))
    return near
