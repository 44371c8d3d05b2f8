"""What a prior expects of every combination of a search's recipes.

Recipes that nobody generated are expected to be middling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kernellab.core.records import Dims, Param
from kernellab.lower.tensors import Written
from kernellab.propose.recipe import Recipe
from kernellab.search.prior.checkpoint import Checkpoint
from kernellab.search.prior.features import Site, features
from kernellab.search.prior.rates import Rates
from kernellab.search.prior.trees import Floats
from kernellab.search.random_tuner import params_of
from kernellab.search.surrogate import Combination

_UNKNOWN_CHANCE = 0.9


class Expected:
    """`places`: by recipe, its place among what the generator wrote."""

    def __init__(
        self, checkpoint: Checkpoint, recipes: Sequence[Recipe], written: Sequence[Written], dims: Dims, rates: Rates
    ) -> None:
        self._checkpoint, self._recipes = checkpoint, list(recipes)
        texts = {w.text: i for i, w in enumerate(written)}
        self._places = {n: texts[r.candidate.text] for n, r in enumerate(recipes) if r.candidate.text in texts}
        known = {place: number for number, place in self._places.items()}
        self.generated = bool(known)
        spaces = [recipes[known[i]].space if i in known else {} for i in range(len(written))]
        self._site = Site(dims, rates, written, spaces)
        firsts: list[Combination] = [(n, (0,) * len(recipes[n].space)) for n in self._places]
        self._middling = float(np.median(self.of(firsts)[0])) if firsts else 0.0

    @property
    def spread(self) -> float:
        return self._checkpoint.spread

    def of(self, combinations: Sequence[Combination]) -> tuple[Floats, Floats]:
        """The logarithm of the speed, from an unknown level on, and the chance to be right and timed."""
        speeds, chances = np.zeros(len(combinations)), np.full(len(combinations), _UNKNOWN_CHANCE)
        for number in sorted({c[0] for c in combinations}):
            own = [i for i, c in enumerate(combinations) if c[0] == number]
            if number not in self._places:
                speeds[own] = self._middling
                continue
            picks: list[Mapping[str, Param]] = [params_of(self._recipes[number], combinations[i]) for i in own]
            table = features(self._site, self._places[number], picks)
            speeds[own] = -self._checkpoint.slowdown(table)
            chances[own] = 1 / (1 + np.exp(-np.clip(self._checkpoint.chance(table), -30, 30)))
        return speeds, chances
