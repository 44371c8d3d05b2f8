"""How far a run passes its budget: calls, tokens, dollars, with several questions in flight.

    python benchmarks/scientist/budget.py [--in-flight 4]

A scripted model (real HTTP on loopback) charges what it likes: as much as was set aside at most, or ten times the estimate of the
input, which nobody can foresee. Asked: an overshoot of at most one call in flight per worker. Failed calls count.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.model_server import Error, ModelServer  # noqa: E402
from tests.support.scripted_scientist import Scripted  # noqa: E402
from tests.unit.search.scientist.runs import bodies, run  # noqa: E402

CASES: dict[str, tuple[dict[str, Any], tuple[int, int], bool]] = {
    "12 calls": ({"budget_calls": 12}, (1000, 200), False),
    "12 calls, every third fails": ({"budget_calls": 12}, (1000, 200), True),
    "60,000 tokens, charged as estimated": ({"budget_tokens": 60_000, "max_tokens": 1000}, (2000, 1000), False),
    "60,000 tokens, charged far above": ({"budget_tokens": 60_000, "max_tokens": 1000}, (25_000, 1000), False),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--in-flight", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ |= {"KLAB_HOME": name, "XDG_CONFIG_HOME": name}
        for number, (label, case) in enumerate(CASES.items()):
            row = measure(Path(name) / str(number), options.in_flight, *case)
            print(json.dumps({"budget": label, **row}), flush=True)


def measure(
    folder: Path, in_flight: int, science: dict[str, Any], usage: tuple[int, int], failing: bool
) -> dict[str, Any]:
    def every_third(number: int, prompt: str) -> Error | None:
        return Error(400, "not this time") if failing and number % 3 == 2 else None

    with ModelServer(Scripted({"write": every_third}, usage), lifetime_s=600) as server:
        outcome = run(folder, server.url, trials=60, experiments=in_flight, tune=1, **science)
    spent = outcome.extras["model"]
    limit = science.get("budget_calls") or science["budget_tokens"]
    used = spent["calls"] if "budget_calls" in science else spent["tokens_in"] + spent["tokens_out"]
    one = 1 if "budget_calls" in science else sum(usage)
    return {
        "used": used, "limit": limit, "over": max(0, used - limit), "one call": one,
        "calls over": round(max(0, used - limit) / one, 2), "failed": spent["failed"], "server saw": server.calls,
        "trials": len(bodies(folder, "trial")),
    }  # fmt: skip


if __name__ == "__main__":
    main()
