"""What a verified, measured trial costs beyond compiling and running kernels; and the confined start-up of a job.

    python benchmarks/trial_cost.py [--n 40]

Trials of softmax 512x512 at quick effort, recorded in a real ledger. Cost = wall time of the built candidate's trial minus
every second in which a kernel or a baseline ran under the clock.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from kernellab.core.records import MeasuredTrial
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.propose.recipe import builtin_candidates, load_recipes
from kernellab.run.worker import ClockedProcess
from kernellab.sandbox.limits import Limits
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import build, step
from kernellab.search.tune import make_tuner
from kernellab.tasks.load import load_task


def _count(clocked: list[float]) -> None:
    """Add up what commands take by the laboratory's clock."""
    original = ClockedProcess.command

    def counted(self, calls, timeout_s):  # type: ignore[no-untyped-def]
        lap = original(self, calls, timeout_s)
        clocked[0] += lap.seconds
        return lap

    ClockedProcess.command = counted  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=40)
    options = parser.parse_args()
    clocked = [0.0]
    _count(clocked)
    task = load_task("softmax")
    costs, raced = [], 0
    candidates, shapes = builtin_candidates("softmax"), [{"M": 512, "N": 512}]
    with (
        tempfile.TemporaryDirectory() as folder,
        OpenTask(Settings(effort="quick"), task, "softmax", torch=False) as opened,
        ExperimentRun.start(opened, Path(folder) / "run", shapes, candidates, "benchmark") as run,
    ):
        starts = []
        for _ in range(50):
            began = time.perf_counter()
            job = opened.device.sandbox.spawn("kernellab.build.compile_job:nothing", "run", Limits(memory=8 << 30), [])
            job.wait()
            starts.append(time.perf_counter() - began)
            job.close()
        stage = run.stage(shapes[0])
        recipes, _ = load_recipes(opened.builder, candidates)
        tuner = make_tuner(recipes, "random", 0)
        while len(costs) < options.n:
            (idea,) = tuner.ask(1)
            clocked[0] = 0.0
            build(run, stage, idea)
            began = time.perf_counter()
            trial = step(run, stage, idea)
            wall = time.perf_counter() - began
            if isinstance(trial, MeasuredTrial):
                costs.append(wall - clocked[0])
                raced += trial.timing.stopped == "raced"
        stage.close()
    costs.sort()
    print(
        f"confined start to end of an empty job: median {statistics.median(starts) * 1e3:.1f} ms, worst {max(starts) * 1e3:.1f} ms"
    )
    print(
        f"a verified, measured, recorded trial beyond compile and kernel time: median {statistics.median(costs) * 1e3:.0f} ms, "
        f"90 % below {costs[int(0.9 * len(costs))] * 1e3:.0f} ms ({options.n} trials, {raced} raced)"
    )


if __name__ == "__main__":
    main()
