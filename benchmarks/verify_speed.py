"""How long `klab verify` takes, as its user waits for it: a wrong kernel, a right one, the right one again.

    python benchmarks/verify_speed.py [--task softmax] [--shape M=1024,N=1024] [--n 5]

Every round has a home of its own, so that its first call finds nothing that an earlier one kept. The load of the machine is
printed beside the figures. Asked on two quiet cores: 3 s, 5 s and 2 s.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernellab.propose import recipes

NO_LAUNCH = 'SOURCE = "void f(void) {}"\n'


def verify(file: Path, options: argparse.Namespace, place: Path, number: int) -> tuple[float, int]:
    command = [sys.executable, "-m", "kernellab", "verify", str(file), "--task", options.task, "--shape", options.shape]
    command += ["--device", options.device, "--out", str(place / f"run{number}")]
    started = time.perf_counter()
    done = subprocess.run(
        command, env={**os.environ, "KLAB_HOME": str(place / "home")}, capture_output=True, check=False
    )
    return time.perf_counter() - started, done.returncode


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="softmax")
    parser.add_argument("--shape", default="M=1024,N=1024")
    parser.add_argument("--recipe", default="c/softmax_three_pass.py", help="a right kernel, under propose/recipes")
    parser.add_argument(
        "--spoil", nargs=2, default=["/ sum", "/ (sum + 1)"], help="what makes it wrong: text, and its replacement"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--n", type=int, default=5)
    options = parser.parse_args()
    right = (Path(recipes.__file__).parent / options.recipe).read_text()
    assert options.spoil[0] in right, f"{options.recipe} has no '{options.spoil[0]}'"
    took: dict[str, list[float]] = {"no launch()": [], "wrong": [], "right": [], "right, again": []}
    for _ in range(options.n):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            texts = {
                "no launch()": NO_LAUNCH,
                "wrong": right.replace(*options.spoil),
                "right": right,
                "right, again": right,
            }
            for number, (name, text) in enumerate(texts.items()):
                (place / "kernel.py").write_text(text)
                seconds, code = verify(place / "kernel.py", options, place, number)
                assert (code == 0) == name.startswith("right"), f"{name}: exit code {code}"
                took[name].append(seconds)
    load = os.getloadavg()[0]
    for name, seconds in took.items():
        print(
            f"{name}: median {statistics.median(seconds):.2f} s, most {max(seconds):.2f} s of {len(seconds)} (load {load:.1f})"
        )


if __name__ == "__main__":
    main()
