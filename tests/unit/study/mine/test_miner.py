"""What is planted is found with its size, what is chance is not, whatever searched, and no candidate passes for a structure."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import product

import pytest
from tests.support.outcomes import timed
from tests.unit.search.memory.specimens import CUDA, H200, artifact, duplicate, failed, measured, read

from kernellab.build.base import Candidate
from kernellab.core.records import Param
from kernellab.propose.recipe import Recipe
from kernellab.search.memory.specimen import recall
from kernellab.search.tune import make_tuner
from kernellab.studies.mine.factors import PARAM, WRITTEN, Factor
from kernellab.studies.mine.miner import RATE, mine, mine_rows
from kernellab.studies.mine.pairing import matched
from kernellab.studies.mine.table import Row, rows_of

ARENA = ("softmax", (("M", 256), ("N", 512)), "Neoverse-N1", "torch")
SPACE = {"A": [0, 1], "B": [0, 1, 2, 3], "C": ["x", "y", "z"], "D": [1, 2, 4, 8]}


def table(dice: random.Random, effect: float = 1.0, spread: float = 0.2, noise: float = 0.02) -> list[Row]:
    """96 kernels: B and C matter and interact, D does not, A=1 is `effect` times faster."""
    surface = {key: dice.gauss(0, spread) for key in product(SPACE["B"], SPACE["C"])}
    rows = []
    tried = list(product(*SPACE.values()))
    dice.shuffle(tried)
    for n, values in enumerate(tried):
        params = dict(zip(SPACE, values, strict=True))
        score = surface[params["B"], params["C"]] + math.log(effect) * (params["A"] == 1) + dice.gauss(0, noise)
        rows.append(Row((n,), ARENA, "rows", params, {}, {}, score))
    return rows


def unlike_candidates(dice: random.Random, candidates: int, shapes: int, effect: float = 0.0) -> list[Row]:
    """Candidates that differ by 10 %, each tried once at every shape; every other one has the tag."""
    tags = ["yes" if k % 2 else "no" for k in range(candidates)]
    dice.shuffle(tags)
    own = [dice.gauss(0, 0.1) + effect * (tag == "yes") for tag in tags]
    places = [(shape, k) for shape in range(shapes) for k in range(candidates)]
    return [Row((n,), ("t", (("M", shape),), "cpu", "base"), f"k{k}", {}, {}, {"online": tags[k]}, own[k] + dice.gauss(0, 0.02))
            for n, (shape, k) in enumerate(places)]  # fmt: skip


def searched(seed: int, shapes: int) -> list[Row]:
    """What klab's tuner leaves behind where nothing has an effect, each shape begun with the best three of the last."""
    dice, rows, best = random.Random(seed), list[Row](), list[tuple[str, dict[str, Param]]]()
    space: dict[str, list[Param]] = {
        "P": [1, 2, 3, 4],
        "Q": ["a", "b"],
        "R": ["x", "y", "z"],
        "S": [0, 1],
        "T": [1, 2, 3],
    }
    for shape in range(shapes):
        tuner = make_tuner([Recipe(Candidate("", "k"), space, "")], "gp", 100 * seed + shape, best)
        here: list[Row] = []
        while len(here) < 30 and (asked := tuner.ask(1)):
            (idea,) = asked
            score = dice.gauss(0, 0.05)
            tuner.tell([timed(idea, math.exp(score))])
            arena = ("t", (("M", shape),), "cpu", "base")
            here.append(Row((len(rows) + len(here),), arena, "k", dict(idea.params), {}, {}, score))
        best = [("k", r.params) for r in sorted(here, key=lambda r: -r.score)[:3]]
        rows += here
    return rows


def shuffled(rows: list[Row], dice: random.Random) -> list[Row]:
    scores = [r.score for r in rows]
    dice.shuffle(scores)
    return [replace(r, score=s) for r, s in zip(rows, scores, strict=True)]


@pytest.mark.heavy
def test_shuffled_ledgers_give_nothing_beyond_the_stated_rate() -> None:
    ledgers = 40
    hits = 0
    for seed in range(ledgers):
        dice = random.Random(seed)
        hits += bool(mine_rows(shuffled(table(dice, 1.2), dice)).insights)
    assert hits <= RATE * ledgers


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize("effect", [1.05, 1.2])
def test_a_planted_effect_is_found_with_an_interval_that_covers_it(effect: float) -> None:
    found = covered = 0
    for seed in range(20):
        dice = random.Random(seed)
        rows = dice.sample(table(dice, effect), 70)
        hit = [i for i in mine_rows(rows).insights if i.factor == Factor(PARAM, "A", "rows")]
        found += bool(hit)
        covered += bool(hit) and hit[0].faster == 1 and hit[0].effect.low <= effect <= hit[0].effect.high
    assert found >= 16  # at 5 %, with a noise of 2 %
    assert covered >= 0.9 * found


def test_an_insight_carries_its_evidence() -> None:
    insight = next(i for i in mine_rows(table(random.Random(0), 1.3)).insights if i.factor.name == "A")
    data = insight.data()
    assert data["n"] == data["exact_pairs"] == 48
    assert len(data["trials"]) == 96
    assert data["p_adjusted"] < RATE
    assert data["effect"]["low"] < 1.3 < data["effect"]["high"]
    assert data["claim"].startswith("A 1 is ")
    assert data["importance"] is not None
    assert data["importance_by"] in ("fANOVA", "PED-ANOVA")


def test_too_few_pairs_are_not_even_tested() -> None:
    rows = [Row((n,), ARENA, "rows", {"A": n % 2, "B": n // 2}, {}, {}, float(n % 2)) for n in range(10)]
    found = mine_rows(rows)
    assert (found.tested, found.insights) == (0, ())


def test_a_sure_and_tiny_effect_is_not_reported() -> None:
    assert not [i for i in mine_rows(table(random.Random(0), 1.003, noise=1e-6)).insights if i.factor.name == "A"]


def test_no_kernel_is_in_two_pairs_and_the_nearest_come_first() -> None:
    rows = table(random.Random(0))[::3]
    pairs = matched(rows, Factor(PARAM, "B", "rows"), 0, 1)
    used = [n for p in pairs for n in p.trials]
    assert len(used) == len(set(used))
    exact = [p.exact for p in pairs]
    assert any(exact)
    assert exact == sorted(exact, reverse=True)


def test_arenas_are_never_mixed() -> None:
    rows = table(random.Random(0))
    there = ("softmax", (("M", 1),), "Neoverse-N1", "torch")
    apart = [replace(r, arena=there) if r.params["A"] else r for r in rows]
    assert len(matched(rows, Factor(PARAM, "A", "rows"), 0, 1)) == 48
    assert matched(apart, Factor(PARAM, "A", "rows"), 0, 1) == []


def test_a_combination_at_many_shapes_is_one_pair() -> None:
    """It was tried again because it had been good before: twelve looks at two kernels are no twelve pairs."""
    rows = [Row((n,), ("t", (("M", n // 2),), "cpu", "base"), "k", {"A": n % 2, "B": 0}, {}, {}, 0.1 * (n % 2))
            for n in range(24)]  # fmt: skip
    (pair,) = matched(rows, Factor(PARAM, "A", "k"), 1, 0)
    assert (pair.gain, len(pair.trials)) == (pytest.approx(0.1), 24)
    assert mine_rows(rows).tested == 0


def test_only_what_was_tried_after_the_slower_one_speaks_for_being_faster() -> None:
    rows = [Row((n,), ARENA, "k", {"A": n % 2, "B": n // 2}, {}, {}, 0.0) for n in range(20)]
    assert len(matched(rows, Factor(PARAM, "A", "k"), 1, 0, improving=True)) == 10
    assert [p for p in matched(rows, Factor(PARAM, "A", "k"), 0, 1, improving=True) if p.exact] == []
    assert len(matched(rows, Factor(PARAM, "A", "k"), 0, 1)) == 10


@pytest.mark.slow
def test_a_search_through_nothing_leaves_no_pattern_beyond_the_stated_rate() -> None:
    ledgers = 20
    assert sum(bool(mine_rows(searched(seed, 6)).insights) for seed in range(ledgers)) <= RATE * ledgers


@pytest.mark.parametrize(("candidates", "shapes"), [(2, 10), (2, 6), (4, 4), (4, 6), (6, 6), (8, 4)])
def test_few_candidates_that_merely_differ_are_no_structure(candidates: int, shapes: int) -> None:
    assert [mine_rows(unlike_candidates(random.Random(seed), candidates, shapes)).insights for seed in range(40)] == [
        ()
    ] * 40


@pytest.mark.heavy
def test_many_candidates_that_merely_differ_stay_within_the_rate_and_a_real_structure_is_found() -> None:
    ledgers = 100
    by_chance = [mine_rows(unlike_candidates(random.Random(seed), 24, 3)).insights for seed in range(ledgers)]
    assert sum(map(bool, by_chance)) <= RATE * ledgers
    real = [mine_rows(unlike_candidates(random.Random(seed), 24, 3, 0.3)).insights for seed in range(ledgers)]
    assert sum(bool(found) and found[0].faster == "yes" for found in real) >= 0.9 * ledgers


def test_structure_of_the_source_is_compared_between_candidates_not_between_their_trials() -> None:
    fast = [Row((n,), ARENA, "one", {"A": n}, {}, {"passes over the data": 1}, 1.0) for n in range(20)]
    slow = [Row((20 + n,), ARENA, "two", {"A": n}, {}, {"passes over the data": 2}, 0.0) for n in range(20)]
    pairs = matched([*fast, *slow], Factor(WRITTEN, "passes over the data"), 1, 2)
    assert [(p.gain, len(p.trials)) for p in pairs] == [(1.0, 40)]
    assert mine_rows([*fast, *slow]).tested == 0  # one pair of candidates proves nothing about passes


def test_the_table_holds_timed_kernels_once_with_what_artifact_and_source_say() -> None:
    trials = [measured(0, 2.0), failed(1), duplicate(2, of=0), measured(3, 8.0),
              measured(4, 1.0, text=CUDA, params={"THREADS": 256}, device=H200,
                       built=artifact("cuda", "b", registers=80, spill_bytes=16))]  # fmt: skip
    first, second = rows_of(recall(trials, read))
    assert (first.trials, first.score) == ((0, 3), pytest.approx(math.log(4)))  # the mean of two trials of one kernel
    assert first.built == {}
    assert first.written["passes over the data"] == 2
    assert second.built | {"registers": "over 64", "spills": "yes"} == second.built
    assert (second.written["access"], second.written["vector width"]) == ("coalesced", 4)
    assert mine(recall(trials, read)).insights == ()
