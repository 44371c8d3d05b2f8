"""Does the miner find what is there, and nothing that is not? Ledgers with a known truth.

    python benchmarks/study/miner.py [--ledgers 200] [--first-seed 0] [--only shuffled|candidates|searched|planted]

Shuffled: a random sample of the trials of a recorded space or of a published run, in random order, with the outcomes
exchanged at random within each arena. No factor has an effect by construction, so any insight is a false discovery.
Stated rate: 5 % of the ledgers at most have one (with no true effect at all, the false discovery rate is the chance of
any discovery).

Candidates: they differ (10 % between candidates, 2 % between trials), and their tags have no effect.

Searched: klab's own tuner searches a space in which nothing has an effect, or one parameter has; every outcome is drawn
anew (noise 5 %), and each shape starts from the best three of the one before. Its choices follow from its outcomes, as
in a real ledger and unlike in a shuffled one. False: any insight about a parameter without effect.

Planted: a sample as in Shuffled with one parameter's natural effect taken out (latencies of its second level scaled so
that the paired median over the whole space is 0), then a known effect put in by multiplying latencies. Found: the factor
is reported with the right sign. Covered: the interval holds the planted value. The other factors keep their natural
effects, and the noise is the recorded one.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from kernellab.build.base import Candidate
from kernellab.core.records import Param
from kernellab.ledger.store import Store
from kernellab.measurement.stats import Estimate, median
from kernellab.propose.base import Idea, TrialOutcome
from kernellab.propose.recipe import Recipe
from kernellab.search.memory.specimen import reader_of, recall
from kernellab.search.replay import read_trials
from kernellab.search.tune import Sampler, make_tuner
from kernellab.studies.mine.factors import PARAM, Factor
from kernellab.studies.mine.miner import mine_rows
from kernellab.studies.mine.pairing import matched
from kernellab.studies.mine.signs import RATE
from kernellab.studies.mine.table import Row, rows_of

sys.path.insert(0, str(Path(__file__).parent.parent / "memory"))
from space import Space, spaces

SIZES = (1.05, 1.1, 1.2, 1.5)
SHARE = 0.6
"""The part of a space that a ledger holds: no search tries all of it."""
CANDIDATES = ((2, 10), (2, 6), (4, 6), (6, 6), (8, 4), (12, 4), (16, 4), (24, 3))
SEARCHES: tuple[tuple[Sampler, int, bool], ...] = (
    ("gp", 4, False), ("gp", 4, True), ("gp", 6, True), ("gp", 12, True), ("random", 4, False),
)  # fmt: skip
SPACE: dict[str, list[Param]] = {
    "P": [1, 2, 3, 4],
    "Q": ["a", "b"],
    "R": ["x", "y", "z"],
    "S": [0, 1],
    "T": [10, 20, 30],
}
TRIALS, NOISE = 30, 0.05


def recorded() -> list[list[Row]]:
    """Every recorded space as one table: both of its shapes, each an arena of its own."""
    return [_rows([first, second]) for first, second in spaces()]


def searched() -> list[list[Row]]:
    """The published runs of a GPU: what searches really leave behind, with registers, spills and sources."""
    runs = sorted((Path(__file__).parent.parent.parent / "runs" / "h200").iterdir())
    return [rows_of(recall(read_trials(run), reader_of(Store(run)))) for run in runs]


def _rows(shapes: Sequence[Space]) -> list[Row]:
    rows: list[Row] = []
    for shape in shapes:
        trials = [shape.trial(key, len(rows) + n) for n, key in enumerate(shape.points)]
        rows += rows_of(recall(trials, shape.read))
    return rows


def sampled(rows: Sequence[Row], dice: random.Random) -> list[Row]:
    """A part of the kernels, as if tried in random order."""
    return [replace(r, trials=(n,)) for n, r in enumerate(dice.sample(rows, int(SHARE * len(rows))))]


def shuffled(rows: Sequence[Row], dice: random.Random) -> list[Row]:
    """The same kernels with their outcomes exchanged within each arena."""
    found = []
    for arena in dict.fromkeys(r.arena for r in rows):
        here = [r for r in rows if r.arena == arena]
        scores = [r.score for r in here]
        dice.shuffle(scores)
        found += [replace(r, score=s) for r, s in zip(here, scores, strict=True)]
    return found


def plantable(rows: Sequence[Row]) -> list[tuple[Factor, object, object]]:
    """Parameters with two levels to compare in at least 50 pairs (contexts) of the whole space."""
    found = []
    for name, param in dict.fromkeys((r.name, p) for r in rows for p in r.params):
        factor = Factor(PARAM, param, name)
        levels = sorted({str(r.params[param]): r.params[param] for r in rows if r.name == name}.items())
        for (_, a), (_, b) in pairwise(levels):
            if len(matched(rows, factor, a, b)) >= 50:
                found.append((factor, a, b))
    return found


def planted(rows: Sequence[Row], factor: Factor, level: object, natural: float, size: float) -> list[Row]:
    """Latencies of one level multiplied: its natural effect taken out, the planted one put in."""
    change = math.log(size) - natural
    return [replace(r, score=r.score + change) if factor.level(r) == level else r for r in rows]


def false_discoveries(tables: Sequence[list[Row]], ledgers: int, first: int) -> None:
    with_any = insights = tested = 0
    for seed in range(first, first + ledgers):
        dice = random.Random(seed)
        rows = tables[seed % len(tables)]
        found = mine_rows(shuffled(sampled(rows, dice), dice), searched=False)
        with_any += bool(found.insights)
        insights += len(found.insights)
        tested += found.tested
    _say(f"shuffled ({insights} insights of {tested} claims)", with_any, ledgers)


def _say(what: str, false: int, ledgers: int) -> None:
    verdict = "ok" if false <= RATE * ledgers else "TOO MANY"
    print(f"{what}: {false} of {ledgers} ledgers with a false discovery ({100 * false / ledgers:.1f} %); "
          f"stated rate {100 * RATE:.0f} %: {verdict}", flush=True)  # fmt: skip


def _place(shape: int) -> tuple[str, tuple[tuple[str, int], ...], str, str]:
    return "task", (("M", shape),), "device", "baseline"


def unlike_candidates(candidates: int, shapes: int, dice: random.Random) -> list[Row]:
    """One trial of every candidate at every shape; half of them have a tag that does nothing."""
    offsets = [dice.gauss(0, 0.1) for _ in range(candidates)]
    tags = ["yes" if k % 2 else "no" for k in range(candidates)]
    dice.shuffle(tags)
    places = [(shape, k) for shape in range(shapes) for k in range(candidates)]
    return [Row((n,), _place(shape), f"k{k}", {}, {}, {"online": tags[k]}, offsets[k] + dice.gauss(0, 0.02))
            for n, (shape, k) in enumerate(places)]  # fmt: skip


def candidates_without_effect(ledgers: int, first: int) -> None:
    for candidates, shapes in CANDIDATES:
        seeds = range(first, first + ledgers)
        false = sum(bool(mine_rows(unlike_candidates(candidates, shapes, random.Random(s))).insights) for s in seeds)
        _say(f"{candidates} candidates at {shapes} shapes, a tag without effect", false, ledgers)


def timed(idea: Idea, speedup: float | None) -> TrialOutcome:
    """As if it had been timed; None: it could not be built."""
    if speedup is None:
        return TrialOutcome(idea, 0, "build")
    return TrialOutcome(idea, 0, "timing", speedup=Estimate(speedup, speedup, speedup, 1))


def searched_ledger(
    seed: int, shapes: int, sampler: Sampler, warm: bool, effect: Callable[[Param], float]
) -> list[Row]:
    """30 trials at each shape, chosen by the tuner from what came out before; P alone may have an effect."""
    dice, rows, best = random.Random(seed), list[Row](), list[tuple[str, dict[str, Param]]]()
    for shape in range(shapes):
        tuner = make_tuner([Recipe(Candidate("", "k"), SPACE, "")], sampler, 100 * seed + shape, best if warm else ())
        here: list[Row] = []
        while len(here) < TRIALS and (asked := tuner.ask(1)):
            (idea,) = asked
            score = effect(idea.params["P"]) + dice.gauss(0, NOISE)
            tuner.tell([timed(idea, math.exp(score))])
            here.append(Row((len(rows) + len(here),), _place(shape), "k", dict(idea.params), {}, {}, score))
        best = [("k", r.params) for r in sorted(here, key=lambda r: -r.score)[:3]]
        rows += here
    return rows


def searches_without_effect(ledgers: int, first: int) -> None:
    for sampler, shapes, warm in SEARCHES:
        name = (
            f"{sampler} search of {shapes} shapes, {'each from the best of the last' if warm else 'each from nothing'}"
        )
        for step in (0.0, 0.15):
            false = found = 0
            for seed in range(first, first + ledgers):
                rows = searched_ledger(seed, shapes, sampler, warm, lambda p, step=step: step * float(p))
                insights = mine_rows(rows, searched=sampler != "random").insights
                false += any(i.factor.name != "P" or not step or i.faster < i.slower for i in insights)
                found += any(i.factor.name == "P" and i.faster > i.slower for i in insights)
            real = f", P gains 16 % a step (found in {found})" if step else ", nothing has an effect"
            _say(name + real, false, ledgers)


def planted_effects(tables: Sequence[list[Row]], ledgers: int, first: int) -> None:
    tables = [rows for rows in tables if plantable(rows)]
    places = [plantable(rows) for rows in tables]
    for size in SIZES:
        found = covered = 0
        for seed in range(first, first + ledgers):
            dice = random.Random(1_000_003 * seed + round(1000 * size))
            rows = tables[seed % len(tables)]
            factor, a, b = dice.choice(places[seed % len(tables)])
            natural = median([p.gain for p in matched(rows, factor, a, b)])
            whole = planted(rows, factor, a, natural, size)
            mined = mine_rows(sampled(whole, dice), searched=False)
            hit = [i for i in mined.insights if (i.factor, i.faster, i.slower) == (factor, a, b)]
            found += bool(hit)
            covered += bool(hit) and hit[0].effect.low <= size <= hit[0].effect.high
        share = covered / found if found else 0.0
        print(
            f"planted {100 * (size - 1):4.0f} %: found {found} of {ledgers}, interval covers it in {covered} ({100 * share:.1f} %)"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledgers", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", choices=("shuffled", "candidates", "searched", "planted"))
    given = parser.parse_args()
    if given.only in (None, "shuffled"):
        false_discoveries([*recorded(), *searched()], given.ledgers, given.first_seed)
    if given.only in (None, "candidates"):
        candidates_without_effect(given.ledgers, given.first_seed)
    if given.only in (None, "searched"):
        searches_without_effect(given.ledgers, given.first_seed)
    if given.only in (None, "planted"):
        planted_effects(recorded(), given.ledgers, given.first_seed)


if __name__ == "__main__":
    main()
