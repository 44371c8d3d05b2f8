"""What the policy is told: the task, its dtype and shape, the device, what may be chosen, and up to two exemplars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.core.records import Param
from kernellab.learn.tabular import Pick, Spaces
from kernellab.propose.prompts import DeviceFacts
from kernellab.tasks.dtypes import split_name
from kernellab.tasks.spec import Dims

MOST_EXTENTS = 6
DEVICE_NUMBERS = 5
MOST_EXEMPLARS = 2


@dataclass(frozen=True)
class Shown:
    """An exemplar: what was tried, and its speed-up; 0 where it did not work."""

    pick: Pick
    speedup: float


@dataclass(frozen=True)
class Situation:
    """`offer`: the recipes and choices there are to choose from. `exemplars`: the first is the one to look up to."""

    task: str
    dims: Dims
    device: DeviceFacts
    offer: Spaces
    exemplars: tuple[Shown, ...] = ()

    @property
    def family(self) -> str:
        return split_name(self.task)[0]

    @property
    def dtype(self) -> str:
        return split_name(self.task)[1]


def shape_numbers(dims: Dims) -> list[float]:
    """Doublings of each extent in the task's order, and of all together."""
    sizes = [math.log2(max(1, size)) / 8 for size in list(dims.values())[:MOST_EXTENTS]]
    return [*sizes, *[0.0] * (MOST_EXTENTS - len(sizes)), sum(sizes)]


def device_numbers(device: DeviceFacts) -> list[float]:
    """What is not known is 0."""
    rates = (device.copy_gb_per_s, device.read_gb_per_s, device.gflops)
    logs = [math.log2(max(1.0, rate)) / 8 if rate else 0.0 for rate in rates]
    return [float(device.is_gpu), math.log2(max(1, device.processors)) / 8, *logs]


def exemplar_numbers(exemplars: Sequence[Shown]) -> list[list[float]]:
    """Of each: whether it works, its speed-up in doublings, how far ahead of the slowest and behind the fastest it is."""
    speeds = [math.log2(max(s.speedup, 2**-6)) if s.speedup > 0 else -6.0 for s in exemplars]
    return [
        [float(shown.speedup > 0), speed / 4, speed - min(speeds), speed - max(speeds)]
        for shown, speed in zip(exemplars, speeds, strict=True)
    ]


EXEMPLAR_NUMBERS = 4


def contrast(exemplars: Sequence[Shown], params: Sequence[dict[str, Param]]) -> str:
    """What the exemplars say, in words: what a policy's `<think>` holds. `params`: of each exemplar, by name."""
    if not exemplars:
        return "no exemplar was shown"
    told = [
        f"{shown.pick.recipe} with {_named(chosen)}: {_speed(shown)}"
        for shown, chosen in zip(exemplars, params, strict=True)
    ]
    if len(exemplars) < 2:
        return told[0]
    one, other = exemplars[0].pick, exemplars[1].pick
    names = [key for key in params[0] if params[0][key] != params[1].get(key)]
    what = ", ".join(names) if one.recipe == other.recipe else "the recipe"
    return f"{told[0]}; {told[1]}; they differ in {what or 'nothing'}"


def _speed(shown: Shown) -> str:
    return f"{shown.speedup:.2f} times the baseline's speed" if shown.speedup > 0 else "did not work"


def _named(params: dict[str, Param]) -> str:
    return ", ".join(f"{key}={value}" for key, value in params.items()) or "no parameters"
