"""Runs under an interpreter that has kernel_tuner (not kernellab): replays searches over a cache file in simulation mode.

    python kernel_tuner_side.py CACHE.json SEEDS BUDGET STRATEGY [STRATEGY ...]

Prints one JSON object: for each strategy, for each seed, the configurations in the order in which they were first
evaluated. kernel_tuner counts exactly those towards max_fevals; strategies run with their default options.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
import kernel_tuner  # noqa: E402
from kernel_tuner.runners import simulation  # noqa: E402


class InOrder(dict):  # type: ignore[type-arg]
    """Stands in for the runner's set of visited configurations and remembers their order."""

    def add(self, key: str) -> None:
        self[key] = None


def main() -> None:
    path, seeds, budget, *strategies = sys.argv[1:]
    with open(path) as file:
        cache = json.load(file)
    visited: list[InOrder] = []
    original = simulation.SimulationRunner.__init__

    def patched(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        original(self, *args, **kwargs)
        self.visited_results = InOrder()
        visited.append(self.visited_results)

    simulation.SimulationRunner.__init__ = patched
    found: dict[str, object] = {}
    for strategy in strategies:
        began, orders, problem = time.monotonic(), [], ""
        for seed in range(int(seeds)):
            np.random.seed(seed)
            import random

            random.seed(seed)
            said = io.StringIO()
            try:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    kernel_tuner.tune_kernel(
                        cache["kernel_name"], "void k() {}", 1, [], cache["tune_params"], lang="C", quiet=True,
                        strategy=strategy, strategy_options={"max_fevals": int(budget)}, cache=path, simulation_mode=True,
                        restrictions=cache["klab_restrictions"] or None, seed=seed,
                    )  # fmt: skip
            except Exception as error:  # noqa: BLE001  a strategy that cannot run here is reported, not hidden
                problem = f"{type(error).__name__}: {error}"[:300]
                break
            orders.append(list(visited[-1]))
            visited.clear()
        found[strategy] = {"orders": orders, "problem": problem, "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps({"version": getattr(kernel_tuner, "__version__", ""), "strategies": found}))


if __name__ == "__main__":
    main()
