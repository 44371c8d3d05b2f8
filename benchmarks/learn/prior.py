"""Does a learned prior shorten a search for graphs that it has never seen? Simulated on recorded runs.

    python benchmarks/learn/prior.py FOLDER... [--seeds 20] [--trials 60] [--ahead 1] [--choose] [--out FILE.json]

FOLDER holds runs whose trials were drawn at random over all generated candidates and their parameters. A search of the
simulation may try what was recorded and nothing else; it is told what was recorded. Counted: trials until one is within
3 % of the best that was recorded for that task (one more than there are, where a search never gets there).

Whatever has one structure (numbers, sizes and the type aside) is on one side. A third of the structures, drawn by their
digest, is for choosing settings (--choose); the figure is for the others. Each fold of those that are asked about is left
out of training in turn, and everything else is trained on. Runs that do not pass the audit are left out. Arms: today's order and tuner (every candidate at its first choices, then the Gaussian process), the
policy (the prior's first, then the process with the prior for its mean), the prior's ranking alone, the generator's own
guess of time as a ranking, and random search.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kernellab.build.base import Candidate
from kernellab.core.ids import digest
from kernellab.learn.prior.boost import Boosting
from kernellab.learn.prior.spaces import RecordedSpace, read_spaces, runs_in
from kernellab.learn.prior.train import (
    Rows,
    Training,
    fit_chance,
    fit_slowdown,
    folds,
    rows_of,
    table_of,
    unseen_spread,
)
from kernellab.measurement.stats import Estimate
from kernellab.propose.base import Idea, TrialOutcome
from kernellab.propose.recipe import Recipe
from kernellab.report.audit import audit
from kernellab.search.prior.checkpoint import Checkpoint
from kernellab.search.prior.expected import Expected
from kernellab.search.prior.features import NAMES
from kernellab.search.prior.surrogate import Belief
from kernellab.search.prior.tuner import BELIEF, PriorTuner
from kernellab.search.surrogate import Combination
from kernellab.search.tune import SurrogateTuner

WITHIN = 0.03
LEAST = 8
"""Combinations that were timed; a task with fewer is left out."""
FOLDS = 6
AFTER = (1, 2, 4, 8, 16)
Made = dict[str, list[list[Combination]]]
"""By arm and seed, what was tried in which order."""
TODAY, POLICY, RANKED, GUESSED, ANY = "today", "policy", "prior alone", "guess alone", "random"


class Sim:
    """A recorded space as searches see it: recipes, and the outcome of each combination that was tried."""

    def __init__(self, space: RecordedSpace) -> None:
        self.space = space
        written = space.site.written
        self.recipes = [
            Recipe(Candidate(w.text, w.name), dict(s), "") for w, s in zip(written, space.site.spaces, strict=True)
        ]
        self.speeds: dict[Combination, float | None] = {}
        for tried in space.tried:
            own = self.recipes[tried.candidate].space
            picks = tuple(choices.index(tried.params[name]) for name, choices in own.items())
            self.speeds.setdefault((tried.candidate, picks), tried.speedup)
        self.best = max((v for v in self.speeds.values() if v is not None), default=0.0)

    @property
    def near(self) -> list[bool]:
        """Of those that work, whether each is about as fast as the best."""
        return [v >= self.best * (1 - WITHIN) for v in self.speeds.values() if v is not None]

    @property
    def hard(self) -> bool:
        """Something to find: at most one in ten is about as fast as the best."""
        return sum(self.near) <= len(self.near) / 10

    def trials(self, order: Sequence[Combination]) -> int:
        for number, one in enumerate(order, 1):
            if (self.speeds[one] or 0.0) >= self.best * (1 - WITHIN):
                return number
        return len(order) + 1

    def shares(self, order: Sequence[Combination]) -> list[float]:
        reached = np.maximum.accumulate([self.speeds[one] or 0.0 for one in order]) / self.best
        return [float(reached[min(n, len(reached)) - 1]) for n in AFTER]


class OnRecord(SurrogateTuner):
    """Today's tuner, kept to what was recorded."""

    def __init__(self, sim: Sim, seed: int) -> None:
        self._sim = sim
        super().__init__(sim.recipes, seed, ())
        self._only()

    def _only(self) -> None:
        self._small, self._pool = True, set()
        self._surrogate = self._made()
        self._consider(self._sim.speeds)

    def _consider(self, combinations) -> None:  # type: ignore[no-untyped-def]
        super()._consider([c for c in combinations if c in self._sim.speeds])

    def _new(self, combination: Combination) -> bool:
        return combination in self._sim.speeds and super()._new(combination)


class PriorOnRecord(OnRecord, PriorTuner):
    """The policy, kept to what was recorded."""

    def __init__(self, sim: Sim, seed: int, expected: Expected, belief: Belief) -> None:
        self._sim = sim
        PriorTuner.__init__(self, sim.recipes, seed, (), expected, belief)
        self._only()
        self._put_first = self._prior.leading()
        self._first = list(self._put_first)

    def _drawn(self, dice: random.Random, count: int) -> list[Combination]:
        return list(self._sim.speeds)


@dataclass(frozen=True)
class Length:
    """How often and how long is searched. `ahead`: so many are asked for before the first of them is told, as many as are
    built at a time."""

    seeds: int
    most: int
    ahead: int


def course(tuner: SurrogateTuner, sim: Sim, length: Length) -> list[Combination]:
    order: list[Combination] = []
    waiting: list[Idea] = []
    while len(order) < length.most and not _done(sim, order):
        while len(waiting) < length.ahead and (asked := tuner.ask(1)):
            waiting += asked
        if not waiting:
            break
        idea = waiting.pop(0)
        found = tuner._combination(idea.candidate.name, idea.params)
        assert found is not None
        order.append(found)
        tuner.tell([_outcome(idea, sim.speeds[found])])
    return order


def _done(sim: Sim, order: Sequence[Combination]) -> bool:
    """Nothing that is counted can come any more."""
    return len(order) >= max(AFTER) and sim.trials(order) <= len(order)


def _outcome(idea: Idea, speed: float | None) -> TrialOutcome:
    if speed is None:
        return TrialOutcome(idea, 0, "build")
    return TrialOutcome(idea, 0, "timing", speedup=Estimate(speed, speed, speed, 1))


@dataclass(frozen=True)
class Trained:
    """A prior that has not seen the spaces it is asked about."""

    checkpoint: Checkpoint

    def expected(self, sim: Sim) -> Expected:
        site = sim.space.site
        return Expected(self.checkpoint, sim.recipes, site.written, sim.space.dims, site.rates)


def trained(
    rows: Rows, spaces: Sequence[RecordedSpace], keep: Sequence[int], how: Training, spread: float = 0.0
) -> Trained:
    own = rows.of(keep)
    chosen = [spaces[i] for i in keep]
    spread = spread or unseen_spread(own, chosen, how)
    return Trained(Checkpoint(fit_slowdown(own, how), fit_chance(own, how), spread, spaces[0].kind, {}))


def ranked(sim: Sim, worth: np.ndarray) -> list[Combination]:
    points = list(sim.speeds)
    return [points[i] for i in np.argsort(-worth, kind="stable")]


def prior_order(sim: Sim, prior: Trained) -> list[Combination]:
    speeds, chances = prior.expected(sim).of(list(sim.speeds))
    return ranked(sim, speeds + np.log(chances))


def guess_order(sim: Sim) -> list[Combination]:
    table = table_of(sim.space)
    guesses = {}
    for tried, row in zip(sim.space.tried, table, strict=True):
        own = sim.recipes[tried.candidate].space
        picks = tuple(choices.index(tried.params[name]) for name, choices in own.items())
        guesses[(tried.candidate, picks)] = row[NAMES.index("all_seconds")]
    return ranked(sim, -np.array([guesses[c] for c in sim.speeds]))


def orders(sim: Sim, prior: Trained, length: Length, belief: Belief) -> Made:
    def shuffled(seed: int) -> list[Combination]:
        return random.Random(seed).sample(list(sim.speeds), len(sim.speeds))

    return {
        TODAY: todays(sim, length),
        POLICY: policys(sim, prior, length, belief),
        RANKED: [prior_order(sim, prior)[: length.most]],
        GUESSED: [guess_order(sim)[: length.most]],
        ANY: [shuffled(s)[: length.most] for s in range(length.seeds)],
    }


def todays(sim: Sim, length: Length) -> list[list[Combination]]:
    return [course(OnRecord(sim, s), sim, length) for s in range(length.seeds)]


def policys(sim: Sim, prior: Trained, length: Length, belief: Belief) -> list[list[Combination]]:
    expected = prior.expected(sim)
    return [course(PriorOnRecord(sim, s, expected, belief), sim, length) for s in range(length.seeds)]


def for_choosing(structure: str) -> bool:
    return int(digest(["prior", structure])[:8], 16) % 3 == 0


def ratio(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """The geometric mean of the quotients, and its 95 % bootstrap interval over tasks."""
    logs = np.log(np.array(one) / np.array(other))
    means = np.random.default_rng(0).choice(logs, (10_000, len(logs))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return math.exp(logs.mean()), math.exp(low), math.exp(high)


def clustered(one: Sequence[float], other: Sequence[float], structures: Sequence[str]) -> tuple[float, float]:
    """The interval again with structures drawn instead of tasks: two types of one formula are no two graphs."""
    logs = np.log(np.array(one) / np.array(other))
    names = sorted(set(structures))
    own = [logs[[i for i, s in enumerate(structures) if s == name]] for name in names]
    dice = np.random.default_rng(0)
    means = [np.concatenate([own[i] for i in dice.integers(0, len(own), len(own))]).mean() for _ in range(10_000)]
    low, high = np.percentile(means, [2.5, 97.5])
    return math.exp(low), math.exp(high)


def with_priors(spaces: Sequence[RecordedSpace], asked: Sequence[int], how: Training) -> list[tuple[Sim, Trained]]:
    """Every asked space with a prior trained on all others but those of its fold."""
    rows, found = rows_of(spaces), []
    for fold in folds([spaces[i].structure for i in asked], FOLDS):
        left = {asked[i] for i in fold}
        prior = trained(rows, spaces, [i for i in range(len(spaces)) if i not in left], how)
        sims = [Sim(spaces[number]) for number in sorted(left)]
        found += [(sim, prior) for sim in sims if len(sim.near) >= LEAST]
    return found


def report(found: Sequence[tuple[Sim, Made]]) -> dict[str, object]:
    table = {
        arm: [[sim.trials(o) for o in made[arm]] for sim, made in found]
        for arm in (TODAY, POLICY, RANKED, GUESSED, ANY)
    }
    for number, (sim, _) in enumerate(found):
        cells = ", ".join(f"{arm} {statistics.median(table[arm][number]):.0f}" for arm in table)
        print(f"{sim.space.label}: {len(sim.speeds)} combinations, best {sim.best:.2f}x; trials: {cells}", flush=True)
    said: dict[str, object] = {"tasks": len(found), "structures": len({s.space.structure for s, _ in found})}
    means = {arm: [statistics.fmean(row) for row in rows] for arm, rows in table.items()}
    medians = {arm: [statistics.median(row) for row in rows] for arm, rows in table.items()}
    print(f"\n{len(found)} tasks of {said['structures']} structures, none of them in the training of its prior")
    for arm in table:
        shares = np.mean([np.mean([sim.shares(o) for o in made[arm]], axis=0) for sim, made in found], axis=0)
        told = ", ".join(f"{n}: {share:.3f}" for n, share in zip(AFTER, shares, strict=True))
        print(
            f"{arm:12s} median trials {statistics.median(medians[arm]):.1f}, mean {statistics.fmean(means[arm]):.1f}; share of the best after {told}"
        )
        said[arm] = {
            "median": statistics.median(medians[arm]),
            "mean": statistics.fmean(means[arm]),
            "shares": shares.tolist(),
        }
    print(f"who is right at the first trial, over today: {ratio([1.0] * len(found), means[TODAY])[0]:.3f}")
    for arm, against in ((POLICY, TODAY), (RANKED, TODAY), (POLICY, ANY), (TODAY, ANY)):
        for what, values in (("medians", medians), ("means", means)):
            mean, low, high = ratio(values[arm], values[against])
            wide = clustered(values[arm], values[against], [s.space.structure for s, _ in found])
            print(
                f"{arm} over {against}, {what} over seeds: {mean:.3f} [{low:.3f}, {high:.3f}]; by structure [{wide[0]:.3f}, {wide[1]:.3f}]"
            )
            said[f"{arm}/{against} {what}"] = [mean, low, high, *wide]
    return said


def choose(spaces: Sequence[RecordedSpace], asked: Sequence[int], length: Length) -> None:
    """Settings, on the structures that the figure does not use: forests by their ranking alone, belief by searches."""
    today: dict[str, float] = {}
    ways = []
    for trees, depth, far in itertools.product((50, 100), (3, 4), (0.05, 0.2, 0.5)):
        how = replace(Training(), boosting=replace(Boosting(), trees=trees, depth=depth), far=far)
        found = with_priors(spaces, asked, how)
        for sim, _ in found:
            if sim.space.label not in today:
                today[sim.space.label] = _mean(sim, todays(sim, length))
        against = [today[sim.space.label] for sim, _ in found]
        alone = ratio([_mean(sim, [prior_order(sim, prior)]) for sim, prior in found], against)[0]
        ways.append((alone, how, found))
        print(f"trees {trees} depth {depth} far {far}: prior alone over today {alone:.3f}", flush=True)
    _, how, found = min(ways, key=lambda way: way[0])
    print(f"belief, with {how}")
    against = [today[sim.space.label] for sim, _ in found]
    for slope, fades, authors, first in itertools.product((0.0, 0.5), (0.0, 10.0), (0, 1, 2), (2, 3)):
        belief = Belief(slope=slope, fades=fades, authors=authors, first=first)
        means = [_mean(sim, policys(sim, prior, length, belief)) for sim, prior in found]
        print(f"{belief}: policy over today {ratio(means, against)[0]:.3f}", flush=True)


def _mean(sim: Sim, made: Sequence[Sequence[Combination]]) -> float:
    return statistics.fmean(sim.trials(order) for order in made)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument(
        "--ahead", type=int, default=1, help="asked for before the first is told; a GPU of 16 cores has 18"
    )
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    started, length = time.perf_counter(), Length(options.seeds, options.trials, options.ahead)
    found = {run: audit(run).problems for folder in options.folder for run in runs_in(folder)}
    for run, problems in found.items():
        if problems:
            print(f"{run.name} is left out, it does not pass the audit: {problems[0]}")
    recorded = read_spaces([run for run, problems in found.items() if not problems])
    spaces = recorded.spaces
    print(
        f"{len(spaces)} spaces, {sum(len(s.tried) for s in spaces)} trials; left out: {dict(recorded.left_out)}",
        file=sys.stderr,
    )
    if options.choose:
        choose(spaces, [i for i, s in enumerate(spaces) if for_choosing(s.structure)], length)
        return
    asked = [i for i, s in enumerate(spaces) if not for_choosing(s.structure)]
    asked_of = with_priors(spaces, asked, Training())
    done = [(sim, orders(sim, prior, length, BELIEF)) for sim, prior in asked_of]
    print("every task")
    said = {"every": report(done)}
    if hard := [one for one in done if one[0].hard]:
        print("\nthose where at most one combination in ten is about as fast as the best")
        said["hard"] = report(hard)
    print(f"{options.seeds} seeds, {time.perf_counter() - started:.0f} s")
    if options.out:
        options.out.write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
