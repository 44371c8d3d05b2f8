"""A measured time in words: a short one in microseconds, for "0.000 ms" says nothing."""

from __future__ import annotations

_SHORT_S = 1e-4


def time_words(seconds: float, width: int = 0) -> str:
    """Four figures or more down to a microsecond; `width`: of the number, for columns."""
    if seconds < _SHORT_S:
        return f"{seconds * 1e6:{width}.3f} us"
    return f"{seconds * 1e3:{width}.3f} ms"
