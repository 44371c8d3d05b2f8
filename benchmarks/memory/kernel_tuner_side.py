"""Runs under an interpreter that has kernel_tuner (not kernellab): replays searches over a cache file in simulation mode.

    python kernel_tuner_side.py CACHE.json FIRST_SEED SEEDS BUDGET STRATEGY [STRATEGY ...]

Prints one JSON object: for each strategy, for each seed, the configurations in the order in which they were first
evaluated. kernel_tuner counts exactly those towards max_fevals; strategies run with their default options. A search that
has not ended after PATIENCE_S of processor time (some circle for ever once a small space is nearly used up) counts with
what it had evaluated by then; how many did is printed.
"""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
import kernel_tuner  # noqa: E402
from kernel_tuner.runners import simulation  # noqa: E402

PATIENCE_S = 5.0


class Stuck(BaseException):
    """No Exception, so that a strategy that catches those does not go on."""


def give_up(*_: object) -> None:
    raise Stuck


class InOrder(dict):  # type: ignore[type-arg]
    """Stands in for the runner's set of visited configurations and remembers their order."""

    def add(self, key: str) -> None:
        self[key] = None


def main() -> None:
    path, first, seeds, budget, *strategies = sys.argv[1:]
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
    signal.signal(signal.SIGVTALRM, give_up)
    for strategy in strategies:
        began, orders, problem, stuck = time.monotonic(), [], "", 0
        for seed in range(int(first), int(first) + int(seeds)):
            np.random.seed(seed)
            import random

            random.seed(seed)
            said = io.StringIO()
            signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE_S)
            try:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    kernel_tuner.tune_kernel(
                        cache["kernel_name"], "void k() {}", 1, [], cache["tune_params"], lang="C", quiet=True,
                        strategy=strategy, strategy_options={"max_fevals": int(budget)}, cache=path, simulation_mode=True,
                        restrictions=cache["klab_restrictions"] or None, seed=seed,
                    )  # fmt: skip
            except Stuck:
                stuck += 1
            except Exception as error:  # noqa: BLE001  a strategy that cannot run here is reported, not hidden
                problem = f"{type(error).__name__}: {error}"[:300]
                break
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            orders.append(list(visited[-1]))
            visited.clear()
        seconds = round(time.monotonic() - began, 1)
        found[strategy] = {"orders": orders, "problem": problem, "stuck": stuck, "seconds": seconds}
    print(json.dumps({"version": getattr(kernel_tuner, "__version__", ""), "strategies": found}))


if __name__ == "__main__":
    main()
