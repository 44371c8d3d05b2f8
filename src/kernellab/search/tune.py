"""Tuning recipes: a sampler chooses the recipe and its parameters; random and exhaustive search are the controls.

Every recipe is tried once at its first choices, then (or before, given a warm start) the sampler decides. A combination
that was tried before is never proposed again. `gp`: the largest expected improvement by our own Gaussian process
(surrogate.py); `tpe`: Optuna's (tpe_tuner.py), which is an extra.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from kernellab.core.errors import UsageError
from kernellab.core.ids import digest
from kernellab.core.records import Param
from kernellab.propose.base import Idea, TrialOutcome, up_to
from kernellab.propose.recipe import Recipe
from kernellab.search.random_tuner import MOST_COMBINATIONS, RandomTuner, Warm, combinations
from kernellab.search.surrogate import Combination, Surrogate
from kernellab.search.tpe_tuner import TpeTuner, need_optuna

Sampler = Literal["gp", "tpe", "random", "exhaustive"]
Tuner: TypeAlias = "RandomTuner | ExhaustiveTuner"
_CANDIDATES = 2000
_FRESH = 8
"""Random combinations that join the candidates of a large space at each proposal."""
_FASTEST = 5
_ANYTHING = 0.03


def make_tuner(recipes: Sequence[Recipe], sampler: Sampler, seed: int, warm: Warm = ()) -> Tuner:
    if sampler == "exhaustive":
        return ExhaustiveTuner(recipes, seed)
    kinds = {"gp": SurrogateTuner, "tpe": TpeTuner, "random": RandomTuner}
    return kinds[sampler](recipes, seed, warm)


def check_sampler(sampler: Sampler) -> None:
    """Refuse one whose package is missing, before anything is opened for it."""
    if sampler == "tpe":
        need_optuna()


class SurrogateTuner(RandomTuner):
    """The combination with the largest expected improvement. `blind`: trials before the surrogate is asked."""

    blind = 3

    def __init__(self, recipes: Sequence[Recipe], seed: int, warm: Warm) -> None:
        super().__init__(recipes, seed, warm)
        self._surrogate = self._made()
        self._pool: set[Combination] = set()
        self._small = sum(r.size for r in recipes) <= _CANDIDATES
        if self._small:
            self._consider((i, c) for i, r in enumerate(recipes) for c in combinations(r))
        else:
            dice = random.Random(f"{seed} pool")
            self._consider(self._drawn(dice, _CANDIDATES))

    def _made(self) -> Surrogate:
        return Surrogate(self._recipes)

    def _drawn(self, dice: random.Random, count: int) -> list[Combination]:
        """The first candidates of a space that is too large for all of it."""
        return [self._anything(dice) for _ in range(count)]

    def _learned(self, combination: Combination) -> None:
        self._surrogate.learn(combination, self._known[combination])

    def _sampled(self, dice: random.Random) -> Combination | None:
        """The most promising; now and then any, so that a model that is wrong cannot lock the search out of a part."""
        if not self._small:
            self._consider([*self._near(), *(self._anything(dice) for _ in range(_FRESH))])
        candidates = self._surrogate.candidates
        new = [i for i, c in enumerate(candidates) if self._new(c)]
        if not new:
            return None
        if len(self._known) < self.blind or dice.random() < _ANYTHING:
            return candidates[dice.choice(new)]
        gains = self._surrogate.improvement(list(self._pending))[new]
        best = float(gains.max())
        return candidates[new[dice.choice([i for i, gain in enumerate(gains.tolist()) if gain >= best * (1 - 1e-9)])]]

    def _consider(self, combinations: Iterable[Combination]) -> None:
        fresh = [c for c in dict.fromkeys(combinations) if c not in self._pool]
        self._pool.update(fresh)
        self._surrogate.consider(fresh)

    def _near(self) -> list[Combination]:
        """All neighbours of the fastest few."""
        measured = [(value, c) for c, value in self._known.items() if value is not None]
        return [n for _, c in sorted(measured)[-_FASTEST:] for n in self._neighbours(c)]

    def _neighbours(self, of: Combination) -> list[Combination]:
        """One parameter changed, to any choice."""
        number, picks = of
        sizes = [len(v) for v in self._recipes[number].space.values()]
        return [(number, (*picks[:i], other, *picks[i + 1 :])) for i, size in enumerate(sizes) for other in range(size)]


class ExhaustiveTuner:
    """Every combination once, in an order shuffled by the seed; the recipes' first choices come first."""

    def __init__(self, recipes: Sequence[Recipe], seed: int) -> None:
        if sum(r.size for r in recipes) > MOST_COMBINATIONS:
            raise UsageError(f"{sum(r.size for r in recipes)} combinations are too many to try them all",
                             "use --sampler gp or random, or a smaller SPACE")  # fmt: skip
        everything = [
            (recipe, dict(zip(recipe.space, values, strict=True)))
            for recipe in recipes
            for values in itertools.product(*recipe.space.values())
        ]
        random.Random(seed).shuffle(everything)
        first = [(r, r.first) for r in recipes]
        self._left = [*first, *(c for c in everything if c not in first)]
        self._done: set[str] = set()

    def ask(self, n: int) -> list[Idea]:
        return up_to(n, self._propose)

    def _propose(self) -> Idea | None:
        while self._left:
            recipe, params = self._left.pop(0)
            if _key(recipe.name, params) not in self._done:
                return Idea(recipe.candidate, params, recipe.why)
        return None

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        self._done |= {_key(outcome.idea.candidate.name, outcome.idea.params) for outcome in outcomes}


def _key(name: str, params: dict[str, Param]) -> str:
    return digest([name, params])
