from __future__ import annotations

import math

import pytest
from tests.support.outcomes import timed

from kernellab.build.base import Candidate
from kernellab.core.records import Param
from kernellab.propose.base import Idea
from kernellab.propose.recipe import Recipe
from kernellab.search import random_tuner
from kernellab.search.random_tuner import RandomTuner

ONE = Recipe(Candidate("", "one"), {}, "why one")
MANY = Recipe(Candidate("", "many"), {"A": list(range(50)), "B": list(range(40))}, "why many")


def key(idea: Idea) -> tuple[str, tuple[tuple[str, Param], ...]]:
    return idea.candidate.name, tuple(sorted(idea.params.items()))


def test_every_combination_comes_once_also_the_last_that_draws_would_miss() -> None:
    ideas = RandomTuner([ONE, MANY], 1, ()).ask(5000)
    assert len({key(i) for i in ideas}) == len(ideas) == 2001


def test_a_space_too_large_to_list_ends_when_draws_find_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_tuner, "MOST_COMBINATIONS", 10)
    ideas = RandomTuner([Recipe(Candidate("", "r"), {"A": list(range(11))}, "")], 1, ()).ask(50)
    assert len({key(i) for i in ideas}) == len(ideas) == 11


def test_recipes_are_drawn_alike_however_many_combinations_they_have() -> None:
    few = Recipe(Candidate("", "few"), {"A": list(range(100))}, "")
    most = Recipe(Candidate("", "most"), {"A": list(range(100)), "B": list(range(100))}, "")
    ideas = RandomTuner([few, most], 3, ()).ask(102)[2:]
    drawn = sum(i.candidate.name == "few" for i in ideas)
    assert 25 <= drawn <= 75  # five standard deviations


def test_a_stopped_search_goes_on_as_it_would_have() -> None:
    whole = RandomTuner([ONE, MANY], 2, ()).ask(12)
    tuner = RandomTuner([ONE, MANY], 2, ())
    tuner.tell([timed(Idea(Candidate("", i.candidate.name), i.params, ""), 2.0) for i in whole[:5]])
    assert [key(i) for i in tuner.ask(7)] == [key(i) for i in whole[5:]]


def test_what_came_out_changes_nothing_but_what_is_left() -> None:
    after = []
    for score in (None, 0.1, math.inf):
        tuner = RandomTuner([ONE, MANY], 4, ())
        tuner.tell([timed(idea, score) for idea in tuner.ask(6)])
        after.append([key(i) for i in tuner.ask(6)])
    assert after[0] == after[1] == after[2]
