"""Recipe search at 25, 50 and 100 trials on the recorded spaces: our tuner, random search and kernel_tuner's strategies.

    python benchmarks/memory/tuners.py --kernel-tuner /path/to/python [--seeds 30] [--first-seed 0] [--strategy NAME ...] [--space FILE ...]

kernel_tuner runs unchanged, in its simulation mode, under an interpreter that has it (`pip install kernellab[kernel-tuner]`
in an environment of its own); without one its rows are left out and that is said. Both sides get the same: every
combination of the space, invalid ones included, which cost a trial; choices in the space's order as numbers. A space of
several recipes is given to kernel_tuner as one flat space whose parameters of other recipes are held at their first choice
by restrictions. What kernel_tuner is not given: that the recipes' authors put their own favourite first. Our tuner starts
with those; the row "blind" is the same tuner with the choices of each parameter turned round by a coin, so that it starts
at a random corner instead.

Left out unless named with --strategy: bayes_opt (over a second of computing for each search) and, since on small spaces with
restrictions they stop after a few trials, fail or never end, dual_annealing, diff_evo and pso. `--strategy none` runs our
side alone; `--tpe` adds our Optuna sampler, which is slow.

P-score (after Willemsen et al., "A methodology for comparing optimization algorithms for auto-tuning"): after each trial
P = (R - f) / (R - best), where f is the time of the best kernel so far and R what random search without replacement has
then on average; the mean over the trials of the budget. 0 is random search, 1 would be the best kernel at once. Time
is counted in trials. Intervals: 95 % bootstrap over seeds, each seed's score being its mean over the spaces.

The tuner was developed with seeds from 1000 on, on softmax_pow2_c.json and stencil3x3_c.json, later particle_filter_c.json
too; softmax_c.json was never used for it. The figure is for seeds 0 to 29 on all four.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from space import Point, Space, bootstrap, point, spaces

from kernellab.measurement.stats import Estimate
from kernellab.propose.base import Idea, TrialOutcome
from kernellab.propose.recipe import Recipe
from kernellab.search.tune import Sampler, make_tuner

BUDGETS = (25, 50, 100)
STRATEGIES = ("random_sample", "genetic_algorithm", "greedy_ils", "greedy_mls", "simulated_annealing", "hybrid_vndx",
              "adaptive_tabu_greywolf")  # fmt: skip
OURS = "kernellab gp"
HERE = Path(__file__).parent


class Score:
    """P-scores on one space, with the exact average course of random search."""

    def __init__(self, space: Space) -> None:
        worst = 1 / min(space.speedups.values())
        self._times = {k: 1 / space.speedups[k] if k in space.speedups else worst for k in space.points}
        self._best = min(self._times.values())
        self._random = _course_of_random(sorted(self._times.values()), max(BUDGETS))
        self._worst = worst

    def of(self, order: Sequence[Point], budget: int) -> float:
        times = [self._times[k] for k in order[:budget]] or [self._worst]
        course = np.minimum.accumulate(np.array(times + [times[-1]] * (budget - len(times))))
        left = self._random[:budget] - self._best
        return float(np.mean((self._random[:budget] - course)[left > 1e-12] / left[left > 1e-12]))


def _course_of_random(ordered: list[float], budget: int) -> np.ndarray:
    """The expected best of t draws without replacement, t = 1 .. budget, exactly."""
    n, values = len(ordered), np.array(ordered)
    course = []
    for t in range(1, min(budget, n) + 1):
        survive = np.ones(n + 1)  # that none of the k best is among the t drawn
        for k in range(1, n + 1):
            survive[k] = survive[k - 1] * max(0, n - t - k + 1) / (n - k + 1)
        course.append(float(((survive[:-1] - survive[1:]) * values).sum()))
    return np.array(course + [course[-1]] * (budget - len(course)))


def timed(idea: Idea, speedup: float | None) -> TrialOutcome:
    """As if it had been timed; None: it could not be built."""
    if speedup is None:
        return TrialOutcome(idea, 0, "build")
    return TrialOutcome(idea, 0, "timing", speedup=Estimate(speedup, speedup, speedup, 1))


def ours(space: Space, sampler: Sampler, seed: int, budget: int, blind: bool = False) -> list[Point]:
    recipes = list(space.recipes.values())
    tuner = make_tuner(turned(recipes, random.Random(seed)) if blind else recipes, sampler, seed)
    order: list[Point] = []
    while len(order) < budget and (asked := tuner.ask(1)):
        (idea,) = asked
        key = point(idea.candidate.name, idea.params)
        order.append(key)
        tuner.tell([timed(idea, space.speedups.get(key))])
    return order


def turned(recipes: Sequence[Recipe], coin: random.Random) -> list[Recipe]:
    """The same spaces without the authors' first choices."""
    return [replace(r, space={k: v[:: coin.choice((1, -1))] for k, v in r.space.items()}) for r in recipes]


def plain_random(space: Space, seed: int, budget: int) -> list[Point]:
    return random.Random(seed).sample(space.points, min(budget, len(space.points)))


def cache_file(space: Space, path: Path) -> dict[str, Point]:
    """The space as kernel_tuner's cache; returns which of its keys is which combination."""
    names = sorted(space.recipes)
    params: dict[str, list[int]] = {"recipe": list(range(len(names)))} if len(names) > 1 else {}
    for number, name in enumerate(names):
        params |= {f"r{number}_{k}": list(range(len(v))) for k, v in space.recipes[name].space.items()}
    restrictions = [
        f"{key} == 0 or recipe == {key.split('_')[0][1:]}" for key in params if key != "recipe" and len(names) > 1
    ]
    entries, keys = {}, {}
    for key in space.points:
        number, given = names.index(key[0]), dict(key[1])
        row = {"recipe": number} if len(names) > 1 else {}
        for name in params:
            if name != "recipe":
                own, _, short = name.partition("_")
                row[name] = space.recipes[key[0]].space[short].index(given[short]) if own == f"r{number}" else 0
        label = ",".join(str(row[n]) for n in params)
        time: Any = 1 / space.speedups[key] if key in space.speedups else "InvalidConfig"
        extra = {"time": time, "times": [time] if key in space.speedups else [], "compile_time": 1.0, "verification_time": 0,
                 "benchmark_time": 1.0, "strategy_time": 0, "framework_time": 0, "timestamp": "2026-01-01 00:00:00+00:00"}  # fmt: skip
        if key not in space.speedups:
            extra["__error__"] = "InvalidConfig"
        entries[label], keys[label] = {**row, **extra}, key
    head = {"device_name": "recorded", "kernel_name": "k", "problem_size": 1, "tune_params_keys": list(params),
            "tune_params": params, "objective": "time", "klab_restrictions": restrictions}  # fmt: skip
    path.write_text(json.dumps({**head, "cache": entries}))
    return keys


def theirs(python: str, space: Space, seeds: range, budget: int, strategies: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache.json"
        keys = cache_file(space, path)
        command = [
            python,
            str(HERE / "kernel_tuner_side.py"),
            str(path),
            str(seeds.start),
            str(len(seeds)),
            str(budget),
        ]
        done = subprocess.run([*command, *strategies], capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        print(f"kernel_tuner could not be run: {done.stderr.strip()[-400:]}", file=sys.stderr)
        return {}
    found = json.loads(done.stdout.splitlines()[-1])["strategies"]
    for name, result in found.items():
        if result["problem"]:
            print(f"kernel_tuner's {name} could not run on {space.label}: {result['problem']}", file=sys.stderr)
        if result["stuck"]:
            print(f"kernel_tuner's {name}: {result['stuck']} searches of {budget} trials on {space.label} did not end")
    return {n: [[keys[k] for k in order] for order in r["orders"]] for n, r in found.items() if not r["problem"]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kernel-tuner", default="", help="a Python interpreter that has kernel_tuner")
    parser.add_argument("--tpe", action="store_true")
    parser.add_argument("--strategy", action="append", default=[])
    parser.add_argument("--space", type=Path, action="append", default=[])
    options = parser.parse_args()
    own: dict[str, Callable[[Space, int, int], list[Point]]] = {
        OURS: lambda space, seed, budget: ours(space, "gp", seed, budget),
        f"{OURS}, blind": lambda space, seed, budget: ours(space, "gp", seed, budget, blind=True),
        "plain random": plain_random,
    }
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.tpe:
        own["kernellab tpe"] = lambda space, seed, budget: ours(space, "tpe", seed, budget)
    table: dict[str, dict[int, list[list[float]]]] = {}
    every = [space for pair in spaces(options.space) for space in pair]
    for space in every:
        score = Score(space)
        for name, search in own.items():
            orders = [search(space, s, max(BUDGETS)) for s in seeds]
            for budget in BUDGETS:
                table.setdefault(name, {}).setdefault(budget, []).append([score.of(o, budget) for o in orders])
        for budget in BUDGETS if options.kernel_tuner and options.strategy != ["none"] else ():
            found = theirs(options.kernel_tuner, space, seeds, budget, options.strategy or STRATEGIES)
            for name, orders in found.items():
                row = table.setdefault(f"kernel_tuner {name}", {}).setdefault(budget, [])
                row.append([score.of(o, budget) for o in orders])
        print(
            f"{space.label}: {len(space.points)} combinations, {len(space.speedups)} of them measured; P-score at 50 trials:"
        )
        print("  " + ", ".join(f"{name} {np.mean(rows[50][-1]):+.3f}" for name, rows in table.items()), flush=True)
    if not options.kernel_tuner:
        print("kernel_tuner was not run: give --kernel-tuner PYTHON")
    _print(table, len(every), options.seeds)


def _print(table: dict[str, dict[int, list[list[float]]]], count: int, seeds: int) -> None:
    print(f"\nP-score, mean over {count} spaces and {seeds} seeds [95 %]")
    whole = {name: rows for name, rows in table.items() if all(len(rows.get(b, [])) == count for b in BUDGETS)}
    for name in sorted({*table} - {*whole}):
        print(f"  {name}: not on every space")
    ranked = sorted(whole, key=lambda name: -float(np.mean([np.mean(r) for r in whole[name].values()])))
    means = {name: {b: np.mean(whole[name][b], axis=0) for b in BUDGETS} for name in ranked}
    for name in ranked:
        _row(name, means[name])
    for own in (OURS, f"{OURS}, blind"):
        print(f"{own} minus each, paired by seed")
        for name in ranked:
            if name != own:
                _row(name, {b: means[own][b] - means[name][b] for b in BUDGETS})


def _row(name: str, values: dict[int, np.ndarray]) -> None:
    cells = {b: bootstrap(list(v)) for b, v in values.items()}
    print(
        f"  {name:36s} " + "   ".join(f"{b}: {m:+.3f} [{low:+.3f}, {high:+.3f}]" for b, (m, low, high) in cells.items())
    )


if __name__ == "__main__":
    main()
