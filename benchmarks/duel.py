"""Two candidates of one task against each other, as the bench compares a candidate with a baseline."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.settings import Effort, Settings
from kernellab.measure.bench import Arm, Bench
from kernellab.search.lab import Lab
from kernellab.search.stage import Stage
from kernellab.tasks.load import load_task

SPIN = Path(__file__).parent / "spin_task.py"


@contextmanager
def open_stage(locator: str, dims: dict[str, int], settings: Settings) -> Any:
    task = load_task(locator)
    with Lab(settings, task, locator, torch=False) as lab:
        stage = lab.stage(dims)
        try:
            yield lab, stage
        finally:
            stage.close()


def build(lab: Lab, stage: Stage, path: Path, params: dict[str, Any]) -> Any:
    built = lab.builder.build(stage.task, Candidate(path.read_text(), path.stem), params, stage.shapes)
    assert not isinstance(built, NotBuilt), built
    return built


def duel(stage: Stage, first: Any, second: Any, effort: Effort, sample_s: float) -> Any:
    """Fresh processes for both; returns the confirmation's timing of the first against the second."""
    arms = [
        Arm(f"arm-{side}", stage.start_worker(built, stage.ring, side), side)
        for side, built in enumerate((first, second))
    ]
    try:
        return Bench(stage.ring, stage.floor, sample_s).confirm(arms[0], arms[1], effort)
    finally:
        for arm in arms:
            arm.worker.close()
