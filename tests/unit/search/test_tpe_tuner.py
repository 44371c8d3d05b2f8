from __future__ import annotations

import sys

import pytest
from tests.support.outcomes import timed

from kernellab.build.base import Candidate
from kernellab.core.errors import EnvironmentFault
from kernellab.propose.base import Idea
from kernellab.propose.recipe import Recipe
from kernellab.search.tpe_tuner import TpeTuner

WIDE = Recipe(Candidate("", "wide"), {"UNROLL": list(range(100)), "MATH": ["exact", "fast"]}, "why")


def test_without_optuna_the_fault_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(EnvironmentFault, match="needs Optuna") as caught:
        TpeTuner([WIDE], 0, ())
    assert "pip install 'kernellab[optuna]'" in caught.value.fix


def test_it_goes_where_the_fast_ones_are_and_avoids_what_never_ran() -> None:
    tuner = TpeTuner([WIDE], 1, ())
    for unroll in range(0, 100, 5):
        for math in ("exact", "fast"):
            score = None if math == "exact" else 1.0 + unroll / 10
            tuner.tell([timed(Idea(WIDE.candidate, {"UNROLL": unroll, "MATH": math}, ""), score)])
    tuner.ask(1)  # the recipe's first choices were told; this is the sampler's
    ideas = tuner.ask(20)
    assert sum(i.params["MATH"] == "fast" for i in ideas) > 10
    assert sum(int(i.params["UNROLL"]) >= 50 for i in ideas) > 10


def test_what_it_asked_for_itself_is_learned_once() -> None:
    tuner = TpeTuner([WIDE], 1, ())
    ideas = tuner.ask(5)
    tuner.tell([timed(idea, 2.0) for idea in ideas])
    tuner.tell([timed(idea, 9.0) for idea in ideas])
    values = [t.value for t in tuner._study.trials if t.value is not None]
    assert values == pytest.approx([0.6931471805599453] * 5)
