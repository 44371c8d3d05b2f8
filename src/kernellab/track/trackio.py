"""trackio: SQLite files on this machine, under TRACKIO_DIR or trackio's own folder; `trackio show` is its page."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from kernellab.track.base import PROJECT, Fact, TrackerKind


class Trackio:
    def __init__(self) -> None:
        self._package: Any = importlib.import_module("trackio")
        self._run: Any = None

    def begin(self, name: str, facts: Mapping[str, Fact]) -> None:
        """Without the threads that watch the machine: they would run beside what is timed."""
        self._run = self._package.init(
            project=PROJECT, name=name, config=dict(facts), embed=False, auto_log_gpu=False, auto_log_cpu=False
        )

    def log(self, figures: Mapping[str, float], step: int) -> None:
        self._run.log(dict(figures), step=step)

    def end(self, summary: Mapping[str, Fact]) -> None:
        """It has no summary: the last figures say it."""
        self._package.finish()


TRACKER = TrackerKind("trackio", "trackio", "track-trackio", Trackio)
