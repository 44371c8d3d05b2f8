"""Arrays between processes: one .npy after another, read without pickle. (An archive needs a codec that sandboxes lack.)"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np


def packed(arrays: Sequence[Any]) -> bytes:
    data = io.BytesIO()
    for array in arrays:
        np.save(data, np.asarray(array), allow_pickle=False)
    return data.getvalue()


def unpacked_all(data: bytes) -> list[Any]:
    """However many there are."""
    stream, found = io.BytesIO(data), []
    while stream.tell() < len(data):
        found.append(np.load(stream, allow_pickle=False))
    return found


def write_arrays(fd: int, arrays: Sequence[Any]) -> None:
    """Piece by piece: weights may have more bytes than one call writes or reads (2 GB)."""
    with os.fdopen(os.dup(fd), "wb") as file:
        for array in arrays:
            np.save(file, np.asarray(array), allow_pickle=False)


def read_arrays(fd: int, count: int) -> list[Any]:
    """From the beginning. A ValueError, an EOFError or a MemoryError where the bytes are not so many arrays."""
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        return [np.load(file, allow_pickle=False) for _ in range(count)]
