"""What an output must be, and who says so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Expected:
    """One output: float64 values, their error scale, the budget, and the accepted interval in the output's dtype.

    `also` marks the elements of an exact output that are right although they differ: rounding leaves the decision open (two
    places hold the maximum, say). `floor_ulp` is the least budget that any inputs leave; 0: by the task's own `reduction`.
    `most_rms_ulp`: what the root mean square of all errors may be, where a bound on each element is too generous.
    """

    value: Array
    scale: Array
    budget_ulp: float
    low: Array
    high: Array
    exact: bool
    also: Callable[[Array], Array] | None = None
    floor_ulp: float = 0.0
    most_rms_ulp: float = math.inf


class Oracle(Protocol):
    """Computes what is expected by itself, where a task's reference and scale are not NumPy functions.

    One implementation is torch on the processor; one on a device answers the same question with the same arrays.
    """

    def expect(self, dims: dict[str, int], inputs: list[Array]) -> list[Expected]: ...
