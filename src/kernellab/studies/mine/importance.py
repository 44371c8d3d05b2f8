"""How much of the spread between trials a parameter explains: Optuna's evaluators, for the reader's sense of proportion.

fANOVA needs scikit-learn and is taken where that is installed; PED-ANOVA otherwise. An importance is no test: it is only
ever shown beside an effect that passed one. Optuna is an extra; without it no importance is given, and the effects stand.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from typing import Any

from kernellab.studies.mine.table import Row

_LEAST = 12


def evaluator_name() -> str:
    return "fANOVA" if importlib.util.find_spec("sklearn") else "PED-ANOVA"


def importances(rows: Sequence[Row], name: str) -> dict[str, float]:
    """Of each parameter of one candidate, within its largest arena; empty without Optuna, or with too few trials."""
    if importlib.util.find_spec("optuna") is None:
        return {}
    arenas: dict[object, list[Row]] = {}
    for row in rows:
        if row.name == name:
            arenas.setdefault(row.arena, []).append(row)
    largest = max(arenas.values(), key=len, default=[])
    varied = [p for p in (largest[0].params if largest else {}) if len({str(r.params.get(p)) for r in largest}) > 1]
    if len(largest) < _LEAST or len(varied) < 2 or len({r.score for r in largest}) < 3:
        return {}
    return _evaluate(largest, varied)


def _evaluate(rows: Sequence[Row], varied: Sequence[str]) -> dict[str, float]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kinds: dict[str, Any] = {
        p: optuna.distributions.CategoricalDistribution(sorted({r.params[p] for r in rows}, key=str)) for p in varied
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PED-ANOVA is marked experimental
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
        for row in rows:
            params: dict[str, Any] = {p: row.params[p] for p in varied}
            study.add_trial(optuna.trial.create_trial(params=params, distributions=kinds, value=row.score))
        evaluator: Any = (
            optuna.importance.FanovaImportanceEvaluator(seed=0)
            if evaluator_name() == "fANOVA"
            else optuna.importance.PedAnovaImportanceEvaluator()
        )
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}
