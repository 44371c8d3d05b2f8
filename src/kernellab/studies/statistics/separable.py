"""Whether parameters act on their own: tuned one at a time from the defaults, against all combinations at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from kernellab.core.records import Param
from kernellab.studies.evidence import Config, Evidence, alike, apart, best, score_of
from kernellab.studies.finding import NO_CHOICE, Finding, NotTestable, of_median
from kernellab.studies.hypothesis import Options


class SeparableOptions(Options):
    """`start`: the configuration from which each parameter is varied alone."""

    start: Annotated[dict[str, Param], Field(min_length=1)]

    def named(self) -> dict[str, list[Param]]:
        return {name: [value] for name, value in self.start.items()}


def one_at_a_time(options: SeparableOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    """1: nothing is lost by not trying combinations. Where the combined optimum was never timed (it may be invalid), the
    best of the single steps is taken: that is what a tuner would be left with."""
    places = evidence.places()
    values: list[float] = []
    trials: list[int] = []
    for cells in places.values():
        for cell, known in apart(cells):
            for name in dict.fromkeys(c[0] for c in known):
                mine = {c: s for c, s in known.items() if c[0] == name}
                steps = {c: s for c, s in mine.items() if len(_moved(c, options.start)) <= 1}
                if not steps:
                    continue
                combined = _combined(name, steps, options.start)
                reached = combined if combined in mine else best(steps)
                values.append(math.exp(score_of(cell[reached]) - score_of(cell[best(mine)])))
                trials += [cell[c].number for c in mine]
    if not values:
        return NotTestable("no configuration near the starting point was timed")
    return NO_CHOICE if alike(places) else of_median(values, trials, level)


def _moved(config: Config, start: Mapping[str, Param]) -> list[str]:
    return [k for k, v in config[1] if start.get(k, v) != v]


def _combined(name: str, steps: Mapping[Config, float], start: Mapping[str, Param]) -> Config:
    params = {**dict(next(iter(steps))[1]), **start}
    for param in start:
        line = {c: s for c, s in steps.items() if _moved(c, start) in ([], [param])}
        params[param] = dict(best(line)[1]).get(param, start[param]) if line else start[param]
    return name, tuple(sorted(params.items()))
