"""A function of arrays that knows its last answer: for a `scale` that asks the reference what was just computed.

The same arguments by their values, in the same thread; the answer is the one that was given before, bit for bit.
Not covered: an answer that its receiver changes. The oracle changes neither arguments nor answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

import numpy as np

from kernellab.tasks.expected import Array

F = TypeVar("F", bound=Callable[[Array], Array])


def remembered(function: F) -> F:
    last = threading.local()

    @wraps(function)
    def asked(x: Array) -> Array:
        known: tuple[Array, Array] | None = getattr(last, "known", None)
        if known is None or known[0].dtype != x.dtype or not np.array_equal(known[0], x):
            known = (x.copy(), function(x))  # the caller's memory may hold something else next time
            last.known = known
        return known[1]

    return cast(F, asked)
