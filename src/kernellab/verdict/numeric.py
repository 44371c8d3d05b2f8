"""Comparing an output with what it must be: fast interval check first, the full story only when it fails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernellab.core.records import Cause
from kernellab.tasks.dtypes import is_float, limits
from kernellab.tasks.expected import Expected
from kernellab.tasks.oracle import OWN_SHARE, error_ulp, own_is_over, own_rms_ulp, rms_ulp
from kernellab.tasks.spec import Array

_AT_ONCE = 1 << 17
"""Elements that are compared together."""


@dataclass(frozen=True)
class Mismatch:
    """`excess`: how many times its budget the error is, where it is one of size."""

    cause: Cause
    reason: str
    max_abs_err: float | None
    max_ulp: float | None
    excess: float = math.inf


def poison_pattern(dtype: np.dtype[Any] | str, secret: int) -> int:
    """The bits of an element nobody computes: a NaN with a secret payload, or secret bits."""
    bits = 8 * np.dtype(dtype).itemsize
    if not is_float(dtype):
        return secret % (1 << bits)
    mantissa = limits(dtype).nmant
    exponent = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    return exponent | 1 << (mantissa - 1) | secret % (1 << (mantissa - 1))


def leftover_pattern(dtype: np.dtype[Any] | str, secret: int) -> int:
    """The bits of a number such as an earlier call may have left: larger than any answer or, in one of four draws each, zero
    or of ordinary size; of either sign.

    A buffer in use holds numbers. Whoever computes only where there is none yet, takes the larger of two, adds to what is
    there or has nothing to do where it is zero, shows here.
    """
    bits = 8 * np.dtype(dtype).itemsize
    if not is_float(dtype):
        return secret % (1 << bits)
    mantissa = limits(dtype).nmant
    kind, one = secret >> 62 & 3, 1 << (bits - 1 - mantissa)
    if kind == 0:
        return 0
    exponent = one // 2 - 9 + (secret >> 58 & 15) if kind == 1 else one - 2  # from 2^-8 to 2^8, or the highest
    return exponent << mantissa | secret % (1 << mantissa) | (secret >> mantissa & 1) << (bits - 1)


def poison(array: Array, secret: int) -> int:
    """Fill an output with its pattern, and return that."""
    pattern = poison_pattern(array.dtype, secret)
    array.view(np.dtype(f"u{array.dtype.itemsize}")).fill(pattern)
    return pattern


def same_values(a: Array, b: Array) -> bool:
    """Every element, and NaN where NaN is. In pieces: the first that differs ends it, and none leaves the caches."""
    if a is b or a.shape != b.shape:
        return a is b
    flat, other, numbers = a.reshape(-1), b.reshape(-1), is_float(a.dtype)
    starts = range(0, a.size, _AT_ONCE)
    return all(np.array_equal(flat[n : n + _AT_ONCE], other[n : n + _AT_ONCE], equal_nan=numbers) for n in starts)


def within(got: Array, expected: Expected) -> bool:
    """Every element inside its interval, which costs two comparisons an element; and where the errors of all together are
    bounded, those too."""
    return _inside(got, expected) and not _drifts(got, expected)


def _inside(got: Array, expected: Expected) -> bool:
    if expected.exact:
        return not bool(_bad(got, expected).any())
    with np.errstate(invalid="ignore"):  # bfloat16 warns of every NaN it compares
        inside = bool(np.all((got >= expected.low) & (got <= expected.high)))
    if inside:
        return True
    return error_ulp(got, expected.value, expected.scale)[1] <= expected.budget_ulp


def _drifts(got: Array, expected: Expected) -> bool:
    if math.isfinite(expected.most_rms_ulp) and rms_ulp(got, expected.value, expected.scale) > expected.most_rms_ulp:
        return True
    if expected.shared is None:
        return False
    return own_is_over(got, expected.value, expected.scale, expected.shared, OWN_SHARE * expected.budget_ulp)


def _own_rms(got: Array, expected: Expected) -> float:
    """0 where a row has nothing in common."""
    if expected.shared is None:
        return 0.0
    return own_rms_ulp(got, expected.value, expected.scale, expected.shared)


def errors(got: Array, expected: Expected) -> tuple[float, float]:
    """Largest absolute error and largest error in ULPs."""
    if expected.exact and within(got, expected):
        return 0.0, 0.0
    if expected.exact:
        difference = np.abs(got.astype(np.float64) - expected.value.astype(np.float64)).max(initial=0.0)
        return float(difference), float(difference)
    absolute, ulps, _ = error_ulp(got, expected.value, expected.scale)
    return absolute, ulps


def explain(name: str, got: Array, expected: Expected, pattern: int | None) -> Mismatch:
    """Why an output was refused: how much is wrong, where it starts, what stood there. `pattern`: what an element holds that
    was never written, where that can be told from every answer."""
    if _inside(got, expected):
        return _explain_drift(name, got, expected)
    bits = got.view(np.dtype(f"u{got.dtype.itemsize}"))
    untouched = 0 if pattern is None else int(np.count_nonzero(bits == pattern))
    bad = _bad(got, expected)
    count = int(np.count_nonzero(bad))
    where = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    absolute, ulps = errors(got, expected)
    span = (
        ""
        if got.ndim < 2
        else f", {int(np.count_nonzero(bad.reshape(bad.shape[0], -1).any(axis=1)))} of {got.shape[0]} rows"
    )
    share = f"{count} of {got.size} elements{span}"
    if untouched and bool((bits[bad] == pattern).all()):
        return Mismatch(
            "unwritten",
            f"{name}: {untouched} of {got.size} elements were never written (first {list(where)})",
            None,
            None,
        )
    value, wanted = got[where], expected.value[where]
    first = f"first at {list(where)}: {value!s} instead of {wanted:.9g}"
    if not np.isfinite(value) and np.isfinite(wanted):
        return Mismatch("non-finite", f"{name}: {share} wrong, {first}", _finite(absolute), _finite(ulps))
    size = f"error up to {absolute:.3g}, {ulps:.4g} ULP against a budget of {expected.budget_ulp:.4g}"
    excess = ulps / expected.budget_ulp if expected.budget_ulp and math.isfinite(ulps) else math.inf
    return Mismatch("wrong-output", f"{name}: {share} wrong, {first}; {size}", _finite(absolute), _finite(ulps), excess)


def _explain_drift(name: str, got: Array, expected: Expected) -> Mismatch:
    absolute, ulps = errors(got, expected)
    found, most = _own_rms(got, expected), OWN_SHARE * expected.budget_ulp
    if found > most:
        reason = (
            f"{name}: neighbours are off by {found:.3g} ULP in the mean of a block, apart from what a row has in common; "
            f"allowed are {most:.3g}"
        )
        return Mismatch("wrong-output", reason, _finite(absolute), _finite(ulps), found / most)
    found = rms_ulp(got, expected.value, expected.scale)
    reason = (
        f"{name}: off by {found:.3g} ULP in the mean of a block of elements, allowed are {expected.most_rms_ulp:.3g}"
    )
    return Mismatch("wrong-output", reason, _finite(absolute), _finite(ulps), found / expected.most_rms_ulp)


def _bad(got: Array, expected: Expected) -> Array:
    if expected.exact:
        bits = np.dtype(f"u{got.dtype.itemsize}")
        differs = np.asarray(got.view(bits) != expected.value.view(bits))
        return differs & ~expected.also(got) if expected.also is not None and differs.any() else differs
    with np.errstate(all="ignore"):
        outside = ~((got >= expected.low) & (got <= expected.high))
        outside &= ~(np.isnan(got) & np.isnan(expected.value))
    return np.asarray(outside)


def decided(expected: Expected) -> bool:
    """Of an exact output: whether most integers are refused when they are a twentieth of the largest off, and most booleans
    when turned."""
    if expected.also is None:
        return True
    value = expected.value
    largest = int(np.abs(value.astype(np.int64)).max(initial=1))
    wrong = 1 - value if value.dtype == np.uint8 and largest <= 1 else value + max(2, math.ceil(largest / 20))
    return bool(np.mean(expected.also(wrong.astype(value.dtype))) <= 0.5)


def rests_on_nothing(got: Array, expected: Expected) -> bool:
    """Whether integers or booleans pass although they differ, where almost any others would pass as well."""
    if not expected.exact or expected.also is None:
        return False
    bits = np.dtype(f"u{got.dtype.itemsize}")
    return not np.array_equal(got.view(bits), expected.value.view(bits)) and not decided(expected)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
