"""How many forgeries an audit finds: a changed sample in a ledger, a changed digit in a paper, a moved point in a figure.

    .venv/bin/python benchmarks/paper/mutations.py [RUN] [--each 100] [--seed 0]

Digits and points are changed in paper.json, paper.html and paper.pdf in turn; in the last two the claims inside stay as they
were, and only what a reader sees is changed. The untouched files must pass.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.forgery import KINDS, change_digit, change_sample, move_point  # noqa: E402

from kernellab.report.paper.check import Auditor  # noqa: E402
from kernellab.report.paper.write import write_paper  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", nargs="?", type=Path, default=ROOT / "runs" / "h200" / "softmax-bf16")
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.monotonic()
    found: Counter[str] = Counter()
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        paper = Path(folder) / "paper"
        write_paper(options.run, paper)
        auditor = Auditor(options.run)
        sound = sum(auditor.audit(paper / f"paper.{kind}").status == "ok" for kind in KINDS)
        for number in range(options.each):
            rng = random.Random(options.seed * 1_000_003 + number)
            for name, caught, what in (
                _ledger(options.run, Path(folder), paper, rng),
                _file("digit", auditor, paper, Path(folder), number, rng),
                _file("point", auditor, paper, Path(folder), number, rng),
            ):
                found[name] += caught
                missed += [] if caught else [f"{name} {number}: {what}"]
    seconds = round(time.monotonic() - started, 1)
    print(json.dumps({"run": options.run.name, "each": options.each, "found": dict(found), "missed": missed[:10],
                      "untouched_passed": f"{sound}/{len(KINDS)}", "seconds": seconds}))  # fmt: skip
    sys.exit(0 if not missed and sound == len(KINDS) else 1)


def _ledger(run: Path, folder: Path, paper: Path, rng: random.Random) -> tuple[str, bool, str]:
    copy = folder / "run"
    if not copy.exists():
        shutil.copytree(run, copy)
    shutil.copyfile(run / "ledger.jsonl", copy / "ledger.jsonl")
    what = change_sample(copy / "ledger.jsonl", rng)
    return "sample", not Auditor(copy).audit(paper / "paper.json").ok, what


def _file(
    sort: str, auditor: Auditor, paper: Path, folder: Path, number: int, rng: random.Random
) -> tuple[str, bool, str]:
    kind = KINDS[number % len(KINDS)]
    forged = folder / f"forged.{kind}"
    what = (change_digit if sort == "digit" else move_point)(paper, forged, kind, rng)
    return sort, not auditor.audit(forged).ok, f"{kind}: {what}"


if __name__ == "__main__":
    main()
