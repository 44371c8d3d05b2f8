"""Element types: what NumPy does not say alike about all of them, said once.

Importing this module registers bfloat16 with NumPy, so that np.dtype("bfloat16") works everywhere after it. NumPy sees
bfloat16 as kind "V": ask `is_float` here, never `.kind`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8")
SMALL_INTEGERS = ("int16", "int8")
"""What captured modules may have besides: their own draws know the ranges."""
PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
"""The float dtypes that built-in tasks come in, and their short names."""

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_FINFO: Callable[[np.dtype[Any]], Any] = ml_dtypes.finfo


@dataclass(frozen=True)
class Limits:
    """`quiet` is the absolute error that never counts: what flushing subnormal float32 intermediates may lose. `max` is the
    largest finite number."""

    eps: float
    tiny: float
    nmant: int
    bits: int
    quiet: float
    max: float


def np_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(name)


def is_float(dtype: np.dtype[Any] | str) -> bool:
    found = np.dtype(dtype)
    return found.kind == "f" or found == _BFLOAT16


def is_short(dtype: np.dtype[Any] | str) -> bool:
    """A float of 16 bits: a storage format. Honest kernels compute in float32 and round once."""
    return is_float(dtype) and np.dtype(dtype).itemsize == 2


@functools.cache
def limits(dtype: np.dtype[Any] | str) -> Limits:
    """float16 keeps its subnormals (they are ordinary softmax outputs), so there float32's are the ones to forgive."""
    info = _FINFO(np.dtype(dtype))
    flushed = float(np.finfo(np.float32).tiny) if is_short(dtype) else float(info.tiny)
    return Limits(float(info.eps), float(info.tiny), int(info.nmant), int(info.bits), 4 * flushed, float(info.max))


def widen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A 16-bit array as float32, which holds all its values; any other array as it is."""
    return array.astype(np.float32) if is_short(array.dtype) else array


def in_float32(function: Callable[..., None], inputs: int) -> Callable[..., None]:
    """`function(*inputs, *outputs)` with 16-bit arrays handed over as float32 and its outputs rounded once."""

    @functools.wraps(function)
    def widened(*buffers: np.ndarray[Any, Any]) -> None:
        with np.errstate(all="ignore"):
            wide = [widen(b) for b in buffers]
            function(*wide)
            for given, result in zip(buffers[inputs:], wide[inputs:], strict=True):
                if result is not given:
                    given[...] = result.astype(given.dtype)

    return widened


def split_name(name: str) -> tuple[str, str]:
    """A task's family and the short name of its dtype: "softmax_bf16" is ("softmax", "bf16"), "softmax" float32."""
    for short in PRECISIONS.values():
        if name.endswith(f"_{short}"):
            return name.removesuffix(f"_{short}"), short
    return name, PRECISIONS["float32"]


def variant_name(family: str, dtype: str) -> str:
    """ "softmax", "softmax_bf16", "softmax_f16": the float32 task bears the family's name."""
    return family if dtype == "float32" else f"{family}_{PRECISIONS[dtype]}"
