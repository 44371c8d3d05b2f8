"""Tuning recipes: a sampler chooses the recipe and its parameters; random and exhaustive search are the controls.

Every recipe is tried once at its first choices, then (or before, given a warm start) the sampler decides. A combination
that was tried before is never proposed again. `gp`: the largest expected improvement by our own Gaussian process
(surrogate.py); `tpe`: Optuna's.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from kernellab.core.errors import UsageError
from kernellab.core.ids import digest
from kernellab.core.records import Param
from kernellab.propose.base import Idea, TrialOutcome, up_to
from kernellab.propose.recipe import Recipe
from kernellab.search.surrogate import Combination, Surrogate, ordered

Sampler = Literal["gp", "tpe", "random", "exhaustive"]
Warm = Sequence[tuple[str, dict[str, Param]]]
Tuner: TypeAlias = "SurrogateTuner | OptunaTuner | ExhaustiveTuner"
_PATIENCE = 10
_DRAWS = 2000
_MOST_COMBINATIONS = 100_000
_WORST = math.log(0.01)
_CANDIDATES = 2000
_FRESH = 8
"""Random combinations that join the candidates of a large space at each proposal."""
_FASTEST = 5
_BLIND = 3
"""Trials before the surrogate is asked."""
_ANYTHING = 0.03


def make_tuner(recipes: Sequence[Recipe], sampler: Sampler, seed: int, warm: Warm = ()) -> Tuner:
    if sampler == "exhaustive":
        return ExhaustiveTuner(recipes, seed)
    if sampler == "gp":
        return SurrogateTuner(recipes, seed, warm)
    return OptunaTuner(recipes, sampler, seed, warm)


class SurrogateTuner:
    """What is proposed depends on the seed and on what was asked for and learned so far, and on nothing else: a search
    that was stopped goes on, after its trials are learned again, as it would have."""

    def __init__(self, recipes: Sequence[Recipe], seed: int, warm: Warm) -> None:
        self._recipes = list(recipes)
        self._numbers = {r.name: i for i, r in enumerate(recipes)}
        self._seed = seed
        self._surrogate = Surrogate(recipes)
        self._known: dict[Combination, float | None] = {}
        self._pending: dict[Combination, None] = {}
        self._pool: set[Combination] = set()
        carried = [self._combination(name, params) for name, params in warm]
        self._warm = [c for c in carried if c is not None]
        self._first = [*self._warm, *((i, (0,) * len(r.space)) for i, r in enumerate(recipes))]
        self._small = sum(r.size for r in recipes) <= _CANDIDATES
        if self._small:
            self._consider((i, c) for i, r in enumerate(recipes) for c in _combinations(r))
        else:
            dice = random.Random(f"{seed} pool")
            self._consider(self._anything(dice) for _ in range(_CANDIDATES))

    def ask(self, n: int) -> list[Idea]:
        return up_to(n, self._propose)

    def _propose(self) -> Idea | None:
        found = next((c for c in self._first if self._new(c)), None) or self._sampled()
        if found is None:
            return None
        self._pending[found] = None
        number, picks = found
        recipe = self._recipes[number]
        params = {k: v[pick] for (k, v), pick in zip(recipe.space.items(), picks, strict=True)}
        return _idea(recipe, params, found in self._warm)

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        for outcome in outcomes:
            found = self._combination(outcome.idea.candidate.name, outcome.idea.params)
            if found is not None:
                self._pending.pop(found, None)
                if found not in self._known:
                    self._known[found] = None if outcome.score is None else math.log(max(outcome.score, 1e-9))
                    self._surrogate.learn(found, self._known[found])

    def _sampled(self) -> Combination | None:
        """The most promising; now and then any, so that a model that is wrong cannot lock the search out of a part."""
        dice = random.Random(f"{self._seed} {len(self._known) + len(self._pending)}")
        if not self._small:
            self._consider([*self._near(), *(self._anything(dice) for _ in range(_FRESH))])
        candidates = self._surrogate.candidates
        new = [i for i, c in enumerate(candidates) if self._new(c)]
        if not new:
            return None
        if len(self._known) < _BLIND or dice.random() < _ANYTHING:
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

    def _anything(self, dice: random.Random) -> Combination:
        number = dice.randrange(len(self._recipes))
        return number, tuple(dice.randrange(len(v)) for v in self._recipes[number].space.values())

    def _neighbours(self, of: Combination) -> list[Combination]:
        """One parameter changed, to any choice."""
        number, picks = of
        sizes = [len(v) for v in self._recipes[number].space.values()]
        return [(number, (*picks[:i], other, *picks[i + 1 :])) for i, size in enumerate(sizes) for other in range(size)]

    def _combination(self, name: str, params: dict[str, Param]) -> Combination | None:
        """None for what is no combination of a recipe that is here (any more)."""
        if name not in self._numbers:
            return None
        space = self._recipes[self._numbers[name]].space
        wanted = {k: params.get(k, v[0]) for k, v in space.items()}
        if not all(wanted[k] in v for k, v in space.items()):
            return None
        return self._numbers[name], tuple(v.index(wanted[k]) for k, v in space.items())

    def _new(self, combination: Combination) -> bool:
        return combination not in self._known and combination not in self._pending


class OptunaTuner:
    def __init__(self, recipes: Sequence[Recipe], sampler: Sampler, seed: int, warm: Warm) -> None:
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
            self._enqueue(recipe, recipe.first)

    def ask(self, n: int) -> list[Idea]:
        return up_to(n, self._propose)

    def _propose(self) -> Idea | None:
        for _ in range(_PATIENCE):
            trial = self._study.ask()
            recipe, params = self._suggest(trial)
            key = _key(recipe.name, params)
            if key not in self._seen:
                self._seen.add(key)
                self._asked[key] = trial
                return _idea(recipe, params, key in self._warm)
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

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        for outcome in outcomes:
            self._learn(outcome.idea, outcome.score)

    def _learn(self, idea: Idea, score: float | None) -> None:
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
            if ordered(choices):
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
            if ordered(choices):
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
                             "use --sampler gp or random, or a smaller SPACE")  # fmt: skip
        combinations = [
            (recipe, dict(zip(recipe.space, values, strict=True)))
            for recipe in recipes
            for values in itertools.product(*recipe.space.values())
        ]
        random.Random(seed).shuffle(combinations)
        first = [(r, r.first) for r in recipes]
        self._left = [*first, *(c for c in combinations if c not in first)]
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


def _idea(recipe: Recipe, params: dict[str, Param], warm: bool) -> Idea:
    why = f"warm start from the nearest shape: {recipe.why}" if warm else recipe.why
    return Idea(recipe.candidate, params, why, "warm-start" if warm else "recipe")


def _key(name: str, params: dict[str, Param]) -> str:
    return digest([name, params])


def _combinations(recipe: Recipe) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(len(v)) for v in recipe.space.values()))
