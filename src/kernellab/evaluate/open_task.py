"""A task opened on a device: what trials of it are asked with, and what is ready for them. It writes nothing anywhere.

Verdicts and timings that belong to no run (the gauntlet, rechecks, replays) need only this; a run in a folder has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from kernellab.build.base import Builder, Built, Candidate, NotBuilt
from kernellab.core.events import Event, Listener, silent
from kernellab.core.records import Dims, Param, Trust
from kernellab.core.settings import Settings
from kernellab.core.time_words import time_words
from kernellab.evaluate.evaluator import LocalEvaluator
from kernellab.evaluate.request import Place, TrialRecord, TrialRequest
from kernellab.evaluate.stage import Stage
from kernellab.ledger import kinds
from kernellab.targets.base import platform
from kernellab.targets.choose import AUTO, processor
from kernellab.tasks.spec import Task


class OpenTask:
    """`torch`: whether torch's baselines are opened too. `evaluator`: one that other tasks share, on the device of the
    settings; all of them are closed with it. Use as a context manager."""

    def __init__(
        self, settings: Settings, task: Task, locator: str, emit: Listener = silent, torch: bool = True,
        evaluator: LocalEvaluator | None = None,
    ) -> None:  # fmt: skip
        if settings.device == AUTO:
            settings = settings.model_copy(update={"device": processor().kind})
        self.settings = settings
        self.task = task = task.on(settings.device)
        self.locator = locator
        self.emit = emit
        self.platform = platform(settings.device)
        self.evaluator = evaluator or LocalEvaluator(settings, emit)
        self.device = self.evaluator.open(task, locator, torch)
        self._fingerprint, self._torch = task.fingerprint(), torch

    @property
    def builder(self) -> Builder:
        return self.device.builder

    @property
    def environment(self) -> dict[str, Any]:
        return self.device.environment

    @property
    def tier(self) -> str:
        return self.device.sandbox.tier

    @property
    def trust(self) -> Trust:
        return self.device.rig.device.trust

    def listen(self, emit: Listener) -> None:
        """Tell somebody else from now on."""
        self.emit = emit
        self.evaluator.listen(emit)

    def move(self, locator: str) -> None:
        """The task's file is read here from now on."""
        self.locator = locator
        self.evaluator.open(self.task, locator, self._torch)

    def request(self, dims: Dims, candidate: Candidate, params: Mapping[str, Param], **asked: Any) -> TrialRequest:
        """A trial of this task on its device; `asked` are the other fields."""
        return TrialRequest(
            task=self.locator,
            fingerprint=self._fingerprint,
            place=Place.of(self.settings),
            dims=dims,
            source=candidate.text,
            name=candidate.name,
            params=dict(params),
            torch=self._torch,
            **{"effort": self.settings.profile, **asked},
        )

    def build(self, dims: Dims, candidate: Candidate, params: Mapping[str, Param], **asked: Any) -> Built | NotBuilt:
        """Build the idea ahead of its trial at this shape, or of another request (`asked`: its other fields)."""
        return self.evaluator.build(self.request(dims, candidate, params, **asked))

    def evaluate(self, request: TrialRequest) -> TrialRecord:
        return self.evaluator.evaluate(request)

    def stage(self, dims: Dims) -> Stage:
        """Set up one shape and say what was measured of it."""
        stage = self.evaluator.stage(self.request(dims, Candidate("", ""), {}))
        floor = stage.floor
        self.emit(Event("calibration", (
            f"fastest baseline {stage.baseline}; floor {time_words(floor.seconds)} ({floor.bound}); "
            f"copy {stage.ceilings.copy / 1e9:.1f} GB/s; noise {stage.calibration.noise_floor * 100:.2f} %"),
            kinds.CALIBRATION.plain(stage.calibration)))  # fmt: skip
        return stage

    def wait_for_quiet(self) -> None:
        self.evaluator.wait_for_quiet(self.device)

    def close(self) -> None:
        self.evaluator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
