"""Named arrays in NumPy's own format (.npz), from anybody: none is unpacked or believed beyond what it may be.

Covered: files that are larger when they are unpacked, other ways of packing, pickled objects, arrays that say they are
longer than they are, or that are of any length because their elements take no room. Not covered: what the numbers mean; the
reader of each kind of file knows.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

FOREIGN = (
    ValueError, LookupError, TypeError, ArithmeticError, AttributeError, OSError, EOFError, RuntimeError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading somebody's bytes may raise."""
_ENDING = ".npy"


def unpacked(data: bytes, most: int, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The arrays of these names, or all, of at most so many bytes together. Raises one of FOREIGN."""
    left, held = most, {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in names or [entry.removesuffix(_ENDING) for entry in archive.namelist()]:
            entry = archive.getinfo(f"{name}{_ENDING}")
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others are unpacked at one go
                raise ValueError("a way of packing that NumPy does not use")
            with archive.open(entry) as member:
                content = member.read(left + 1)
            left -= len(content)
            if left < 0:
                raise ValueError(f"it has more than {most >> 20} MiB when it is unpacked")
            held[name] = _array(content)
    return held


def _array(content: bytes) -> Any:
    """An array in NumPy's format, of numbers or text. Its size is believed only where that many bytes follow."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array of another format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if not dtype.itemsize:  # any number of them is as long as none
        raise ValueError("an array of nothing")
    if dtype.hasobject or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise ValueError("an array that is not as long as it says")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)
