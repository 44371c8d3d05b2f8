"""How long `klab verify` takes, as its user waits for it: a wrong kernel, a right one, the right one again.

    python benchmarks/verify_speed.py [--task softmax] [--shape M=1024,N=1024] [--n 5]
    python benchmarks/verify_speed.py --device cuda --shape M=16384,N=4096 --recipe triton/softmax_row.py \\
        --spoil "tl.sum(e, axis=0)" "(tl.sum(e, axis=0) + 1)" --only wrong,right --n 2 --seconds 110
    python benchmarks/verify_speed.py --device cuda --task benchmarks/gpu/row_softmax.py:Model --recipe generated \\
        --shape "" --spoil "/ v4" "/ (v4 + 1)" --only wrong,right --n 2 --seconds 60

Every round has a home of its own, so that its first call finds nothing that an earlier one kept. A JSON line a call, as it
ends; then the medians, with the load of the machine beside them. `--seconds`: a call is not begun if its like took longer than what is left.
Asked on two quiet cores: 3 s, 5 s and 2 s; of a right kernel at 16384x4096 on one H200: 8 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernellab.propose import recipes
from kernellab.propose.generated import generated_candidates
from kernellab.tasks.load import load_task

NO_LAUNCH = 'SOURCE = "void f(void) {}"\n'
GENERATED = "generated"


def verify(file: Path, options: argparse.Namespace, place: Path, number: int) -> tuple[float, int, str]:
    """Seconds, exit code, and the end of what it said."""
    command = [sys.executable, "-m", "kernellab", "verify", str(file), "--task", options.task]
    command += ["--shape", options.shape] if options.shape else []
    command += ["--device", options.device, "--out", str(place / f"run{number}")]
    started = time.perf_counter()
    done = subprocess.run(
        command, env={**os.environ, "KLAB_HOME": str(place / "home")}, capture_output=True, text=True, check=False
    )
    return time.perf_counter() - started, done.returncode, (done.stdout + done.stderr)[-500:]


def right_kernel(options: argparse.Namespace) -> str:
    if options.recipe != GENERATED:
        return (Path(recipes.__file__).parent / options.recipe).read_text()
    return generated_candidates(load_task(options.task).on(options.device), options.device).candidates[0].text


def told(took: dict[str, list[float]]) -> None:
    load = os.getloadavg()[0]
    for name, seconds in took.items():
        middle = f"median {statistics.median(seconds):.2f} s, most {max(seconds):.2f} s of" if seconds else "of"
        print(f"{name}: {middle} {len(seconds)} (load {load:.1f})", flush=True)


def main() -> None:
    options = _options()
    began = time.perf_counter()
    right = right_kernel(options)
    assert options.spoil[0] in right, f"{options.recipe} has no '{options.spoil[0]}'"
    texts = {
        "no launch()": NO_LAUNCH,
        "wrong": right.replace(*options.spoil),
        "right": right,
        "right, again": right,
    }
    names = [name for name in texts if name in options.only.split(",")] if options.only else list(texts)
    took: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(options.n):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            for number, name in enumerate(names):
                left = options.seconds - (time.perf_counter() - began)
                if left < max(took[name], default=0.0):
                    continue
                (place / "kernel.py").write_text(texts[name])
                seconds, code, said = verify(place / "kernel.py", options, place, number)
                line = {"figure": "verify-command", "task": options.task, "kernel": name, "seconds": seconds}
                as_it_should = (code == 0) == name.startswith("right")
                print(json.dumps(line if as_it_should else {**line, "exit": code, "said": said}), flush=True)
                if as_it_should:
                    took[name].append(seconds)
    told(took)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="softmax")
    parser.add_argument("--shape", default="M=1024,N=1024", help="'': the one that verify takes by itself")
    parser.add_argument(
        "--recipe", default="c/softmax_three_pass.py",
        help=f"a right kernel, under propose/recipes; or '{GENERATED}': from the graph of the task",
    )  # fmt: skip
    parser.add_argument(
        "--spoil", nargs=2, default=["/ sum", "/ (sum + 1)"], help="what makes it wrong: text, and its replacement"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="of: no launch(), wrong, right; between commas")
    parser.add_argument("--n", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
