"""Trials as a table: one row for each kernel in its arena, with its parameters, its structure and its speed-up.

Left out: what was never timed, and duplicates (a parameter that changes no machine code has no effect to be found).
Repeated trials of one kernel (a study's replicates) become one row with their mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean

from kernellab.core.records import MeasuredTrial, Param
from kernellab.core.targets import backends, home_of, platform_facts
from kernellab.search.memory.features import Features, features, strip_comments
from kernellab.search.memory.specimen import Specimen

Arena = tuple[str, tuple[tuple[str, int], ...], str, str]
_STRIDED = re.compile(r"\[\s*\(?\s*(?:threadIdx\.x|tid|lane)\s*\*")
"""A subscript in which the thread's number is multiplied: neighbouring threads then read far apart."""
_WIDE_TAGS = (
    "persistent",
    "async-copy",
    "cooperative",
    "shuffle",
    "streamed-stores",
    "vector-extension",
    "online",
    "blocking",
)


@dataclass(frozen=True)
class Row:
    """`score`: logarithm of the speed-up. `built`: structure of the artifact, `written`: structure of the source."""

    trials: tuple[int, ...]
    arena: Arena
    name: str
    params: dict[str, Param]
    built: dict[str, Param]
    written: dict[str, Param]
    score: float

    @property
    def key(self) -> tuple[Arena, str, tuple[tuple[str, Param], ...]]:
        return self.arena, self.name, tuple(sorted(self.params.items()))


def rows_of(specimens: Iterable[Specimen]) -> list[Row]:
    groups: dict[object, list[Row]] = {}
    for specimen in specimens:
        if isinstance(specimen.trial, MeasuredTrial) and specimen.score is not None:
            row = _row(specimen, specimen.score)
            groups.setdefault(row.key, []).append(row)
    return [
        replace(rows[0], trials=tuple(n for r in rows for n in r.trials), score=fmean(r.score for r in rows))
        for rows in groups.values()
    ]


def _row(specimen: Specimen, score: float) -> Row:
    trial, found = specimen.trial, features(specimen)
    return Row((trial.trial,), specimen.arena, trial.proposal.name, dict(trial.proposal.params), _built(found),
               _written(found, specimen.source) if specimen.source else {}, score)  # fmt: skip


def _built(found: Features) -> dict[str, Param]:
    """Only what the artifact says: 0 registers are registers nobody counted."""
    facts: dict[str, Param] = {}
    if found.registers:
        facts = {"registers": "over 64" if found.registers > 64 else "64 or fewer",
                 "spills": "yes" if found.spill_bytes else "no",
                 "shared memory": "yes" if found.shared_bytes > 1024 else "no"}  # fmt: skip
    if found.occupancy:
        facts["occupancy"] = "half or more" if found.occupancy >= 0.5 else "under half"
    return facts


def _written(found: Features, source: str) -> dict[str, Param]:
    facts: dict[str, Param] = {"language": found.backend, "vector width": found.vector}
    if found.passes:
        facts["passes over the data"] = found.passes
    if found.backend in backends() and platform_facts(home_of(found.backend)).accelerator:
        facts["access"] = "strided" if _strided(source) else "coalesced"
    return facts | {tag: "yes" if tag in found.tags else "no" for tag in _WIDE_TAGS}


@lru_cache(maxsize=1024)
def _strided(source: str) -> bool:
    return _STRIDED.search(strip_comments(source)) is not None
