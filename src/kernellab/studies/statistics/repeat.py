"""Whether the laboratory, asked twice, says the same: the same machine code, another process, other inputs, another time."""

from __future__ import annotations

import math
from itertools import pairwise

from pydantic import Field

from kernellab.search.memory.specimen import Specimen
from kernellab.studies.evidence import Evidence, kernel_of, measurement_of, not_counted, score_of
from kernellab.studies.finding import Finding, NotTestable, of_share
from kernellab.studies.hypothesis import Options


class RepeatOptions(Options):
    within: float = Field(gt=0)


def repeat_agreement(options: RepeatOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    pairs: list[tuple[Specimen, Specimen]] = []
    same = 0
    for cells in evidence.places().values():
        for first, second in pairwise(cells.values()):
            both = [(first[c], second[c]) for c in first if c in second]
            once = {(kernel_of(a.trial), kernel_of(b.trial)): (a, b) for a, b in both}
            pairs += once.values()
            same += len(both) - len(once)
    if not pairs:
        return NotTestable(
            "no kernel was timed in two replicates: give two seeds or more", "no kernel was timed in two replicates"
        )
    gaps = [abs(score_of(a) - score_of(b)) for a, b in pairs]
    trials = [measurement_of(s.trial) for pair in pairs for s in pair]
    hits = sum(gap <= math.log1p(options.within) for gap in gaps)
    says = f"largest disagreement {100 * math.expm1(max(gaps)):.1f} %{not_counted(same)}"
    return of_share(hits, len(gaps), trials, level, says)
