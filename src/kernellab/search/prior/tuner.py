"""The tuner with a prior: it starts with what the prior expects most of, and goes on with what trials teach beyond it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kernellab.propose.base import Idea
from kernellab.propose.recipe import Recipe
from kernellab.search.prior.expected import Expected
from kernellab.search.prior.surrogate import Belief, PriorSurrogate
from kernellab.search.random_tuner import Warm, combinations, params_of
from kernellab.search.surrogate import Combination, Surrogate
from kernellab.search.tune import SurrogateTuner

BELIEF = Belief()
_LISTED = 8_000
"""Of a larger space so many are drawn."""
_BEST, _OTHERS = 1_500, 500
"""Of those that are kept: the best expected, and any."""


class PriorTuner(SurrogateTuner):
    blind = 0

    def __init__(
        self, recipes: Sequence[Recipe], seed: int, warm: Warm, expected: Expected, belief: Belief = BELIEF
    ) -> None:
        self._expected, self._belief = expected, belief
        super().__init__(recipes, seed, warm)
        self._put_first = self._prior.leading()
        self._first = [*self._warm, *self._put_first]

    @property
    def _prior(self) -> PriorSurrogate:
        assert isinstance(self._surrogate, PriorSurrogate)
        return self._surrogate

    def _made(self) -> Surrogate:
        return PriorSurrogate(self._recipes, self._expected, self._belief)

    def _drawn(self, dice: random.Random, count: int) -> list[Combination]:
        """Of a large space: what the prior expects most of among many, and some besides."""
        size = sum(r.size for r in self._recipes)
        if size <= _LISTED:
            every = [(i, c) for i, r in enumerate(self._recipes) for c in combinations(r)]
        else:
            every = list(dict.fromkeys(self._anything(dice) for _ in range(_LISTED)))
        firsts: list[Combination] = [(i, (0,) * len(r.space)) for i, r in enumerate(self._recipes)]
        speeds, _ = self._expected.of(every)
        best = [every[i] for i in (-speeds).argsort(kind="stable")[:_BEST]]
        return list(dict.fromkeys([*firsts, *best, *dice.sample(every, min(len(every), _OTHERS))]))

    def _idea(self, found: Combination) -> Idea:
        if found not in self._put_first or found in self._warm:
            return super()._idea(found)
        recipe = self._recipes[found[0]]
        return Idea(recipe.candidate, params_of(recipe, found), f"put first by the prior: {recipe.why}", "policy")
