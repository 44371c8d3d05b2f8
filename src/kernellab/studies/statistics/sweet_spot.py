"""Where the optimum of one parameter lies, and whether register pressure is what ends its rise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from kernellab.core.records import FailedTrial, Param
from kernellab.search.memory.features import occupancy
from kernellab.search.memory.specimen import Specimen
from kernellab.studies.evidence import Config, Evidence, alike, apart, best, kernel_of, mean_scores, score_of
from kernellab.studies.finding import NO_CHOICE, Finding, NotTestable, of_median, of_share
from kernellab.studies.hypothesis import Options


class SetOptions(Options):
    param: str
    predicted: Annotated[list[Param], Field(min_length=1)]

    def named(self) -> dict[str, list[Param]]:
        return {self.param: self.predicted}


class PressureOptions(Options):
    """`slower`: by how much a setting beyond the optimum has to be slower to ask for a reason."""

    param: str
    slower: float = Field(0.02, ge=0)

    def named(self) -> dict[str, list[Param]]:
        return {self.param: []}


def advantage_of_set(options: SetOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    places = evidence.places()
    values: list[float] = []
    trials: list[int] = []
    winners: dict[str, int] = {}
    differ = False
    for cells in places.values():
        for cell, known in apart(cells):
            inside = {c: s for c, s in known.items() if dict(c[1]).get(options.param) in options.predicted}
            outside = {c: s for c, s in known.items() if c not in inside and options.param in dict(c[1])}
            if not inside or not outside:
                continue
            one, other = cell[best(inside)], cell[best(outside)]
            values.append(math.exp(score_of(one) - score_of(other)))
            differ = differ or kernel_of(one.trial) != kernel_of(other.trial)
            trials += [s.number for s in cell.values()]
            optimum = str(dict(best({**inside, **outside})[1])[options.param])
            winners[optimum] = winners.get(optimum, 0) + 1
    if not values:
        return NotTestable(f"no shape was timed with '{options.param}' both inside and outside the predicted set")
    if alike(places):
        return NO_CHOICE
    if not differ:
        return NotTestable(f"the fastest inside and outside the set of '{options.param}' are the same machine code")
    said = ", ".join(f"{v} ({n}x)" for v, n in sorted(winners.items(), key=lambda item: -item[1]))
    return of_median(values, trials, level, f"fastest {options.param}: {said}")


def pressure_beyond_optimum(options: PressureOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    """Every kernel above a shape's optimum that is slower is a case; spills or lost occupancy are the predicted reason."""
    hits, trials, cases = 0, [], 0
    seen = False
    for cells in evidence.places().values():
        scores = mean_scores(list(cells.values()))
        first = next(iter(cells.values()))
        ladder = _ladder(scores, options.param)
        if len(ladder) < 2:
            continue
        seen = seen or all(_pressure(first[c]) is not None for c in ladder.values())
        top = best({c: scores[c] for c in ladder.values()})
        optimum = first[top]
        for value, config in _kernels(ladder, first).items():
            here, there = _pressure(first[config]), _pressure(optimum)
            slower = scores[top] - scores[config] > math.log1p(options.slower)
            if here is None or there is None or not slower or value <= float(dict(top[1])[options.param]):
                continue
            cases += 1
            hits += here[0] > there[0] or here[1] < there[1]
            trials += [first[config].number, optimum.number]
    if not seen:
        return NotTestable("the artifacts name no registers and no spills: a processor's machine code does not")
    if not cases:
        return NotTestable(f"no setting above an optimum was slower by {100 * options.slower:g} %")
    return of_share(hits, cases, trials, level, f"{hits} of {cases} slower settings spill more or hold fewer threads")


def _ladder(scores: Mapping[Config, float], param: str) -> dict[float, Config]:
    """The best configuration at each value of a numeric parameter, rising."""
    groups: dict[float, dict[Config, float]] = {}
    for config, score in scores.items():
        value = dict(config[1]).get(param)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            groups.setdefault(float(value), {})[config] = score
    return {value: best(group) for value, group in sorted(groups.items())}


def _kernels(ladder: Mapping[float, Config], cell: Mapping[Config, Specimen]) -> dict[float, Config]:
    """Settings with the same machine code once, at the highest of them."""
    last = {kernel_of(cell[config].trial): value for value, config in ladder.items()}
    return {value: config for value, config in ladder.items() if value in last.values()}


def _pressure(specimen: Specimen) -> tuple[int, float] | None:
    """Bytes spilled and estimated occupancy; None where the artifact does not say."""
    trial = specimen.trial
    if isinstance(trial, FailedTrial) or "registers" not in trial.artifact.resources:
        return None
    resources = trial.artifact.resources
    spilled = resources.get("spill_bytes", 0) or resources.get("local_bytes", 0)
    params = {re.sub(r"^NUM_", "", k): v for k, v in trial.proposal.params.items()}
    return spilled, occupancy(trial.device, trial.artifact.backend, resources, params)
