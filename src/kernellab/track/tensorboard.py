"""TensorBoard: event files in klab-track/tensorboard (or KLAB_TENSORBOARD_DIR), by its own writer; no TensorFlow."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernellab.track.base import Fact, TrackerKind

VARIABLE = "KLAB_TENSORBOARD_DIR"


class TensorBoard:
    def __init__(self) -> None:
        self._writers: Any = importlib.import_module("tensorboard.summary.writer.event_file_writer")
        self._events: Any = importlib.import_module("tensorboard.compat.proto.event_pb2")
        self._writer: Any = None

    def begin(self, name: str, facts: Mapping[str, Fact]) -> None:
        folder = Path(os.environ.get(VARIABLE, "klab-track/tensorboard")) / name
        self._writer = self._writers.EventFileWriter(str(folder))

    def log(self, figures: Mapping[str, float], step: int) -> None:
        event = self._events.Event(step=step, wall_time=time.time())
        for name, value in figures.items():
            event.summary.value.add(tag=name, simple_value=value)
        self._writer.add_event(event)

    def end(self, summary: Mapping[str, Fact]) -> None:
        """It has no summary: the last figures say it."""
        self._writer.close()


TRACKER = TrackerKind("tensorboard", "tensorboard", "track-tensorboard", TensorBoard)
