"""A run with a model, cut at random moments by kill -9 and resumed each time: is anything paid twice, lost or out of order?

    python benchmarks/scientist/cuts.py [--cuts 30] [--seed 0]

A scripted model server (real HTTP on loopback) counts what it was asked, word for word, and which replies it sent whole.
Figures: calls asked again although their reply was on record (paid twice), calls asked again because the cut fell between
question and record (in doubt: nobody can know), trials lost (numbers missing or repeated), and whether the ledger's order of
generations, experiments and trials is that of a run that was never cut. The audit must pass at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.conftest import TASK_FILE  # noqa: E402
from tests.support.model_server import ModelServer  # noqa: E402
from tests.support.scripted_scientist import Scripted  # noqa: E402

from kernellab.ledger.journal import read_entries  # noqa: E402

TRIALS = 60


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuts", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cube.py").write_text(TASK_FILE.replace('tune=({"N": 65536}, {"N": 32768})', 'tune=({"N": 32768},)'))
        whole, _, _ = finished(folder, "whole", [])
        cut, asked, seconds = finished(folder, "cut", [dice.uniform(0.0, 1.5) for _ in range(options.cuts)])
        print(json.dumps(report(whole, cut, asked, options.cuts, seconds), indent=1))


def finished(folder: Path, name: str, cuts: list[float]) -> tuple[Path, Counter[str], float]:
    """A run that is ended after each of these times and goes on; then to its end. Also what the server was asked."""
    run = folder / name
    asked: Counter[str] = Counter()
    script = Scripted(drip_s=0.02)

    def counting(body: dict[str, Any]) -> Any:
        asked[hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()] += 1
        return script(body)

    started = time.perf_counter()
    with ModelServer(counting, lifetime_s=3600) as server:
        command = ["run", str(folder / "cube.py"), "--model", f"openai:m@{server.url}", "--out", str(run),
                   "--effort", "quick", "--trials", str(TRIALS), "--sampler", "random", "--tune", "4"]  # fmt: skip
        for seconds in cuts:
            child = klab(folder, command if not (run / "ledger.jsonl").exists() else ["resume", str(run)])
            cut_after(child, run / "ledger.jsonl", seconds)
        last = klab(folder, command if not (run / "ledger.jsonl").exists() else ["resume", str(run)])
        said = last.communicate()[0]
        assert last.returncode in (0, 3), said
    return run, asked, time.perf_counter() - started


def cut_after(child: subprocess.Popen[str], ledger: Path, seconds: float) -> None:
    """So long after it has calibrated: a cut during the start of the interpreter would cut nothing."""
    before = calibrations(ledger)
    while child.poll() is None and calibrations(ledger) == before:
        time.sleep(0.05)
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGKILL)
    child.communicate()


def calibrations(ledger: Path) -> int:
    return ledger.read_bytes().count(b'"kind":"calibration"') if ledger.exists() else 0


def klab(folder: Path, arguments: list[str]) -> subprocess.Popen[str]:
    environ = {
        **os.environ,
        "KLAB_HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder),
        "KLAB_SAMPLE_S": "0.001",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "kernellab.cli.app", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env=environ, stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def report(whole: Path, cut: Path, asked: Counter[str], cuts: int, seconds: float) -> dict[str, Any]:
    entries = list(read_entries(cut))
    trials = [e.body["trial"] for e in entries if e.kind == "trial"]
    answered = Counter(
        (e.body["call"], e.body["request"])
        for e in entries
        if e.kind == "model-call" and e.body["status"] == "answered"
    )
    doubts = sum(1 for e in entries if e.kind == "model-intent" and e.body["asked_before"])
    again = sum(n - 1 for n in asked.values())
    audit = klab(cut.parent, ["audit", str(cut), "--json"])
    verdict = json.loads(audit.communicate()[0])
    return {
        "cuts": cuts,
        "resumes": sum(1 for e in entries if e.kind == "resume"),
        "calls": sum(asked.values()),
        "answered on record": sum(answered.values()),
        "answers recorded twice": sum(n - 1 for n in answered.values()),
        "asked again": again,
        "of those in doubt": doubts,
        "paid twice": max(0, again - doubts),
        "trials": len(trials),
        "trials lost": len(set(range(len(trials))) ^ set(trials)),
        "questions put in other words": other_words(entries),
        "same order as uncut": order(whole) == order(cut),
        "audit": verdict["status"],
        "seconds": round(seconds, 1),
    }


def other_words(entries: list[Any]) -> int:
    """Calls that a resumed run asked in other words than before: their first reply would be lost."""
    words: dict[int, set[str]] = {}
    for entry in entries:
        if entry.kind == "model-intent":
            words.setdefault(entry.body["call"], set()).add(entry.body["request"])
    return sum(len(w) - 1 for w in words.values())


def order(run: Path) -> list[tuple[str, ...]]:
    """What was decided and tried, in the ledger's order, without figures."""
    found = []
    for entry in read_entries(run):
        if entry.kind == "trial":
            found.append(("trial", entry.body["proposal"]["name"], json.dumps(entry.body["proposal"]["params"])))
        elif entry.kind in ("generation", "selection", "design", "experiment", "generation-end"):
            found.append((entry.kind, str(entry.body["generation"]), str(entry.body.get("number", ""))))
    return found


if __name__ == "__main__":
    main()
