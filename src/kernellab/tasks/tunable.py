"""Baselines with knobs: tuned over them before they are the ones to beat."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

Knob = int | float | str | bool
MOST_SETTINGS = 12


@dataclass(frozen=True)
class Tunable:
    """A baseline whose `function` takes knobs as keyword arguments. Every combination of their values is a baseline of
    its own, proved and timed like any other, so that the one to beat is this one at its best. Called as it is, it runs
    with the first value of each."""

    function: Callable[..., Any]
    knobs: Mapping[str, tuple[Knob, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "knobs", {name: tuple(values) for name, values in self.knobs.items()})

    def __call__(self, *buffers: Any) -> Any:
        return self.function(*buffers, **{name: values[0] for name, values in self.knobs.items()})

    def settings(self) -> list[dict[str, Knob]]:
        return [dict(zip(self.knobs, values, strict=True)) for values in itertools.product(*self.knobs.values())]

    def fault(self) -> tuple[str, str] | None:
        """What is wrong with the knobs, and what to do."""
        values = list(self.knobs.values())
        count = math.prod(len(v) for v in values)
        if not values or not count or any(len(set(v)) < len(v) for v in values):
            return "has knobs without distinct values", "write knobs={'num_warps': (4, 8)}"
        if count > MOST_SETTINGS:  # each is proved and timed at every calibration
            what = f"has {count} settings of its knobs; at most {MOST_SETTINGS} are tried"
            return what, "keep the values that matter, or make two baselines of it"
        return None


@dataclass(frozen=True)
class Variant:
    """A baseline as it is run: its name in the task, and the setting of its knobs (empty where it has none)."""

    name: str
    function: Callable[..., Any]
    setting: dict[str, Knob]


def variants(baselines: Mapping[str, Callable[..., Any]]) -> dict[str, Variant]:
    """Every baseline at every setting, by names such as "triton-rows[num_warps=8]"."""
    found: dict[str, Variant] = {}
    for name, baseline in baselines.items():
        if not isinstance(baseline, Tunable):
            found[name] = Variant(name, baseline, {})
            continue
        for setting in baseline.settings():
            label = ",".join(f"{knob}={value}" for knob, value in setting.items())
            found[f"{name}[{label}]"] = Variant(name, partial(baseline.function, **setting), setting)
    return found
