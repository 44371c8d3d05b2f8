"""How far outputs are from the float64 oracle, over the shapes and distributions of a population."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kernellab.studies.evidence import Evidence, error_of, not_counted
from kernellab.studies.finding import BEYOND, Finding, NotTestable, of_median, of_share
from kernellab.studies.hypothesis import Options

Measure = Literal["l_inf", "ulp"]


class ErrorOptions(Options):
    measure: Measure = "l_inf"


class ShareOptions(Options):
    measure: Measure = "l_inf"
    beyond: float = Field(ge=0)


def worst_error(options: ErrorOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    """One value a replicate: the largest error of all its examinations. What is not finite counts as 1e30."""
    worst: dict[int, float] = {}
    where: dict[float, str] = {}
    for e in evidence.examinations:
        error = error_of(e.verdict, options.measure)
        figure = BEYOND if error is None else error
        worst[e.seed] = max(worst.get(e.seed, 0.0), figure)
        shape = "x".join(str(v) for v in e.dims.values())
        where.setdefault(figure, f"{shape} under '{e.distribution}' (trial {e.trial})")
    if not worst:
        return NotTestable("nothing was examined: no kernel of the population could be built")
    top = max(worst.values())
    says = f"largest {options.measure} {top:.3g} at {where[top]}; {len(evidence.examined())} examinations"
    return of_median(list(worst.values()), [e.trial for e in evidence.examinations], level, says)


def failure_share(options: ShareOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    found = evidence.examined()
    if not found:
        return NotTestable("nothing was examined: no kernel of the population could be built")
    errors = [(e, error_of(e.verdict, options.measure)) for e in found]
    failed = [e for e, error in errors if error is None or error > options.beyond]
    infinite = sum(error is None for _, error in errors)
    under = ", ".join(sorted({e.distribution for e in failed})) or "none"
    says = f"{len(failed)} of {len(found)} beyond {options.beyond:g} ({infinite} not finite), under: {under}"
    says += not_counted(len(evidence.examinations) - len(found))
    return of_share(len(failed), len(found), [e.trial for e in found], level, says)
