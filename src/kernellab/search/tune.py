"""Tuning recipes: Optuna chooses the recipe and its parameters; random and exhaustive search are the controls.

Every recipe is tried once at its first choices, then (or before, given a warm start) the sampler decides. A combination
that was tried before is never proposed again.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any, Literal

from kernellab.core.errors import UsageError
from kernellab.core.ids import digest
from kernellab.core.records import AnyTrial, Param
from kernellab.propose.base import Idea
from kernellab.propose.recipe import Recipe

Sampler = Literal["tpe", "random", "exhaustive"]
_PATIENCE = 10
_DRAWS = 2000
_MOST_COMBINATIONS = 100_000
_WORST = math.log(0.01)


def make_tuner(
    recipes: Sequence[Recipe], sampler: Sampler, seed: int, warm: Sequence[tuple[str, dict[str, Param]]] = ()
) -> OptunaTuner | ExhaustiveTuner:
    if sampler == "exhaustive":
        return ExhaustiveTuner(recipes, seed)
    return OptunaTuner(recipes, sampler, seed, warm)


class OptunaTuner:
    def __init__(
        self, recipes: Sequence[Recipe], sampler: Sampler, seed: int, warm: Sequence[tuple[str, dict[str, Param]]]
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._recipes = {r.name: r for r in recipes}
        self._asked: dict[str, Any] = {}
        self._seen: set[str] = set()
        self._dice = random.Random(seed)
        self._warm = {_key(name, params) for name, params in warm}
        self._study = optuna.create_study(direction="maximize", sampler=self._sampler(sampler, seed))
        for name, params in warm:
            if name in self._recipes:
                self._enqueue(self._recipes[name], params)
        for recipe in recipes:
            self._enqueue(recipe, {k: v[0] for k, v in recipe.space.items()})

    def propose(self) -> Idea | None:
        for _ in range(_PATIENCE):
            trial = self._study.ask()
            recipe, params = self._suggest(trial)
            key = _key(recipe.name, params)
            if key not in self._seen:
                self._seen.add(key)
                self._asked[key] = trial
                warm = key in self._warm
                why = f"warm start from the nearest shape: {recipe.why}" if warm else recipe.why
                return Idea(recipe.candidate, params, why, "warm-start" if warm else "recipe")
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return self._anything_new()

    def _anything_new(self) -> Idea | None:
        """When the sampler keeps coming back to what it knows: any combination not tried yet, at random."""
        for _ in range(_DRAWS):
            recipe = self._dice.choice(list(self._recipes.values()))
            params = {k: self._dice.choice(v) for k, v in recipe.space.items()}
            key = _key(recipe.name, params)
            if key not in self._seen:
                self._seen.add(key)
                return Idea(recipe.candidate, params, recipe.why)
        return None

    def learn(self, idea: Idea, score: float | None, trial: AnyTrial | None = None) -> None:
        """Scores are logarithms of speed-ups; what never ran counts as very slow, so that it is avoided."""
        key = _key(idea.candidate.name, idea.params)
        value = _WORST if score is None else math.log(max(score, 1e-9))
        asked = self._asked.pop(key, None)
        if asked is not None:
            self._study.tell(asked, value)
        elif idea.candidate.name in self._recipes:  # not asked for: a random draw, or an earlier life of the run
            self._seen.add(key)
            params, distributions = self._encode(self._recipes[idea.candidate.name], idea.params)
            made = self._optuna.trial.create_trial(params=params, distributions=distributions, value=value)
            self._study.add_trial(made)

    def _sampler(self, sampler: Sampler, seed: int) -> Any:
        if sampler == "random":
            return self._optuna.samplers.RandomSampler(seed=seed)
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # multivariate and group are marked experimental
            return self._optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, n_startup_trials=8)

    def _suggest(self, trial: Any) -> tuple[Recipe, dict[str, Param]]:
        recipe = self._recipes[trial.suggest_categorical("recipe", sorted(self._recipes))]
        params: dict[str, Param] = {}
        for name, choices in recipe.space.items():
            label = f"{recipe.name}.{name}"
            if _ordered(choices):
                params[name] = choices[trial.suggest_int(label, 0, len(choices) - 1)]
            else:
                params[name] = trial.suggest_categorical(label, choices)
        return recipe, params

    def _encode(self, recipe: Recipe, params: dict[str, Param]) -> tuple[dict[str, Any], dict[str, Any]]:
        distributions = self._optuna.distributions
        encoded: dict[str, Any] = {"recipe": recipe.name}
        kinds: dict[str, Any] = {"recipe": distributions.CategoricalDistribution(sorted(self._recipes))}
        for name, choices in recipe.space.items():
            label = f"{recipe.name}.{name}"
            value = params.get(name, choices[0])
            if _ordered(choices):
                encoded[label] = choices.index(value)
                kinds[label] = distributions.IntDistribution(0, len(choices) - 1)
            else:
                encoded[label] = value
                kinds[label] = distributions.CategoricalDistribution(choices)
        return encoded, kinds

    def _enqueue(self, recipe: Recipe, params: dict[str, Param]) -> None:
        if all(params.get(k, v[0]) in v for k, v in recipe.space.items()):
            self._study.enqueue_trial(self._encode(recipe, params)[0], skip_if_exists=True)


class ExhaustiveTuner:
    """Every combination once, in an order shuffled by the seed; the recipes' first choices come first."""

    def __init__(self, recipes: Sequence[Recipe], seed: int) -> None:
        if sum(r.size for r in recipes) > _MOST_COMBINATIONS:
            raise UsageError(f"{sum(r.size for r in recipes)} combinations are too many to try them all",
                             "use --sampler tpe or random, or a smaller SPACE")  # fmt: skip
        combinations = [
            (recipe, dict(zip(recipe.space, values, strict=True)))
            for recipe in recipes
            for values in itertools.product(*recipe.space.values())
        ]
        random.Random(seed).shuffle(combinations)
        first = [(r, {k: v[0] for k, v in r.space.items()}) for r in recipes]
        self._left = [*first, *(c for c in combinations if c not in first)]
        self._done: set[str] = set()

    def propose(self) -> Idea | None:
        while self._left:
            recipe, params = self._left.pop(0)
            if _key(recipe.name, params) not in self._done:
                return Idea(recipe.candidate, params, recipe.why)
        return None

    def learn(self, idea: Idea, score: float | None, trial: AnyTrial | None = None) -> None:
        self._done.add(_key(idea.candidate.name, idea.params))


def _ordered(choices: Sequence[Param]) -> bool:
    numbers = [c for c in choices if isinstance(c, (int, float)) and not isinstance(c, bool)]
    return len(numbers) == len(choices) and numbers == sorted(numbers) and len(choices) > 2


def _key(name: str, params: dict[str, Param]) -> str:
    return digest([name, params])
