"""One kernel confirmed in separate runs: how often does its 95 % interval cover the median of all?

    python benchmarks/coverage.py [--n 20] [--task softmax] [--shape 512x512] [--effort quick] [--out FOLDER]

Every run is a `klab bench` of its own: another process, other ceilings, other inputs, other memory. Runs that say "busy"
claim nothing and are repeated, at most as many again. The kernel is a built-in recipe with its first parameters.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import kernellab.propose.recipes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--task", default="softmax")
    parser.add_argument("--shape", default="512x512")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--recipe", default="c/softmax_online.py")
    options = parser.parse_args()
    recipe = Path(next(iter(kernellab.propose.recipes.__path__))) / options.recipe
    klab = str(Path(sys.executable).with_name("klab"))
    found: list[dict[str, float]] = []
    busy = 0
    with tempfile.TemporaryDirectory() as folder:
        while len(found) < options.n and busy < options.n:
            command = [klab, "bench", str(recipe), "--task", options.task, "--shape", options.shape, "--effort",
                       options.effort, "--out", f"{folder}/{len(found)}-{busy}", "--json"]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            result = json.loads(done.stdout.splitlines()[-1])
            if result["status"] == "busy":
                busy += 1
                continue
            found.append(result)
            print(f"{len(found)}: {result['speedup']:.4f} [{result['speedup_low']:.4f}, {result['speedup_high']:.4f}] "
                  f"of {result['baseline']}", flush=True)  # fmt: skip
    middle = statistics.median(r["speedup"] for r in found)
    covered = sum(r["speedup_low"] <= middle <= r["speedup_high"] for r in found)
    widths = sorted(r["speedup_high"] - r["speedup_low"] for r in found)
    print(f"{covered} of {len(found)} intervals cover the median {middle:.4f} of all; median width "
          f"{widths[len(widths) // 2]:.4f}; {busy} runs found the machine busy")  # fmt: skip


if __name__ == "__main__":
    main()
