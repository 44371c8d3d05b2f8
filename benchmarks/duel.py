"""Two candidates of one task against each other, as the bench compares a candidate with a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.settings import Effort, Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.stage import Stage
from kernellab.measurement.bench import Arm, Bench
from kernellab.tasks.load import load_task

SAMPLE_S = 0.003
SPIN = Path(__file__).parent / "spin_task.py"


@contextmanager
def open_stage(locator: str, dims: dict[str, int], settings: Settings) -> Any:
    task = load_task(locator)
    with OpenTask(settings, task, locator, torch=False) as opened:
        stage = opened.stage(dims)
        try:
            yield opened, stage
        finally:
            stage.close()


def build(opened: OpenTask, stage: Stage, path: Path, params: dict[str, Any]) -> Any:
    built = opened.builder.build(stage.task, Candidate(path.read_text(), path.stem), params, stage.shapes)
    assert not isinstance(built, NotBuilt), built
    return built


def duel(stage: Stage, first: Any, second: Any, effort: Effort, sample_s: float) -> Any:
    """Fresh processes and other memory for both, as often as a confirmation has; the first's timing against the second."""
    return Bench(stage.ring, stage.floor, sample_s or SAMPLE_S).confirm(_fresh(stage, first, second), effort)


def _fresh(stage: Stage, first: Any, second: Any) -> Iterator[tuple[Arm, Arm]]:
    while True:
        stage.ring.renew()
        with ExitStack() as stack:
            arms = []
            for side, built in enumerate((first, second)):
                worker = stage.start_worker(built, stage.ring, side)
                stack.callback(worker.close)
                arms.append(Arm(f"arm-{side}", worker, side))
            yield arms[0], arms[1]
