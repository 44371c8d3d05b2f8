from __future__ import annotations

import itertools
import math

import pytest
from tests.support.outcomes import timed

from kernellab.build.base import Candidate
from kernellab.core.records import Param
from kernellab.propose.base import Idea
from kernellab.propose.recipe import Recipe
from kernellab.search.tune import Sampler, Tuner, make_tuner

RECIPES = [
    Recipe(Candidate("text a", "a"), {"ROWS": [1, 2, 4, 8], "EXP": ["poly", "libm"]}, "why a"),
    Recipe(Candidate("text b", "b"), {"FAST": [True, False], "W": [0.5, 1.5, 2.5]}, "why b"),
]
ALL = 8 + 6
SAMPLERS: tuple[Sampler, ...] = ("gp", "tpe", "random", "exhaustive")


def key(idea: Idea) -> tuple[str, tuple[tuple[str, Param], ...]]:
    return idea.candidate.name, tuple(sorted(idea.params.items()))


def speed(idea: Idea) -> float | None:
    """A landscape with one peak, and some that never run."""
    if "ROWS" not in idea.params and "W" not in idea.params:
        return 1.0
    if idea.candidate.name == "b":
        return None if idea.params["FAST"] else 0.5
    return 1 + math.log2(float(idea.params["ROWS"])) + (idea.params["EXP"] == "poly")


def drive(tuner: Tuner, most: int) -> list[Idea]:
    ideas: list[Idea] = []
    while len(ideas) < most and (asked := tuner.ask(1)):
        tuner.tell([timed(idea, speed(idea)) for idea in asked])
        ideas += asked
    return ideas


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_seed_decides_every_proposal(sampler: Sampler) -> None:
    runs = [[key(i) for i in drive(make_tuner(RECIPES, sampler, seed), 10)] for seed in (3, 3, 4)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_no_combination_is_proposed_twice(sampler: Sampler) -> None:
    ideas = [key(i) for i in drive(make_tuner(RECIPES, sampler, 1), 50)]
    assert len(ideas) == len(set(ideas)) <= ALL


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_ideas_asked_for_ahead_of_any_outcome_differ_and_all_come(sampler: Sampler) -> None:
    """As many as can be built at once are asked for before the first is measured."""
    tuner = make_tuner(RECIPES, sampler, 1)
    ideas = [*tuner.ask(3), *tuner.ask(1), *tuner.ask(2 * ALL)]
    assert len(ideas) == len({key(i) for i in ideas}) == ALL
    tuner.tell([timed(idea, speed(idea)) for idea in reversed(ideas)])
    assert tuner.ask(1) == []


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_first_choices_of_every_recipe_come_first(sampler: Sampler) -> None:
    first = drive(make_tuner(RECIPES, sampler, 9), 2)
    assert [(i.candidate.name, i.params) for i in first] == [
        ("a", {"ROWS": 1, "EXP": "poly"}),
        ("b", {"FAST": True, "W": 0.5}),
    ]
    assert [(i.why, i.origin) for i in first] == [("why a", "recipe"), ("why b", "recipe")]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_proposal_is_a_choice_of_its_recipe_in_its_own_type(sampler: Sampler) -> None:
    spaces = {r.name: r.space for r in RECIPES}
    for idea in drive(make_tuner(RECIPES, sampler, 5), 12):
        space = spaces[idea.candidate.name]
        assert set(idea.params) == set(space)
        for name, value in idea.params.items():
            assert any(value == c and type(value) is type(c) for c in space[name])


def test_exhaustive_search_covers_every_combination_and_ends() -> None:
    tuner = make_tuner(RECIPES, "exhaustive", 0)
    ideas = {key(i) for i in drive(tuner, 100)}
    wanted = {
        (r.name, tuple(sorted(zip(r.space, values, strict=True))))
        for r in RECIPES
        for values in itertools.product(*r.space.values())
    }
    assert ideas == wanted
    assert tuner.ask(1) == []


@pytest.mark.heavy
@pytest.mark.parametrize("sampler", ["gp", "tpe", "random"])
def test_a_sampler_ends_only_when_every_combination_was_tried(sampler: Sampler) -> None:
    counts = [len(drive(make_tuner(RECIPES, sampler, seed), 100)) for seed in range(6)]
    assert counts == [ALL] * 6


@pytest.mark.parametrize("sampler", ["gp", "tpe", "random"])
def test_a_warm_start_comes_before_everything_and_says_so(sampler: Sampler) -> None:
    warm: list[tuple[str, dict[str, Param]]] = [("a", {"ROWS": 8, "EXP": "libm"}), ("b", {"FAST": False, "W": 2.5})]
    ideas = drive(make_tuner(RECIPES, sampler, 1, warm), 4)
    assert [(i.candidate.name, i.params) for i in ideas[:2]] == warm
    assert [i.origin for i in ideas] == ["warm-start", "warm-start", "recipe", "recipe"]
    assert ideas[0].why == "warm start from the nearest shape: why a"


def test_a_warm_start_that_no_longer_fits_is_left_out() -> None:
    warm: list[tuple[str, dict[str, Param]]] = [("gone", {"X": 1}), ("a", {"ROWS": 3, "EXP": "poly"})]
    ideas = drive(make_tuner(RECIPES, "tpe", 1, warm), 2)
    assert [i.origin for i in ideas] == ["recipe", "recipe"]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_trials_of_an_earlier_life_are_learned_and_not_proposed_again(sampler: Sampler) -> None:
    before = drive(make_tuner(RECIPES, sampler, 2), 5)
    tuner = make_tuner(RECIPES, sampler, 2)
    for idea in before:
        tuner.tell([timed(Idea(Candidate("", idea.candidate.name), idea.params, "", idea.origin), speed(idea))])
    after = {key(i) for i in drive(tuner, 6)}
    assert len(after) == 6
    assert not after & {key(i) for i in before}


def test_a_stopped_search_goes_on_as_it_would_have() -> None:
    whole = drive(make_tuner(RECIPES, "gp", 2), 12)
    tuner = make_tuner(RECIPES, "gp", 2)
    for idea in whole[:5]:
        tuner.tell([timed(Idea(Candidate("", idea.candidate.name), idea.params, "", idea.origin), speed(idea))])
    assert [key(i) for i in drive(tuner, 7)] == [key(i) for i in whole[5:]]


def test_a_space_too_large_to_list_is_searched_beside_the_fastest_too() -> None:
    """A ridge in six parameters of nine choices: random draws hardly ever reach its top."""
    large = [Recipe(Candidate("", "large"), {name: list(range(9)) for name in "ABCDEF"}, "")]
    tuner = make_tuner(large, "gp", 1)
    best, ideas = 0.0, set()
    for _ in range(60):
        (idea,) = tuner.ask(1)
        ideas.add(key(idea))
        score = 10 - sum(abs(float(v) - 6) for v in idea.params.values()) / 4
        best = max(best, score)
        tuner.tell([timed(idea, score)])
    assert len(ideas) == 60
    assert best >= 9.5


def test_a_trial_whose_parameters_are_no_longer_choices_teaches_nothing() -> None:
    tuner = make_tuner(RECIPES, "gp", 1)
    tuner.tell([timed(Idea(Candidate("", "a"), {"ROWS": 3, "EXP": "poly"}, ""), 2.0)])
    assert len(drive(tuner, 50)) == ALL


@pytest.mark.heavy
@pytest.mark.parametrize("sampler", ["gp", "tpe"])
def test_restored_scores_steer_the_sampler(sampler: Sampler) -> None:
    """Two tuners restored with opposite scores for the recipes go on with opposite preferences."""
    wide = [
        Recipe(Candidate("", name), {"I": list(range(100)), "J": list(range(100))}, "") for name in ("left", "right")
    ]
    shares = []
    for better in ("left", "right"):
        tuner = make_tuner(wide, sampler, 7)
        for number in range(40):
            name = ("left", "right")[number % 2]
            tuner.tell(
                [timed(Idea(Candidate("", name), {"I": number, "J": number}, ""), 4.0 if name == better else 0.1)]
            )
        ideas = tuner.ask(30)
        shares.append(sum(i.candidate.name == "left" for i in ideas) / 30)
    assert shares[0] > 0.6
    assert shares[1] < 0.4


def test_a_trial_of_an_unknown_recipe_teaches_nothing_and_does_no_harm() -> None:
    tuner = make_tuner(RECIPES, "tpe", 1)
    tuner.tell([timed(Idea(Candidate("", "gone"), {"X": 1}, ""), 2.0)])
    assert tuner.ask(1)


def test_a_recipe_without_parameters_is_tried_once() -> None:
    bare = [Recipe(Candidate("", "bare"), {}, "")]
    for sampler in SAMPLERS:
        assert len(drive(make_tuner(bare, sampler, 0), 5)) == 1


def test_the_surrogate_finds_the_peak_of_an_easy_landscape_in_half_the_trials() -> None:
    for seed in range(10):
        assert max(speed(i) or 0 for i in drive(make_tuner(RECIPES, "gp", seed), ALL // 2)) == 5
