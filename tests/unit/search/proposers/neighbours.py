"""A whole proposer in one file: every recipe at its first choices, then the fastest again with one parameter changed."""

from __future__ import annotations

from collections.abc import Sequence

from kernellab.propose.base import Idea, TrialOutcome
from kernellab.search.proposers.base import ProposerKind, ShapeContext, for_each_shape


class Neighbours:
    def __init__(self, shape: ShapeContext) -> None:
        self._recipes = {recipe.name: recipe for recipe in shape.search.recipes}
        self._known: list[tuple[str, object]] = []
        self._told: list[TrialOutcome] = []

    def ask(self, n: int) -> list[Idea]:
        first = [Idea(r.candidate, r.first, "its first choices", "neighbours") for r in self._recipes.values()]
        beside = self._beside() if len(self._told) >= len(first) else []
        new = [i for i in (*first, *beside) if (i.candidate.name, i.params) not in self._known][:n]
        self._known += [(idea.candidate.name, idea.params) for idea in new]
        return new

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        self._told += outcomes
        self._known += [(outcome.idea.candidate.name, outcome.idea.params) for outcome in outcomes]

    def _beside(self) -> list[Idea]:
        best = max(self._told[: len(self._recipes)], key=lambda outcome: outcome.score or 0.0).idea
        return [
            Idea(best.candidate, {**best.params, name: value}, f"{name} changed", "neighbours")
            for name, choices in self._recipes[best.candidate.name].space.items()
            for value in choices[1:]
        ]


PROPOSER = ProposerKind("neighbours", "first choices, then what lies beside the best", for_each_shape(Neighbours))
