"""Optuna's tree-structured Parzen estimator as a sampler. Optuna is an extra: it is imported when this sampler is chosen."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from math import log
from typing import Any

from kernellab.core.errors import EnvironmentFault
from kernellab.propose.recipe import Recipe
from kernellab.search.random_tuner import RandomTuner, Warm
from kernellab.search.surrogate import Combination, ordered

_PATIENCE = 10
_WORST = log(0.01)


def need_optuna() -> Any:
    try:
        import optuna
    except ImportError as err:
        raise EnvironmentFault(
            f"the sampler 'tpe' needs Optuna, which cannot be imported ({err})",
            "pip install 'kernellab[optuna]', or use --sampler gp",
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class TpeTuner(RandomTuner):
    """Parameters are known to Optuna by the numbers of their choices."""

    def __init__(self, recipes: Sequence[Recipe], seed: int, warm: Warm) -> None:
        super().__init__(recipes, seed, warm)
        self._optuna = need_optuna()
        self._asked: dict[Combination, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # multivariate and group are marked experimental
            sampler = self._optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, n_startup_trials=8)
        self._study = self._optuna.create_study(direction="maximize", sampler=sampler)

    def _sampled(self, dice: random.Random) -> Combination | None:
        """Any that is new, where the sampler keeps coming back to what was tried."""
        for _ in range(_PATIENCE):
            trial = self._study.ask()
            found = self._suggested(trial)
            if self._new(found):
                self._asked[found] = trial
                return found
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return super()._sampled(dice)

    def _suggested(self, trial: Any) -> Combination:
        number = trial.suggest_categorical("recipe", range(len(self._recipes)))
        picks = [
            trial.suggest_int(label, 0, count - 1) if steps else trial.suggest_categorical(label, range(count))
            for label, count, steps in self._parameters(number)
        ]
        return number, tuple(picks)

    def _learned(self, combination: Combination) -> None:
        """What never ran counts as very slow, so that it is avoided."""
        known = self._known[combination]
        value = _WORST if known is None else known
        asked = self._asked.pop(combination, None)
        if asked is not None:
            self._study.tell(asked, value)
        else:  # a first choice, a random draw, or an earlier life of the run
            self._study.add_trial(self._made(combination, value))

    def _made(self, combination: Combination, value: float) -> Any:
        kinds, (number, picks) = self._optuna.distributions, combination
        params: dict[str, Any] = {"recipe": number}
        spaces: dict[str, Any] = {"recipe": kinds.CategoricalDistribution(range(len(self._recipes)))}
        for (label, count, steps), pick in zip(self._parameters(number), picks, strict=True):
            params[label] = pick
            spaces[label] = (
                kinds.IntDistribution(0, count - 1) if steps else kinds.CategoricalDistribution(range(count))
            )
        return self._optuna.trial.create_trial(params=params, distributions=spaces, value=value)

    def _parameters(self, number: int) -> list[tuple[str, int, bool]]:
        """Of a recipe's parameters: a label, how many choices there are, and whether these have an order."""
        recipe = self._recipes[number]
        return [(f"{recipe.name}.{name}", len(choices), ordered(choices)) for name, choices in recipe.space.items()]
