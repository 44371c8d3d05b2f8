"""Buffers that are one of a few forms, whatever their size: the triangles of causal masks, and numbers that count. A module
is made for that form alone, so it is drawn no other way; a kernel may know it, as whoever wrote the module does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

Form = Literal["", "lower", "above", "shut above", "counted"]
Shape = tuple[int, ...]


def _rows(shape: Shape) -> tuple[Any, Any]:
    return np.arange(shape[-2])[:, None], np.arange(shape[-1])


def _lower(shape: Shape) -> Any:
    row, column = _rows(shape)
    return column <= row


def _above(shape: Shape) -> Any:
    row, column = _rows(shape)
    return column > row


def _shut_above(shape: Shape) -> Any:
    return np.where(_above(shape), -np.inf, 0.0)


def _counted(shape: Shape) -> Any:
    return np.arange(shape[-1])


_MAKES: dict[Form, Callable[[Shape], Any]] = {
    "lower": _lower, "above": _above, "shut above": _shut_above, "counted": _counted,
}  # fmt: skip
_AXES: dict[Form, int] = {"lower": 2, "above": 2, "shut above": 2, "counted": 1}
_LEAST = 4
"""Elements of an axis: two numbers are of any form by chance."""


def made(form: Form, shape: Shape) -> np.ndarray[Any, Any]:
    """It, at this size: the same for everything before the axes that it has."""
    return np.array(np.broadcast_to(_MAKES[form](shape), shape))


def form_of(values: np.ndarray[Any, Any]) -> Form:
    """'' for none of them."""
    for form in _MAKES:
        axes = values.shape[-_AXES[form] :]
        if len(axes) == _AXES[form] and min(axes) >= _LEAST and bool((values == _MAKES[form](values.shape)).all()):
            return form
    return ""
