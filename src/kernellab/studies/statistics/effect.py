"""The effect of one level of a factor over another, by the same matched pairs as the miner's."""

from __future__ import annotations

import math
from dataclasses import replace

from kernellab.core.records import Param
from kernellab.search.memory.specimen import Specimen
from kernellab.studies.evidence import Evidence, kernel_of
from kernellab.studies.finding import Finding, NotTestable, of_median
from kernellab.studies.hypothesis import Options
from kernellab.studies.mine.factors import Factor
from kernellab.studies.mine.pairing import matched
from kernellab.studies.mine.table import rows_of


class EffectOptions(Options):
    """`kind` and `name` name the factor, `scope` the candidate it belongs to ('' for any)."""

    kind: str
    name: str
    scope: str = ""
    faster: Param
    slower: Param


def paired_effect(options: EffectOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    factor = Factor(options.kind, options.name, options.scope)
    pairs = matched(rows_of(_one_name(evidence.specimens())), factor, options.faster, options.slower)
    if not pairs:
        return NotTestable(f"no two trials are alike but for {factor.words}")
    trials = [n for pair in pairs for n in pair.trials]
    return of_median([math.exp(p.gain) for p in pairs], trials, level)


def _one_name(specimens: list[Specimen]) -> list[Specimen]:
    """Every kernel of an arena under the parameters that it had first: which of two equal ones is measured changes with
    the order of a replicate, and neither has an effect over the other."""
    first: dict[object, Specimen] = {}
    found = []
    for specimen in specimens:
        named = first.setdefault((specimen.trial.task, str(specimen.trial.dims), kernel_of(specimen.trial)), specimen)
        trial = specimen.trial.model_copy(update={"proposal": named.trial.proposal})
        found.append(replace(specimen, trial=trial))
    return found
