"""kill -9 at 50 random moments of one run, resumed each time: no committed entry lost, no audit failed.

    python benchmarks/kill_resume.py [--kills 50]

A run of softmax 256x256 is started, killed with its whole process tree of confined jobs, audited, resumed, killed again ...
An entry counts as committed once its line is complete in ledger.jsonl.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernellab.report.audit import audit


def committed(folder: Path) -> list[bytes]:
    try:
        return (folder / "ledger.jsonl").read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    klab = [sys.executable, "-m", "kernellab.cli.app"]
    lost = failed = kills = trials = 0
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "run"
        start = [
            *klab,
            "run",
            "softmax",
            "--shape",
            "256x256",
            "--effort",
            "quick",
            "--trials",
            "400",
            "--out",
            str(folder),
            "--json",
        ]
        while kills < options.kills:
            before = committed(folder)
            command = [*klab, "resume", str(folder), "--json"] if before else start
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            wait = dice.uniform(0.3, 9.0)
            try:
                process.wait(wait)
                ended = True
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                ended = False
            _, errors = process.communicate()
            after = committed(folder)
            lost += sum(1 for a, b in zip(before, after, strict=False) if a != b) + max(0, len(before) - len(after))
            if ended:
                if process.returncode not in (0, 3, 4):
                    failed += 1
                    print(f"ended by itself with {process.returncode}: {errors.decode()[-300:]}")
                else:
                    print(f"the run completed after {kills} kills; continuing it with more trials")
                    start = [*klab, "resume", str(folder), "--more", "400", "--json"]
                continue
            kills += 1
            if after:
                report = audit(folder)
                problems = [p for p in report.problems if "head" not in p or "missing" not in p]
                failed += bool(problems)
                for problem in problems:
                    print(f"kill {kills} after {wait:.2f} s: {problem}")
        final = subprocess.run(
            [*klab, "resume", str(folder), "--json"], stdout=subprocess.PIPE, timeout=600, check=False
        )
        report = audit(folder)
        trials = report.trials
        failed += bool(report.problems)
        lost += sum(1 for a, b in zip(after, committed(folder), strict=False) if a != b)
    print(
        f"kill -9 at {kills} random moments: {lost} committed entries lost, {failed} audits or resumes failed; "
        f"the run then ended with code {final.returncode}, {trials} trials, root {report.root[:16]}; {time.process_time():.0f} s of our own time"
    )


if __name__ == "__main__":
    main()
