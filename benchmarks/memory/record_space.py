"""Measure every combination of a few C recipes of one small task at two adjacent shapes, and keep what came out.

    python benchmarks/memory/record_space.py [--task stencil3x3] [--recipe NAME ...] [--shape H=256,W=256,C=1 ...]

The loop's own steps (build, verify, measure, record in a ledger) with the exhaustive sampler at quick effort on the
processor; confirmations are left out, since a space to simulate on makes no claims. The file holds each combination's
status, interval and raw paired samples (four digits), so that a simulation can rebuild real trial records from it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from kernellab.core.hardware import cpu_model
from kernellab.core.records import DuplicateTrial, FailedTrial, MeasuredTrial, RejectedTrial
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.propose.recipe import Recipe, builtin_candidates, load_recipes
from kernellab.search.ahead import Ahead
from kernellab.search.archive import AnyTrial
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import build, step
from kernellab.search.tune import make_tuner
from kernellab.tasks.load import load_task

HERE = Path(__file__).parent
SHAPES = {"stencil3x3": ("H=256,W=256,C=1", "H=256,W=512,C=1"), "softmax": ("M=256,N=512", "M=256,N=768")}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="stencil3x3")
    parser.add_argument("--recipe", action="append", default=[])
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--sample-s", type=float, default=0.001, help="short: few are preempted")
    parser.add_argument("--seconds", type=float, default=340.0, help="stop here, even if combinations are left")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or HERE / "spaces" / f"{options.task}_c.json"
    shapes = [_dims(text) for text in options.shape or SHAPES[options.task]]
    settings = Settings(effort="quick", device="cpu", sampler="exhaustive", sample_s=options.sample_s)
    candidates = [c for c in builtin_candidates(options.task) if not options.recipe or c.name in options.recipe]
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory() as folder,
        OpenTask(settings, load_task(options.task), options.task) as opened,
        ExperimentRun.start(opened, Path(folder) / "run", shapes, candidates, "benchmark") as run,
    ):
        recipes, _ = load_recipes(run.opened.builder, candidates)
        kept = [_shape(run, recipes, dims, options.seconds / len(shapes)) for dims in shapes]
        body = {"header": _header(run, options.task, load, settings), "recipes": [_recipe(r) for r in recipes]}
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = json.dumps({**body, "shapes": kept}, separators=(",", ":")).replace('{"recipe"', '\n{"recipe"')
    out.write_text(lines + "\n")
    print(f"{sum(len(s['trials']) for s in kept)} combinations in {out} ({out.stat().st_size >> 10} KiB)")


def _shape(run: ExperimentRun, recipes: list[Recipe], dims: dict[str, int], seconds: float) -> dict[str, Any]:
    stage, trials, deadline = run.stage(dims), [], time.monotonic() + seconds
    tuner = make_tuner(recipes, "exhaustive", run.settings.seed)
    left = sum(r.size for r in recipes)
    try:
        with Ahead(tuner, partial(build, run, stage), run.opened.device.build_jobs) as ahead:
            while time.monotonic() < deadline and (found := ahead.next(left)) is not None:
                trials.append(step(run, stage, found[0]))
                left -= 1
                if len(trials) % 50 == 0:
                    print(f"{stage.label()}: {len(trials)} done, {left} left", flush=True)
    finally:
        stage.close()
    return {"dims": dims, "noise_floor": stage.calibration.noise_floor, "baseline": stage.baseline,
            "floor_s": stage.floor.seconds, "memory_floor_s": stage.floor.memory_s, "left_out": left,
            "trials": [_row(t, run) for t in trials]}  # fmt: skip


def _row(trial: AnyTrial, run: ExperimentRun) -> dict[str, Any]:
    row: dict[str, Any] = {"recipe": trial.proposal.name, "params": trial.proposal.params, "status": trial.status}
    if isinstance(trial, FailedTrial):
        return {**row, "reason": trial.reason}
    if isinstance(trial, RejectedTrial):
        return {**row, "cause": trial.verdict.cause, "reason": trial.verdict.reason}
    row["resources"] = trial.artifact.resources
    if isinstance(trial, DuplicateTrial):
        twin = run.archive.trials[trial.of].proposal
        return {**row, "of": {"recipe": twin.name, "params": twin.params}}
    assert isinstance(trial, MeasuredTrial)
    timing = trial.timing
    figures = {"speedup": timing.speedup, "low": timing.speedup_low, "high": timing.speedup_high}
    samples = {"candidate_us": timing.candidate_s, "baseline_us": timing.baseline_s}
    return {**row, **{k: _short(v) for k, v in figures.items()},
            **{k: [_short(v * 1e6) for v in values] for k, values in samples.items()}}  # fmt: skip


def _recipe(recipe: Recipe) -> dict[str, Any]:
    return {"name": recipe.name, "space": recipe.space, "why": recipe.why}


def _header(run: ExperimentRun, task: str, load: float, settings: Settings) -> dict[str, Any]:
    return {
        "what": "every combination, measured once, in an order shuffled by the seed",
        "caution": "measured on a shared, noisy machine: a space to simulate searches on, not a claim about kernels",
        "task": task,
        "processor": cpu_model(),
        "compiler_environment": run.opened.environment["digest"],
        "load_average_at_start": round(load, 2),
        "cores": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "settings": {"effort": settings.effort, "sample_s": settings.sample_s, "threads": settings.threads},
    }


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _dims(text: str) -> dict[str, int]:
    return {k: int(v) for k, v in (pair.split("=") for pair in text.split(","))}


if __name__ == "__main__":
    main()
