"""Verified trials a second over a thousand Triton variants, sandbox and ledger on. Asked: 30.

    python benchmarks/gpu/throughput.py [--trials 1000] [--dtype bf16] [--shape 16384x4096]

A trial counts when its machine code was built in the sandbox and judged (measured, rejected, or found equal to one that
was). Combinations that launch() refuses are not counted. The clock runs from the first trial to the last.
"""

from __future__ import annotations

import argparse
import collections
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from kernellab.core.events import Event
from kernellab.core.settings import Settings
from kernellab.propose.recipe import load_recipes, read_candidate
from kernellab.search.lab import Budget, Lab
from kernellab.search.loop import search_shape
from kernellab.search.tune import make_tuner
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import parse_dims

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--shape", default="16384x4096")
    options = parser.parse_args()
    settings = Settings(effort="quick", device="cuda", sampler="exhaustive", cache=False, trials=options.trials)
    task = load_task("softmax", options.dtype)
    moments: list[tuple[float, str]] = []

    def listen(event: Event) -> None:
        if event.kind == "trial":
            moments.append((time.monotonic(), event.data["trial"].status))

    candidate = read_candidate(HERE / "softmax_wide.py")
    with tempfile.TemporaryDirectory() as folder, Lab(settings, task, task.name, listen, torch=False) as lab:
        dims = parse_dims(options.shape, lab.task)
        recipes, unusable = load_recipes(lab.builder, [candidate])
        assert recipes, unusable
        lab.begin(Path(folder) / "run", [dims], [candidate], "search")
        stage = lab.stage(dims)
        started = time.monotonic()
        try:
            search_shape(lab, stage, make_tuner(recipes, "exhaustive", 0), Budget(options.trials, 0))
        finally:
            stage.close()
    report(started, moments)


def report(started: float, moments: list[tuple[float, str]]) -> None:
    counts: dict[str, Any] = dict(collections.Counter(status for _, status in moments))
    judged = [t for t, status in moments if status in ("measured", "rejected", "duplicate")]
    seconds = judged[-1] - started
    halves = [sum(1 for t in judged if t - started <= seconds / 2), sum(1 for t in judged if t - started > seconds / 2)]
    figures = {"trials": counts, "judged": len(judged), "seconds": seconds, "judged_a_second": len(judged) / seconds,
               "measured_a_second": counts.get("measured", 0) / seconds,
               "halves_a_second": [2 * h / seconds for h in halves]}  # fmt: skip
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
