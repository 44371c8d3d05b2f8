"""How good the soft verifiers are: their looks against the hard verdicts of the same candidates.

What was skipped has no verdict. A seeded share of it was tried all the same; those stand for all that was flagged, with a
weight that makes up for the rest, so that precision and recall can be had from a run that skips.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.core.records import Record
from kernellab.search.soft.fate import SOFT_KINDS, Fate, SoftKind
from kernellab.search.soft.interval import Rate
from kernellab.search.soft.look import Look


@dataclass(frozen=True)
class Judged:
    """A look, and what became of the candidate; no fate: it was skipped, or its turn never came."""

    look: Look
    fate: Fate | None
    wall_s: float = 0.0


class Figures(Record):
    """`precision`: of what is flagged, what fails. `recall`: of what fails, what is flagged. `false_skip`: of what is
    right, what is flagged. None where there was nothing to count."""

    precision: Rate | None
    recall: Rate | None
    false_skip: Rate | None
    said: int
    unreadable: int
    silent: int


class Score(Record):
    """Per verifier against the failures its question is about, and together against any failure.

    `hardware_s`: what all candidates would take; `saved_s`: what was not spent because of skips; `lost`: right kernels
    among what was skipped. The last two and `hardware_s` are estimates where a run did skip, and counts in hindsight.
    """

    looks: int
    tried: int
    flagged: int
    skipped: int
    kinds: dict[SoftKind, Figures]
    combined: Figures
    hardware_s: float
    saved_s: float
    lost: float


def score(judged: Sequence[Judged], hindsight: bool = False) -> Score:
    """`hindsight`: everything was tried, and the question is what skipping all that is flagged would have done."""
    weights = {flag: _weight([r for r in judged if r.look.flagged == flag]) for flag in (True, False)}
    weighted = [(r, weights[r.look.flagged] if r.fate is not None else 0.0) for r in judged]
    flagged = [(r, w) for r, w in weighted if r.look.flagged and r.fate is not None]
    unspent = [(r, w if hindsight else w - 1) for r, w in flagged]
    return Score(
        looks=len(judged),
        tried=sum(r.fate is not None for r in judged),
        flagged=sum(r.look.flagged for r in judged),
        skipped=sum(r.look.flagged if hindsight else r.look.skip for r in judged),
        kinds={kind: _of_kind(weighted, kind, weights[True]) for kind in _kinds(judged)},
        combined=_combined(weighted, weights[True]),
        hardware_s=math.fsum(w * r.wall_s for r, w in weighted if r.fate is not None),
        saved_s=math.fsum(w * r.wall_s for r, w in unspent),
        lost=math.fsum(w for r, w in unspent if r.fate is not None and r.fate.failed is False),
    )


def _weight(alike: Sequence[Judged]) -> float:
    """How many candidates a tried one stands for, among those that were flagged or those that were not."""
    tried = sum(r.fate is not None for r in alike)
    return len(alike) / tried if tried else float(not alike)


def _kinds(judged: Sequence[Judged]) -> list[SoftKind]:
    return [kind for kind in SOFT_KINDS if any(r.look.answer(kind) for r in judged)]


def _of_kind(weighted: Sequence[tuple[Judged, float]], kind: SoftKind, flag_weight: float) -> Figures:
    rows = []
    for row, weight in weighted:
        answer = row.look.answer(kind)
        truth = None if row.fate is None else row.fate.fails(kind)
        if answer is not None and truth is not None:
            p_fail = answer.p_fail
            rows.append((p_fail is not None and p_fail > row.look.skip_above, truth, weight))
    statuses = [a.status for row, _ in weighted if (a := row.look.answer(kind)) is not None]
    return _figures(rows, flag_weight, statuses)


def _combined(weighted: Sequence[tuple[Judged, float]], flag_weight: float) -> Figures:
    known = [(row, weight) for row, weight in weighted if row.fate is not None and row.fate.failed is not None]
    rows = [(row.look.flagged, row.fate is not None and bool(row.fate.failed), weight) for row, weight in known]
    return _figures(rows, flag_weight, [a.status for row, _ in weighted for a in row.look.answers])


def _figures(rows: Sequence[tuple[bool, bool, float]], flag_weight: float, statuses: Sequence[str]) -> Figures:
    """Rows are flagged, truly failing, weight. What one verifier flags is flagged, and so has `flag_weight`; what it does
    not may be flagged by another, and has the mean of their weights."""
    flagged = [fails for flag, fails, _ in rows if flag]
    return Figures(
        precision=Rate.of(sum(flagged), len(flagged) - sum(flagged)),
        recall=_share_flagged([(flag, w) for flag, fails, w in rows if fails], flag_weight),
        false_skip=_share_flagged([(flag, w) for flag, fails, w in rows if not fails], flag_weight),
        said=statuses.count("said"), unreadable=statuses.count("unreadable"), silent=statuses.count("silent"),
    )  # fmt: skip


def _share_flagged(rows: Sequence[tuple[bool, float]], flag_weight: float) -> Rate | None:
    others = [weight for flag, weight in rows if not flag]
    mean = math.fsum(others) / len(others) if others else 1.0
    return Rate.of(len(rows) - len(others), len(others), flag_weight / mean)
