"""A search that starts where the prior points, and is not led astray by it for long."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.outcomes import timed
from tests.support.planted import QUICK, eight_warps, planted, recipes_of, site_of

from kernellab.build.base import Candidate
from kernellab.learn.prior.train import train
from kernellab.propose.base import Idea
from kernellab.propose.recipe import Recipe
from kernellab.search.prior.checkpoint import Checkpoint
from kernellab.search.prior.expected import Expected
from kernellab.search.prior.surrogate import Belief
from kernellab.search.prior.tuner import PriorTuner

OWN = Recipe(Candidate("a text of the user's", "own"), {"U": [1, 2]}, "by hand")
Speed = Callable[[Idea], float | None]


@pytest.fixture(scope="module")
def prior() -> Checkpoint:
    return train([planted(name, eight_warps) for name in ("rows", "columns", "swish", "pointwise")], QUICK)


def tuner(prior: Checkpoint, seed: int = 0, name: str = "shares", more: tuple[Recipe, ...] = ()) -> PriorTuner:
    site = site_of(name)
    recipes = [*more, *recipes_of(site)]
    return PriorTuner(recipes, seed, (), Expected(prior, recipes, site.written, dict(site.dims), site.rates))


def drive(tuner: PriorTuner, speed: Speed, most: int) -> list[Idea]:
    ideas: list[Idea] = []
    while len(ideas) < most and (asked := tuner.ask(1)):
        tuner.tell([timed(idea, speed(idea)) for idea in asked])
        ideas += asked
    return ideas


def as_planted(idea: Idea) -> float | None:
    return eight_warps(idea.why, idea.params)


def key(idea: Idea) -> tuple[str, str]:
    return idea.candidate.name, str(sorted(idea.params.items()))


def test_the_first_of_an_unseen_graph_is_what_was_good_elsewhere(prior: Checkpoint) -> None:
    ideas = drive(tuner(prior), as_planted, 3)
    firsts = {recipe.candidate.name: recipe.first for recipe in recipes_of(site_of("shares"))}
    for idea in ideas[:2]:
        assert idea.params == firsts[idea.candidate.name], "authors' first choices come before what was learned"
    assert ideas[2].params["WARPS"] == 8
    assert {i.origin for i in ideas} == {"policy"}
    assert all(i.params.get("BLOCK") != 4096 for i in ideas), "what did not build elsewhere is not tried first"
    assert ideas[0].why.startswith("put first by the prior")


def test_later_ideas_are_the_searchs_own(prior: Checkpoint) -> None:
    assert [i.origin for i in drive(tuner(prior), as_planted, 6)] == ["policy"] * 3 + ["recipe"] * 3


def test_a_prior_that_is_wrong_is_overruled(prior: Checkpoint) -> None:
    def otherwise(idea: Idea) -> float | None:
        return 5.0 if idea.params["WARPS"] == 1 else 1.0

    tried = [idea.params["WARPS"] for idea in drive(tuner(prior), otherwise, 20)]
    assert 8 in tried[:4]
    assert 1 in tried


def test_everything_is_tried_once(prior: Checkpoint) -> None:
    ideas = drive(tuner(prior), as_planted, 1000)
    assert len({key(i) for i in ideas}) == len(ideas) == sum(r.size for r in recipes_of(site_of("shares")))


def test_a_search_that_was_stopped_goes_on_as_it_would_have(prior: Checkpoint) -> None:
    whole = [key(i) for i in drive(tuner(prior, seed=3), as_planted, 14)]
    again = tuner(prior, seed=3)
    before = drive(tuner(prior, seed=3), as_planted, 7)
    again.tell([timed(idea, as_planted(idea)) for idea in before])
    assert [key(i) for i in [*before, *drive(again, as_planted, 7)]] == whole


def test_ideas_that_are_asked_for_at_once_differ(prior: Checkpoint) -> None:
    asked = tuner(prior).ask(10)
    assert len({key(i) for i in asked}) == 10


def test_a_users_own_candidate_takes_part(prior: Checkpoint) -> None:
    def own_is_best(idea: Idea) -> float | None:
        return 9.0 if idea.candidate.name == "own" else as_planted(idea)

    assert "own" in [i.candidate.name for i in drive(tuner(prior, more=(OWN,)), own_is_best, 20)]


def test_the_first_few_are_of_several_kinds_where_the_prior_is_unsure(prior: Checkpoint) -> None:
    site = site_of("columns")
    recipes = recipes_of(site)
    expected = Expected(prior, recipes, site.written, dict(site.dims), site.rates)
    wide = PriorTuner(recipes, 0, (), expected, Belief(apart=50.0, authors=0, first=4))
    assert len({i.candidate.name for i in wide.ask(4)}) == 4


@pytest.mark.heavy
def test_a_large_space_is_gone_through_by_its_most_promising_part(prior: Checkpoint) -> None:
    (first,) = tuner(prior, name="chain").ask(1)
    assert first.origin == "policy"
