"""How long `klab check` of a module takes: a fresh process each time, wall and processor time.

    python benchmarks/suites/check_speed.py --path DIR_OF_PROBLEMS --tasks 22,26,36 --lab rms_norm-f32,gemv-f32 [--repeat 3]

Processor time counts the command, its sandbox and every job in it; on a machine with other work it is the figure to compare.
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
from dataclasses import asdict, dataclass

from kernellab.tasks.suites.finding import find_suite

LAB = "rms_norm-f32,gemv-f32,layer_norm-f32,swiglu-f32,cumsum-f32"


@dataclass(frozen=True)
class Timed:
    task: str
    wall_s: float
    cpu_s: float
    exit_code: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", default="", help="a folder of problems")
    parser.add_argument("--tasks", default="", help="which of them, as `klab suite check --tasks` takes them")
    parser.add_argument("--lab", default=LAB, help="names of our own suite's tasks, with commas")
    parser.add_argument("--repeat", type=int, default=1)
    asked = parser.parse_args()
    found = find_suite(path=asked.path, tasks=asked.tasks).problems if asked.path else ()
    locators = [*(p.request.file for p in found), *(f"lab:{name}" for name in asked.lab.split(",") if name)]
    rows = [timed(locator) for locator in locators for _ in range(asked.repeat)]
    good = [r for r in rows if r.exit_code == 0]
    print(json.dumps({
        "checks": len(rows), "proved": len(good),
        "median_wall_s": round(statistics.median(r.wall_s for r in good), 2) if good else None,
        "median_cpu_s": round(statistics.median(r.cpu_s for r in good), 2) if good else None,
        "cores": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[0], 1),
    }))  # fmt: skip


def timed(locator: str) -> Timed:
    """In a cache of its own, so that nothing of an earlier check is found."""
    command = [sys.executable, "-c", "from kernellab.cli.entry import main; main()", "check", locator]
    with tempfile.TemporaryDirectory() as cache:
        started = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env={**os.environ, "XDG_CACHE_HOME": cache})  # fmt: skip
        _, status, used = os.wait4(child.pid, 0)
        row = Timed(os.path.basename(locator), round(time.monotonic() - started, 2),
                    round(used.ru_utime + used.ru_stime, 2), os.waitstatus_to_exitcode(status))  # fmt: skip
    child.returncode = row.exit_code
    print(json.dumps(asdict(row)), flush=True)
    return row


if __name__ == "__main__":
    main()
