"""What an output must be, and who says so."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Expected:
    """One output: float64 values, their error scale, the budget, and the accepted interval in the output's dtype.

    `also` marks the elements of an exact output that are right although they differ: rounding leaves the decision open (two
    places hold the maximum, say). `floor_ulp` is the least budget that any inputs leave; 0: by the task's own `reduction`.
    `most_rms_ulp`: what the root mean square of a block's errors may be, where a bound on each element is too generous.
    `shared`: what of the scale, over the value, is for a factor that all elements of a row have in common: no element may
    spend it on errors of its own. One number a row.
    `wanted_ulp`: the budget that would cover every element of the honest implementation, where that is more than is given.
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
    shared: Array | None = None
    wanted_ulp: float = 0.0


@dataclass(frozen=True)
class Bounds:
    """One output as tensors of a device: the ends of the interval, or twice the value that is asked for exactly."""

    low: Any
    high: Any
    budget_ulp: float


@dataclass(frozen=True)
class Known:
    """Tensors of a device: inputs in the types of their buffers, and what is expected of each output."""

    inputs: list[Any]
    outputs: list[Bounds]


@dataclass(frozen=True)
class Compared:
    """One output against what it must be: the largest errors, and the budget."""

    absolute: float
    ulps: float
    budget_ulp: float


Right = Callable[[int, Expected, Array], bool]
"""The host's own comparison: of which output, what is expected, and what stands there."""


class DeviceCase(Protocol):
    """Inputs on a device whose answers are made there, when the outputs are there to be compared with them."""

    @property
    def inputs(self) -> Sequence[Any]:
        """Tensors, in the types of their buffers; nobody else can write them."""

    def compare(self, outputs: Sequence[Any], right: Right) -> list[Compared] | None:
        """Every output in full; None where one is wrong. Of parts with elements outside their intervals the host decides, by
        `right`."""


class Oracle(Protocol):
    """Computes what is expected by itself, where a task's reference and scale are not NumPy functions.

    On a device it answers the same question with the same arrays, sooner.
    """

    def on(self, kind: str) -> Oracle:
        """The same, computing on a device of this kind where there is one."""

    def expect(self, dims: dict[str, int], inputs: list[Array]) -> list[Expected]: ...

    def known(self, dims: dict[str, int], seed: int) -> Known | None:
        """Timed inputs and what they must give, without leaving the device; None where it has no room for them."""

    def draw(self, dims: dict[str, int], seed: int) -> list[Any]:
        """Timed inputs on the device."""

    def case(self, dims: dict[str, int], distribution: str, seed: int) -> DeviceCase | None:
        """A case that is drawn and judged on the device; None where there is none, or it has no room."""
