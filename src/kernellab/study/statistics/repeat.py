"""Whether the laboratory, asked twice, says the same: the same machine code, another process, other inputs, another time."""

from __future__ import annotations

import math
from itertools import pairwise

from pydantic import Field

from kernellab.study.evidence import Evidence, score_of
from kernellab.study.finding import Finding, NotTestable, of_share
from kernellab.study.hypothesis import Options


class RepeatOptions(Options):
    within: float = Field(gt=0)


def repeat_agreement(options: RepeatOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    gaps: list[float] = []
    trials: list[int] = []
    for cells in evidence.places().values():
        for first, second in pairwise(cells.values()):
            for config in (c for c in first if c in second):
                gaps.append(abs(score_of(first[config]) - score_of(second[config])))
                trials += [first[config].number, second[config].number]
    if not gaps:
        return NotTestable("no kernel was timed in two replicates: give two seeds or more")
    hits = sum(gap <= math.log1p(options.within) for gap in gaps)
    says = f"largest disagreement {100 * math.expm1(max(gaps)):.1f} %"
    return of_share(hits, len(gaps), trials, level, says)
