"""MLflow: the server or file that MLFLOW_TRACKING_URI names, or MLflow's own default here."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

from kernellab.track.base import PROJECT, Fact, TrackerKind

_FOREIGN = re.compile(r"[^\w\-. :/]")
"""What MLflow takes in no name: shapes have such."""


class Mlflow:
    def __init__(self) -> None:
        self._client: Any = importlib.import_module("mlflow").MlflowClient()
        self._run = ""

    def begin(self, name: str, facts: Mapping[str, Fact]) -> None:
        known = self._client.get_experiment_by_name(PROJECT)
        experiment = known.experiment_id if known else self._client.create_experiment(PROJECT)
        self._run = self._client.create_run(experiment, run_name=name).info.run_id
        for key, value in facts.items():
            self._client.log_param(self._run, key, value)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        for key, value in figures.items():
            self._client.log_metric(self._run, key, value, step=step)

    def end(self, summary: Mapping[str, Fact]) -> None:
        for key, value in summary.items():
            self._client.set_tag(self._run, _FOREIGN.sub("_", key), str(value))
        self._client.set_terminated(self._run)


TRACKER = TrackerKind("mlflow", "mlflow", "track-mlflow", Mlflow)
