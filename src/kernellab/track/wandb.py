"""Weights & Biases: as its own settings say (WANDB_API_KEY; WANDB_MODE=offline keeps everything here)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from kernellab.track.base import PROJECT, Fact, TrackerKind


class Wandb:
    def __init__(self) -> None:
        self._package: Any = importlib.import_module("wandb")
        self._run: Any = None

    def begin(self, name: str, facts: Mapping[str, Fact]) -> None:
        self._run = self._package.init(project=PROJECT, name=name, config=dict(facts))

    def log(self, figures: Mapping[str, float], step: int) -> None:
        self._run.log(dict(figures), step=step)

    def end(self, summary: Mapping[str, Fact]) -> None:
        self._run.summary.update(dict(summary))
        self._run.finish()


TRACKER = TrackerKind("wandb", "wandb", "track-wandb", Wandb)
