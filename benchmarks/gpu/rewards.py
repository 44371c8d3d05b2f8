"""Rewards and verdicts on a GPU, in one go of limited length: the service, its replicates, `klab verify`, the gauntlet.

    python benchmarks/gpu/rewards.py FOLDER [--device cuda] [--seconds 530] [--parts service,replicates,verify,module,gauntlet]

The parts run one after the other, each with a time of its own; what one leaves goes to the last. Each writes as it goes on, to the
terminal and to FOLDER/PART.log, so that what was measured before a cut is there. FOLDER/results.jsonl has the figures of all,
FOLDER/results.txt a short table, which is written anew after every part. At the end FOLDER/ledgers.tgz has the ledgers, with
everything they name where that fits into --most-mb. `--device cpu`: the same with few kernels, to see that it works.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SERVICE = str(HERE.parent / "learn" / "service.py")
GAUNTLET = str(HERE.parent / "learn" / "gauntlet.py")
VERIFY = str(HERE.parent / "verify_speed.py")
MODULE = str(HERE / "row_softmax.py") + ":Model"
PARTS = {
    "cuda": {
        "service": (170, [SERVICE, "--only", "throughput,verify", "--batches", "3", "--verify-seconds", "50"]),
        "replicates": (125, [SERVICE, "--only", "replicates", "--tasks", "softmax,stencil3x3", "--seed", "2"]),
        "verify": (90, [VERIFY, "--shape", "M=16384,N=4096", "--recipe", "triton/softmax_row.py", "--only", "right,wrong",
                        "--spoil", "tl.sum(e, axis=0)", "(tl.sum(e, axis=0) + 1)", "--n", "2"]),
        "module": (60, [VERIFY, "--task", MODULE, "--shape", "", "--recipe", "generated", "--only", "right,wrong",
                        "--spoil", "/ v4", "/ (v4 + 1)", "--n", "2"]),
        "gauntlet": (115, [GAUNTLET, "--batch", "24"]),
    },
    "cpu": {
        "service": (150, [SERVICE, "--only", "throughput,verify", "--tasks", "softmax,stencil3x3", "--batch", "4",
                          "--batches", "2", "--same-texts", "2", "--verify-texts", "1", "--fresh-texts", "1"]),
        "replicates": (100, [SERVICE, "--only", "replicates", "--tasks", "softmax", "--kernels", "4", "--services", "2"]),
        "verify": (60, [VERIFY, "--n", "1"]),
        "module": (60, [VERIFY, "--task", MODULE, "--shape", "d0=64,d1=512", "--recipe", "generated", "--only", "right",
                        "--spoil", "/ acc1", "/ (acc1 + 1)", "--n", "1"]),
        "gauntlet": (90, [GAUNTLET, "--sample", "4", "--batch", "2"]),
    },
}  # fmt: skip
"""By device and part: seconds, and what is run."""
LATE_S = 10.0
"""How much longer than its time a part is waited for before it is interrupted, and then before it is ended."""
END_S = 12.0
"""For packing the ledgers."""


class Driver:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.out = options, options.folder
        self.work = Path(tempfile.mkdtemp(prefix="rewards-"))
        self.began = time.monotonic()
        self.figures: list[dict[str, Any]] = []

    def left(self) -> float:
        return self.options.seconds - END_S - (time.monotonic() - self.began)

    def run(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        parts = PARTS[self.options.device]
        wanted = self.options.parts.split(",") if self.options.parts else list(parts)
        for part in wanted:
            share, command = parts[part]
            seconds = self.left() if part == wanted[-1] else min(share, self.left())
            if seconds < 2 * LATE_S:
                self._take(part, {"figure": "part", "status": "no time was left"})
                continue
            self._run_part(part, command, seconds)
            (self.out / "results.txt").write_text(self._table())
        print(self._table(), flush=True)
        self._pack()

    def _run_part(self, part: str, command: list[str], seconds: float) -> None:
        """Ended in three steps: by itself; interrupted, so that it closes what it has open; with all that it started."""
        place = self.work / part
        say = [] if command[0] == VERIFY else ["--out", str(place / "run" if command[0] == GAUNTLET else place)]
        whole = [*command, "--device", self.options.device, "--seconds", f"{seconds - LATE_S:.0f}", *say]
        print(f"\n== {part}: at most {seconds:.0f} s: {' '.join(whole)}", flush=True)
        began = time.monotonic()
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "KLAB_HOME": str(self.work / "home")}
        process = subprocess.Popen(
            [sys.executable, *whole], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=environment, start_new_session=True,
        )  # fmt: skip
        reader = threading.Thread(target=self._read, args=(part, process))
        reader.start()
        status = "ended"
        for late, how in ((seconds, signal.SIGINT), (LATE_S, signal.SIGKILL)):
            try:
                process.wait(late)
                break
            except subprocess.TimeoutExpired:
                status = "interrupted" if how == signal.SIGINT else "killed"
                if how == signal.SIGINT:
                    process.send_signal(how)
                else:
                    os.killpg(process.pid, how)
        process.wait()
        reader.join(LATE_S)
        took = time.monotonic() - began
        self._take(part, {"figure": "part", "status": status, "exit": process.returncode, "seconds": took})

    def _read(self, part: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with (self.out / f"{part}.log").open("w") as log:
            for line in process.stdout:
                print(line, end="", flush=True)
                print(line, end="", file=log, flush=True)
                if line.startswith("{"):
                    self._take(part, json.loads(line))
                elif "rewarded cheats" in line:
                    self._take(part, {"figure": "gauntlet", "told": line.strip()})

    def _take(self, part: str, figure: dict[str, Any]) -> None:
        self.figures.append({"part": part, **figure})
        with (self.out / "results.jsonl").open("a") as file:
            print(json.dumps(self.figures[-1]), file=file, flush=True)

    def _table(self) -> str:
        """Of the gauntlet's counts the last ones."""
        counts = [f for f in self.figures if f["figure"] == "gauntlet"]
        shown = [f for f in self.figures if f not in counts[:-1]]
        return "".join(f"{f['part']:11} {line}\n" for f in shown for line in told(f))

    def _pack(self) -> None:
        """The ledgers alone, where they do not fit with what they name."""
        for whole in (True, False):
            with tarfile.open(self.out / "ledgers.tgz", "w:gz", compresslevel=1) as packed:
                for ledger in sorted(self.work.rglob("ledger.jsonl")):
                    files = [ledger.parent] if whole else sorted(ledger.parent.glob("*.jsonl"))
                    for file in files:
                        packed.add(file, file.relative_to(self.work))
            size = (self.out / "ledgers.tgz").stat().st_size
            print(f"ledgers.tgz: {size >> 10} KiB, {'with all they name' if whole else 'ledgers alone'}", flush=True)
            if size <= self.options.most_mb << 20 or self.left() < -END_S / 2:
                return


def told(figure: dict[str, Any]) -> list[str]:
    """A line of the table, of what belongs there."""
    match figure["figure"]:
        case "set-up":
            return [f"set-up of {len(figure['tasks'])} tasks: {figure['seconds']:.1f} s"]
        case "batch":
            return [
                f"batch of {figure['samples']}: {figure['judged_a_second']:.1f} judged a second, {figure['seconds']:.1f} s"
            ]
        case "throughput":
            return [f"asked 30: {_number(figure['judged_a_second'])} judged a second, {figure['judged']} of "
                    f"{figure['samples']} samples, {figure['cpu_s']:.0f} s of {figure['cores']} cores"]  # fmt: skip
        case "verify":
            return [f"asked 50: verify over service {_number(figure['ratio'])} (task kept open, "
                    f"{len(figure['verify_s'])} calls), {_number(figure['ratio_laboratory_a_call'])} (a laboratory a call, "
                    f"{len(figure['verify_alone_s'])}); {figure['service_s_a_sample']:.4f} s a sample"]  # fmt: skip
        case "replicates" | "replicates so far" as name:
            return [f"{name}: {figure['services']} services, {figure['right']} of {figure['kernels']} right; sd "
                    f"{_number(figure['sd'])} (asked 0.01), ICC {_number(figure['icc'])} (0.999), within tasks "
                    f"{_number(figure['icc_within_tasks'])}, masked {figure['masked']:.3f} (0.05)"]  # fmt: skip
        case "verify-command":
            wrong = f", exit code {figure['exit']}: not as it should be" if "exit" in figure else ""
            return [f"klab verify, {figure['kernel']}: {figure['seconds']:.2f} s{wrong}"]
        case "gauntlet":
            return [figure["told"]]
        case "part":
            took = f" after {figure['seconds']:.0f} s, exit code {figure['exit']}" if "seconds" in figure else ""
            return [f"{figure['status']}{took}"]
    return []


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda", choices=sorted(PARTS))
    parser.add_argument("--seconds", type=float, default=530.0)
    parser.add_argument("--parts", default="")
    parser.add_argument("--most-mb", type=int, default=15)
    options = parser.parse_args()
    if unknown := set(filter(None, options.parts.split(","))) - set(PARTS[options.device]):
        parser.error(f"there is no part {', '.join(unknown)}")
    Driver(options).run()


if __name__ == "__main__":
    main()
