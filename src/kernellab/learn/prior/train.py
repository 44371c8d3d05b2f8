"""From recorded spaces to a prior: rows with their features, two forests, and how wrong they are on structures left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from kernellab.core.errors import UsageError
from kernellab.core.ids import digest
from kernellab.learn.prior.boost import Boosting, Ints, boosted, logistic, squared
from kernellab.learn.prior.spaces import RecordedSpace
from kernellab.search.prior.checkpoint import Checkpoint
from kernellab.search.prior.features import NAMES, features
from kernellab.search.prior.trees import Floats, Forest

_FOLDS = 5


@dataclass(frozen=True)
class Training:
    """`slowest`: logarithms of a slowdown above this are all the same; `near`: rows within about this of the best weigh
    more, `far` is what the others weigh."""

    boosting: Boosting = field(default_factory=Boosting)
    slowest: float = 1.5
    near: float = 0.3
    far: float = 0.2
    seed: int = 0


@dataclass(frozen=True)
class Rows:
    """A row a trial. `slowdowns`: NaN for what did not work; `groups`: which space."""

    table: Floats
    slowdowns: Floats
    groups: Ints

    @property
    def worked(self) -> Floats:
        return (~np.isnan(self.slowdowns)).astype(np.float64)

    def of(self, groups: Sequence[int]) -> Rows:
        chosen = np.isin(self.groups, list(groups))
        return Rows(self.table[chosen], self.slowdowns[chosen], np.unique(self.groups[chosen], return_inverse=True)[1])


def rows_of(spaces: Sequence[RecordedSpace]) -> Rows:
    tables, slowdowns, groups = [np.zeros((0, len(NAMES)))], [np.zeros(0)], [np.zeros(0, np.int64)]
    for number, space in enumerate(spaces):
        tables.append(table_of(space))
        speeds = np.array([np.nan if t.speedup is None else t.speedup for t in space.tried])
        best = np.nanmax(speeds) if not np.isnan(speeds).all() else 1.0
        slowdowns.append(np.log(best / speeds))
        groups.append(np.full(len(speeds), number))
    return Rows(np.concatenate(tables), np.concatenate(slowdowns), np.concatenate(groups))


def table_of(space: RecordedSpace) -> Floats:
    """The features of its trials, in their order."""
    table = np.full((len(space.tried), len(NAMES)), np.nan)
    for candidate in sorted({t.candidate for t in space.tried}):
        own = [i for i, t in enumerate(space.tried) if t.candidate == candidate]
        table[own] = features(space.site, candidate, [space.tried[i].params for i in own])
    return table


def train(spaces: Sequence[RecordedSpace], how: Training | None = None) -> Checkpoint:
    how = how or Training()
    kinds = sorted({s.kind for s in spaces})
    if len(kinds) != 1:
        told = f"runs on {' and '.join(kinds)}" if kinds else "no trial of a generated candidate"
        raise UsageError(f"a prior is for one kind of device, and there is {told}", "name runs of one kind of device")
    rows = rows_of(spaces)
    if len(np.unique(rows.groups[rows.worked > 0])) < 2:
        raise UsageError("there are fewer than two tasks with a kernel that works", "name more runs")
    return Checkpoint(
        fit_slowdown(rows, how), fit_chance(rows, how), unseen_spread(rows, spaces, how), kinds[0], _facts(spaces, how)
    )


def fit_slowdown(rows: Rows, how: Training) -> Forest:
    """By the rows that worked."""
    works = rows.worked > 0
    targets = np.minimum(rows.slowdowns[works], how.slowest)
    groups = np.unique(rows.groups[works], return_inverse=True)[1]
    weights = _evened(how.far + np.exp(-targets / how.near), groups)
    return boosted(
        rows.table[works], groups, weights, lambda w: squared(targets, w, groups), 0.0, how.boosting, how.seed
    )


def fit_chance(rows: Rows, how: Training) -> Forest:
    """By all rows."""
    even = _evened(np.ones(len(rows.groups)), rows.groups)
    share = float(np.clip(np.average(rows.worked, weights=even), 0.02, 0.98))
    start = float(np.log(share / (1 - share)))
    return boosted(rows.table, rows.groups, even, lambda w: logistic(rows.worked, w), start, how.boosting, how.seed)


def _evened(weights: Floats, groups: Ints) -> Floats:
    """Every task weighs the same: as many rows as a task has on average."""
    whole = np.bincount(groups, weights)
    found: Floats = weights * (len(weights) / len(whole)) / whole[groups]
    return found


def unseen_spread(rows: Rows, spaces: Sequence[RecordedSpace], how: Training) -> float:
    """The standard deviation of what the slowdowns of structures that are left out are off by, each task's mean aside. By
    one forest each time, which is off by a little more than several."""
    off: list[Floats] = []
    how = replace(how, boosting=replace(how.boosting, bags=1))
    for left in folds([s.structure for s in spaces], _FOLDS):
        kept = [i for i in range(len(spaces)) if i not in left]
        if not kept or not left or not rows.of(kept).worked.any():
            continue
        forest = fit_slowdown(rows.of(kept), how)
        for number in left:
            own = (rows.groups == number) & (rows.worked > 0)
            wrong = forest(rows.table[own]) - np.minimum(rows.slowdowns[own], how.slowest)
            off.append(wrong - wrong.mean() if len(wrong) else wrong)
    every = np.concatenate(off) if off else np.ones(1)
    return float(np.sqrt(np.mean(every**2))) or 1e-3


def folds(structures: Sequence[str], count: int) -> list[list[int]]:
    """Places by fold; whatever has one structure is in one fold. The order of the list has no say."""
    order = sorted(set(structures), key=lambda s: digest(["fold", s]))
    fold = {structure: number % count for number, structure in enumerate(order)}
    return [[i for i, s in enumerate(structures) if fold[s] == n] for n in range(min(count, len(order)))]


def _facts(spaces: Sequence[RecordedSpace], how: Training) -> dict[str, Any]:
    return {
        "devices": sorted({s.site.rates.device for s in spaces}),
        "runs": sorted({s.run for s in spaces}),
        "tasks": len({s.task for s in spaces}),
        "structures": len({s.structure for s in spaces}),
        "trials": sum(len(s.tried) for s in spaces),
        "training": asdict(how),
    }
