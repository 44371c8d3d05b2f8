"""After a fault: seconds from its detection until the next trial has run. Asked: at most 3.

    python benchmarks/gpu/recovery.py [--n 5]

For each of an illegal address, a trap and an endless loop the faulting kernel is judged, then an honest one at once.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.records import Rejected
from kernellab.core.settings import Settings
from kernellab.search.lab import Lab
from kernellab.tasks.load import load_task

CHEATS = Path(__file__).parents[2] / "tests" / "cheats" / "gpu"
FAULTS = ("cheat_crash_illegal_address", "cheat_crash_trap", "cheat_hang_endless")
HONEST = "honest_warp_rows"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=5)
    options = parser.parse_args()
    task = load_task("softmax")
    figures = {}
    with Lab(Settings(effort="quick", device="cuda"), task, task.name, torch=False) as lab:
        stage = lab.stage({"M": 4096, "N": 1024})
        builds = {}
        for name in (*FAULTS, HONEST):
            candidate = Candidate((CHEATS / f"{name}.py").read_text(), name)
            builds[name] = lab.builder.build(stage.task, candidate, {}, stage.shapes)
            assert not isinstance(builds[name], NotBuilt), builds[name]
        for name in FAULTS:
            seconds = []
            for _ in range(options.n):
                verdict = stage.verify(builds[name])
                detected = time.monotonic()
                assert isinstance(verdict, Rejected), verdict
                again = stage.verify(builds[HONEST])
                assert again.status == "passed", again
                seconds.append(time.monotonic() - detected)
            figures[name] = {"cause": verdict.cause, "seconds": sorted(seconds)}
        stage.close()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
