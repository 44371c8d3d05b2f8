"""Random search without repeats, and what every sampler shares: what comes first, and what was tried."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence

from kernellab.core.records import Param
from kernellab.propose.base import Idea, TrialOutcome, up_to
from kernellab.propose.recipe import Recipe
from kernellab.search.surrogate import Combination

Warm = Sequence[tuple[str, dict[str, Param]]]
MOST_COMBINATIONS = 100_000
"""So many can be listed."""
_DRAWS = 2000


class RandomTuner:
    """Any combination that was not tried: first a recipe, then each of its parameters, all choices alike.

    What is proposed depends on the seed and on what was asked for and learned so far, and on nothing else: a search that was
    stopped goes on, after its trials are learned again, as it would have. (So it is for SurrogateTuner too.)
    """

    def __init__(self, recipes: Sequence[Recipe], seed: int, warm: Warm) -> None:
        self._recipes = list(recipes)
        self._numbers = {r.name: i for i, r in enumerate(recipes)}
        self._seed = seed
        self._known: dict[Combination, float | None] = {}
        self._pending: dict[Combination, None] = {}
        carried = [self._combination(name, params) for name, params in warm]
        self._warm = [c for c in carried if c is not None]
        self._first = [*self._warm, *((i, (0,) * len(r.space)) for i, r in enumerate(recipes))]

    def ask(self, n: int) -> list[Idea]:
        return up_to(n, self._propose)

    def _propose(self) -> Idea | None:
        dice = random.Random(f"{self._seed} {len(self._known) + len(self._pending)}")
        found = next((c for c in self._first if self._new(c)), None) or self._sampled(dice)
        if found is None:
            return None
        self._pending[found] = None
        return self._idea(found)

    def _idea(self, found: Combination) -> Idea:
        recipe = self._recipes[found[0]]
        if found in self._warm:
            why = f"warm start from the nearest shape: {recipe.why}"
            return Idea(recipe.candidate, params_of(recipe, found), why, "warm-start")
        return Idea(recipe.candidate, params_of(recipe, found), recipe.why)

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        for outcome in outcomes:
            found = self._combination(outcome.idea.candidate.name, outcome.idea.params)
            if found is not None:
                self._pending.pop(found, None)
                if found not in self._known:
                    self._known[found] = None if outcome.score is None else math.log(max(outcome.score, 1e-9))
                    self._learned(found)

    def _learned(self, combination: Combination) -> None:
        """Its value is in `_known`. Nothing follows from it here."""

    def _sampled(self, dice: random.Random) -> Combination | None:
        drawn = (self._anything(dice) for _ in range(_DRAWS))
        if (found := next(filter(self._new, drawn), None)) is not None:
            return found
        if sum(r.size for r in self._recipes) > MOST_COMBINATIONS:
            return None
        left = [(i, c) for i, r in enumerate(self._recipes) for c in combinations(r) if self._new((i, c))]
        return dice.choice(left) if left else None

    def _anything(self, dice: random.Random) -> Combination:
        number = dice.randrange(len(self._recipes))
        return number, tuple(dice.randrange(len(v)) for v in self._recipes[number].space.values())

    def _combination(self, name: str, params: dict[str, Param]) -> Combination | None:
        """None if the recipe, or one of its choices, is not here any more."""
        if name not in self._numbers:
            return None
        space = self._recipes[self._numbers[name]].space
        wanted = {k: params.get(k, v[0]) for k, v in space.items()}
        if not all(wanted[k] in v for k, v in space.items()):
            return None
        return self._numbers[name], tuple(v.index(wanted[k]) for k, v in space.items())

    def _new(self, combination: Combination) -> bool:
        return combination not in self._known and combination not in self._pending


def combinations(recipe: Recipe) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(len(v)) for v in recipe.space.values()))


def params_of(recipe: Recipe, combination: Combination) -> dict[str, Param]:
    return {k: v[pick] for (k, v), pick in zip(recipe.space.items(), combination[1], strict=True)}
