"""A/A comparisons on the GPU declared a win: must be none of 200. Both arms are one kernel, loaded anew each time.

    python benchmarks/gpu/aa.py [--n 200] [--effort quick] [--busy 0]

`--busy` processes keep as many processor cores busy meanwhile.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time

from kernellab.build.base import NotBuilt
from kernellab.core.settings import Settings
from kernellab.measure.bench import Arm, Bench
from kernellab.propose.recipe import builtin_candidates, load_recipes
from kernellab.search.lab import Lab
from kernellab.tasks.load import load_task


def burn() -> None:
    while True:
        sum(range(10_000))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--busy", type=int, default=0)
    options = parser.parse_args()
    settings = Settings(effort=options.effort, device="cuda")
    others = [multiprocessing.get_context("spawn").Process(target=burn, daemon=True) for _ in range(options.busy)]
    for other in others:
        other.start()
    task = load_task("softmax", "bf16")
    wins, ratios, widths = 0, [], []
    with Lab(settings, task, task.name, torch=False) as lab:
        stage = lab.stage({"M": 16384, "N": 4096})
        found = [c for c in builtin_candidates(task.name, "cuda") if c.name.startswith("softmax_row_triton")]
        recipe = load_recipes(lab.builder, found)[0][0]
        params = {k: v[0] for k, v in recipe.space.items()}
        built = lab.builder.build(stage.task, recipe.candidate, params, stage.shapes)
        assert not isinstance(built, NotBuilt), built
        started = time.monotonic()
        for _ in range(options.n):
            arms = [Arm(f"arm-{side}", stage.start_worker(built, stage.ring, side), side) for side in (0, 1)]
            timing = Bench(stage.ring, stage.floor, lab.workshop.rig.sample_s).confirm(
                arms[0], arms[1], settings.profile
            )
            for arm in arms:
                arm.worker.close()
            ratios.append(timing.speedup)
            widths.append(timing.speedup_high - timing.speedup_low)
            wins += timing.speedup_low > settings.win_floor
        seconds = time.monotonic() - started
        stage.close()
    for other in others:
        other.kill()
    ratios.sort()
    print(json.dumps({"n": options.n, "wins": wins, "lowest": ratios[0], "highest": ratios[-1], "seconds": seconds,
                      "median_width": sorted(widths)[len(widths) // 2], "effort": options.effort}))  # fmt: skip


if __name__ == "__main__":
    main()
