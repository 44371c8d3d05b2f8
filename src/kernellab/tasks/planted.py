"""Values that a kernel may treat in a way of its own, put into every draw on purpose: chance hardly ever draws them.

Zeros of both signs at the first, the middle and the last place of a row; the largest of a row a second time; a row of one
value; a row below zero, one above, one whose largest are zeros; where the others are held below some size, single elements
far beyond it, which whoever looks at a few to know how large they are does not see. How far is drawn on a logarithmic scale,
and some are certainly beyond ten thousand: where a mask is added, whole rows lie there, and a maximum that begins above
them, or a bound for what counts as masked, is wrong in no other. Of integers zeros, the ends of their range, a row of one
value. Which rows is drawn anew, so no place of a tensor always holds the same: a kernel that leaves out the first element
would never be seen if that were always zero. A tensor of few rows has less of it at once: the distributions take turns, and
all of them together show everything.

Not covered: a tensor of one element (a divisor may not be zero, and an output of zeros alone shows nothing); infinities,
NaN and subnormals. Where a task has minus infinity for what is masked, `hidden` says where.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kernellab.tasks.dtypes import is_float, limits
from kernellab.tasks.expected import Array

MANY = 1 << 31
_MOST_ZEROS = 3
_FOR_ALL_PLACES = 4
"""Rows from which on every place has its zero. With fewer one place has, and the next distribution's is another."""
_FOR_ALL_KINDS = 12
_KINDS = ("tied", "topped", "above", "below", "equal")
_FAR_KINDS = ("above", "below", "above", "below")
"""Besides, where rows lie far out: the first two anywhere on the way, the last two at its end."""
_LONG = 1024
"""Elements of a single row from which on a look at a few is not a look at all."""
_TOWERS = (1, -1, 1)
"""One a row: their signs."""
REACH = 6e4
"""How far what lies far out reaches, wherever no more is asked for: float16 ends at 65504."""
_NEAR, _BEYOND, _DOUBTLESS = 1e3, 2e4, 3e4
"""The least that is far out, and the ends of what is certainly farther than ten thousand."""


def far_out(rng: np.random.Generator, low: float = _BEYOND, high: float = _DOUBTLESS) -> float:
    """On a logarithmic scale: as often between 1e3 and 1e4 as between 1e8 and 1e9."""
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def plant(
    values: Array, rng: np.random.Generator, turn: int, spread: float = 1.0, most: float = math.inf, reach: float = 0.0
) -> Array:
    """All of it, into the array itself. `turn`: the distribution's number. Rows above and below zero keep `spread` away
    from it, and nothing they hold is larger than `most`. Where there is one, a few rows of many get one element that is.
    With a `reach` those rows are far out instead, and there are more of them: one each way certainly beyond ten thousand,
    one anywhere up to `reach`, one near it; of few rows one is, the first of these."""
    if values.size < 2:
        return values
    rows = in_rows(values)
    chosen = _some(rng, len(rows))
    zeros = _put_zeros(values, chosen, turn)
    if len(rows) == 1:
        _tie(rows[0], rng, zeros)
        if math.isfinite(most) and has_towers(values):
            rows[0, rng.choice(np.delete(np.arange(rows.size), zeros))] = far_out(rng)
        return values
    kinds = _KINDS if len(rows) >= _FOR_ALL_KINDS else (_KINDS[turn % len(_KINDS)],)
    for row, kind in zip(chosen[len(zeros) :], kinds, strict=False):
        rows[row] = _of_kind(kind, rows[row], rng, far_out(rng) if reach else spread, most)
    left = chosen[len(zeros) + len(kinds) :] if has_towers(values) else []
    if reach:
        for k, (row, kind) in enumerate(zip(left, _FAR_KINDS, strict=False)):
            far = far_out(rng, _NEAR if k < 2 else reach / 2, reach)
            rows[row] = _of_kind(kind, rows[row], rng, far, most)
    elif math.isfinite(most):
        for k, (row, sign) in enumerate(zip(left, _TOWERS, strict=False)):
            rows[row, rng.integers(rows.shape[1])] = sign * (far_out(rng) if k else far_out(rng, _NEAR, REACH))
    return values


def has_towers(values: Array) -> bool:
    """Whether there are rows enough, or elements in the only one, for single ones far beyond the others."""
    count, length = _matrix(values.shape)
    return count >= _FOR_ALL_KINDS or (count == 1 and length >= _LONG)


def plant_zeros(values: Array, rng: np.random.Generator, turn: int) -> Array:
    """The zeros alone: where more would make a distribution another."""
    if values.size >= 2:
        rows = in_rows(values)
        _put_zeros(values, _unmasked(rows, _some(rng, len(rows)), turn), turn)
    return values


def _unmasked(rows: Array, chosen: Sequence[int], turn: int) -> list[int]:
    """The rows in an order in which no zero stands where a mask does: it may be the only row that begins with one."""
    left, order = list(chosen), []
    for place in zero_places(rows.shape, chosen, turn):
        column = place % rows.shape[1]
        order.append(next((row for row in left if np.isfinite(rows[row, column])), left[0]))
        left.remove(order[-1])
    return order


def plant_whole(values: Array, rng: np.random.Generator, turn: int, low: int, high: int) -> Array:
    """The same for integers: zeros, both ends of their range, and a row of one value where there are several rows."""
    if values.size < 2:
        return values
    rows = in_rows(values)
    chosen = _some(rng, len(rows))
    zeros = _put_zeros(values, chosen, turn)
    if len(rows) >= _FOR_ALL_PLACES:
        rows[chosen[_MOST_ZEROS]] = rows[chosen[_MOST_ZEROS], 0]
    if values.size >= 4:
        values.reshape(-1)[_beside(rows, chosen, zeros)] = low, high
    return values


def hidden(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> Array:
    """Where minus infinity stands: by chance, or up to or from some element of a row on, as for what comes later and for
    padding, or nowhere; the rows take turns. One element of every row stays."""
    count, length = math.prod(shape[:-1]), shape[-1]
    found = np.zeros((count, length), bool)
    if length > 1:
        place, form = np.arange(length), np.resize([*rng.permutation([1, 2]), 0, 3], count)
        kept = np.clip(rng.integers(length, size=count), form == 1, length - 1 - (form == 2))[:, None]
        found[form == 0] = rng.random((np.count_nonzero(form == 0), length), dtype=np.float32) < share
        found[form == 1] = place < kept[form == 1]
        found[form == 2] = place > kept[form == 2]
        found &= place != kept
    return found.reshape(shape)


def in_rows(values: Array) -> Array:
    """The array as a matrix over the same memory: a row is the last axis that is longer than one."""
    return values.reshape(_matrix(values.shape))


def zero_places(shape: tuple[int, ...], chosen: Sequence[int], turn: int) -> list[int]:
    """The flat places of the zeros in the first of the chosen rows: three, or one where there are few rows."""
    count, length = _matrix(shape)
    places = (0, length // 2, length - 1)
    zeros = _MOST_ZEROS if count >= _FOR_ALL_PLACES else 1
    return [int(row) * length + places[(turn + k) % 3] for k, row in enumerate(chosen[:zeros])]


def sure_zeros(shape: tuple[int, ...], dice: int) -> list[int]:
    """The same for a distribution that has no others beside it: in rows from a random number below MANY on."""
    rows, length = _matrix(shape)
    return zero_places(shape, [(dice + k) % rows for k in range(_MOST_ZEROS)], 2) if length > 1 else []


def few_bits(values: Array) -> Array:
    """Seven of them. Terms that are all alike round alike too, and a running sum of longer ones drifts by thousands of
    ULP."""
    if not is_float(values.dtype):
        return values
    mantissa, exponent = np.frexp(values.astype(np.float64))
    return np.asarray(np.ldexp(np.round(mantissa * 128) / 128, exponent).astype(values.dtype))


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    length = next((extent for extent in reversed(shape) if extent > 1), 1)
    return math.prod(shape) // length, length


def _some(rng: np.random.Generator, rows: int) -> list[int]:
    """Different rows, in any order."""
    return [int(row) for row in rng.choice(rows, min(rows, _FOR_ALL_KINDS), replace=False)]


def _put_zeros(values: Array, chosen: Sequence[int], turn: int) -> list[int]:
    """Every other one is negative. Their flat places."""
    places = zero_places(values.shape, chosen, turn)
    for k, place in enumerate(places):
        values.reshape(-1)[place] = -0.0 if (turn + k) % 2 and is_float(values.dtype) else 0
    return places


def _beside(rows: Array, chosen: Sequence[int], zeros: Sequence[int]) -> list[int]:
    """Two places that are not those of the zeros: in the first two of the chosen rows, or both in the one that there is."""
    length = rows.shape[1]
    if len(rows) == 1:
        return [(zeros[0] + k) % length for k in (1, 2)]
    columns = [zero % length for zero in (zeros[0], zeros[-2:][0])]
    return [row * length + (column + 1) % length for row, column in zip(chosen[:2], columns, strict=True)]


def _tie(row: Array, rng: np.random.Generator, taken: Sequence[int] = ()) -> None:
    """The largest a second time; where there are but two places, both would be the same."""
    largest = int(np.argmax(row))
    for place in rng.choice(len(row), 2 + len(taken), replace=False).tolist() if len(row) > 2 else ():
        if place != largest and place not in taken:
            row[place] = row[largest]
            return


def _of_kind(kind: str, row: Array, rng: np.random.Generator, spread: float, most: float) -> Array:
    if kind == "equal":
        return np.full_like(row, few_bits(row[:1])[0])
    if kind == "tied":
        made = row.copy()
        _tie(made, rng)
        return made
    wide = row.astype(np.float64)
    if kind in ("below", "above") and spread > REACH:
        wide *= spread / REACH  # else the type would hold one value alone there
    if kind == "below":
        wide -= wide.max() + spread
    elif kind == "above":
        wide -= wide.min() - spread
    else:
        wide = -np.abs(wide)
        wide[[0, -1]] = 0.0, -0.0
    finite = min(most, limits(row.dtype).max)
    return np.asarray(np.clip(wide, -finite, finite).astype(row.dtype))
