"""Does the miner find what is there, and nothing that is not? Ledgers with a known truth, made from recorded spaces.

    python benchmarks/study/miner.py [--ledgers 200] [--first-seed 0]

Shuffled: a random sample of the trials of a recorded space or of a published run, with the outcomes exchanged at random within each arena. No
factor has an effect by construction, so any insight is a false discovery. Stated rate: 5 % of the ledgers at most have
one (with no true effect at all, the false discovery rate is the chance of any discovery).

Planted: the same sample with one parameter's natural effect taken out (latencies of its second level scaled so that the
paired median over the whole space is 0), then a known effect put in by multiplying latencies. Found: the factor is
reported with the right sign. Covered: the interval holds the planted value. The other factors keep their natural
effects, and the noise is the recorded one.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from kernellab.ledger.store import Store
from kernellab.measure.stats import median
from kernellab.search.memory.specimen import reader_of, recall
from kernellab.search.replay import read_trials
from kernellab.study.mine.factors import PARAM, Factor
from kernellab.study.mine.miner import RATE, mine_rows
from kernellab.study.mine.pairing import matched
from kernellab.study.mine.table import Row, rows_of

sys.path.insert(0, str(Path(__file__).parent.parent / "memory"))
from space import Space, spaces

SIZES = (1.05, 1.1, 1.2, 1.5)
SHARE = 0.6
"""The part of a space that a ledger holds: no search tries all of it."""


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
    """Parameters with two levels to compare in at least 100 pairs of the whole space."""
    found = []
    for name, param in dict.fromkeys((r.name, p) for r in rows for p in r.params):
        factor = Factor(PARAM, param, name)
        levels = sorted({str(r.params[param]): r.params[param] for r in rows if r.name == name}.items())
        for (_, a), (_, b) in pairwise(levels):
            if len(matched(rows, factor, a, b)) >= 100:
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
        found = mine_rows(shuffled(dice.sample(rows, int(SHARE * len(rows))), dice))
        with_any += bool(found.insights)
        insights += len(found.insights)
        tested += found.tested
    share = with_any / ledgers
    print(f"shuffled: {with_any} of {ledgers} ledgers with a false discovery ({100 * share:.1f} %), {insights} insights "
          f"of {tested} comparisons; stated rate {100 * RATE:.0f} %: {'ok' if share <= RATE else 'TOO MANY'}")  # fmt: skip


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
            mined = mine_rows(dice.sample(whole, int(SHARE * len(whole))))
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
    given = parser.parse_args()
    tables = recorded()
    false_discoveries([*tables, *searched()], given.ledgers, given.first_seed)
    planted_effects(tables, given.ledgers, given.first_seed)


if __name__ == "__main__":
    main()
