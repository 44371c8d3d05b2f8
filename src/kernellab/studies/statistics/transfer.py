"""What is lost when a shape is given its neighbour's best configuration instead of its own."""

from __future__ import annotations

import math
from itertools import pairwise

from kernellab.measurement.stats import median
from kernellab.studies.evidence import Config, Evidence, Place, alike, apart, best, mean_scores, score_of
from kernellab.studies.finding import NO_CHOICE, Finding, NotTestable, of_median
from kernellab.studies.hypothesis import Options


class TransferOptions(Options):
    """Neighbours are shapes that stand next to each other in the population's list."""


def transfer_loss(options: TransferOptions, evidence: Evidence, level: float) -> Finding | NotTestable:
    """0.1: 10 % slower than what tuning there would have given. In both directions of every pair of neighbours."""
    places = evidence.places()
    values: list[float] = []
    blind: list[float] = []
    trials: list[int] = []
    for there, here in _neighbours(list(places)):
        brought = best_of(mean_scores(list(places[there].values())))
        for cell, known in apart(places[here]):
            if brought is None or brought not in cell:
                continue
            own = score_of(cell[best(known)])
            values.append(math.exp(own - score_of(cell[brought])) - 1)
            blind.append(math.exp(own - median([score_of(s) for s in cell.values()])) - 1)
            trials += [s.number for s in cell.values()]
    if not values:
        return NotTestable("no two neighbouring shapes were timed with the same configurations")
    if alike(places):
        return NO_CHOICE
    says = f"a configuration picked blindly would lose {100 * median(blind):.1f} % (median)"
    return of_median(values, trials, level, says)


def best_of(scores: dict[Config, float]) -> Config | None:
    return best(scores) if scores else None


def _neighbours(places: list[Place]) -> list[tuple[Place, Place]]:
    pairs = [(a, b) for a, b in pairwise(places) if a[0] == b[0]]
    return [*pairs, *((b, a) for a, b in pairs)]
