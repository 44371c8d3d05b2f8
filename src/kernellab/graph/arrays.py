"""Arrays between processes: one .npy after another, read without pickle. (An archive needs a codec that sandboxes lack.)"""

from __future__ import annotations

import io
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


def unpacked(data: bytes, count: int) -> list[Any]:
    """A ValueError or an EOFError where the bytes are not so many arrays."""
    stream = io.BytesIO(data)
    return [np.load(stream, allow_pickle=False) for _ in range(count)]
