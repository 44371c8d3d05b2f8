"""Warm-started runs on shapes that their origin never saw: the win, and what the carried-over kernels lose untuned.

    klab run softmax --dtype bf16 --shape 24576x2048 ... --warm-start runs/h200/softmax-bf16 --out RUN
    python benchmarks/gpu/held_out.py RUN [RUN...]

For each shape: the confirmed speed-up over the fastest baseline, the best speed-up among kernels that came from the other
run as they were, and the loss of those against the shape's own tuned optimum. Both were paired with the same baseline in
the same run, so their quotient is free of the clock's drift; trials are compared by the lower bounds of their intervals.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from kernellab.ledger.journal import read_entries


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", type=Path)
    for run in parser.parse_args().runs:
        for row in rows(run):
            print(json.dumps(row), flush=True)


def rows(run: Path) -> list[dict[str, Any]]:
    entries = list(read_entries(run))
    trials = [e.body for e in entries if e.kind == "trial"]
    found = []
    for result in (e.body for e in entries if e.kind == "result" and e.body.get("trial") is not None):
        here = [t for t in trials if t["dims"] == result["dims"] and t.get("timing")]
        carried = [t for t in here if t["proposal"]["origin"] == "warm-start"]
        tuned = max(t["timing"]["speedup_low"] for t in here)
        best = max((t["timing"]["speedup_low"] for t in carried), default=None)
        found.append(
            {
                "task": result["task"],
                "dims": result["dims"],
                "speedup": [round(result[k], 3) for k in ("speedup", "speedup_low", "speedup_high")],
                "baseline": result["baseline"],
                "carried": len(carried),
                "best_carried": best and round(best, 3),
                "best_tuned": round(tuned, 3),
                "loss": best and round(1 - best / tuned, 4),
            }
        )
    return found


if __name__ == "__main__":
    main()
