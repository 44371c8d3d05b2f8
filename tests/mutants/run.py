"""`make mutants`: each mutant of the sample, in a copy of the tree, against the tests of its module; the score by folder.

A mutant is killed when a test fails that passes without it, or when its tests no longer end in time and do so without it.

    python -m tests.mutants.run                  the whole sample; the table also goes to build/mutants.json
    python -m tests.mutants.run measurement/bench    the mutants whose names begin so; the table keeps what it has of the others
    python -m tests.mutants.run --draw           fill the sample up again after the code has changed
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from threading import Lock

from tests.mutants.mutate import Mutant, apply
from tests.mutants.sample import EQUIVALENT, QUOTA, ROOT, SAMPLE, candidates, draw, equivalent, sample, tests_of

TABLE = ROOT / "build" / "mutants.json"
ALL_TESTS_S, ONE_TEST_S = 2400, 900  # a busy machine may take its time
TOO_LONG = "the time limit"
_COPIED, _LINKED = ("src", "tests", "pyproject.toml", "README.md"), ("docs", "runs", "benchmarks", "Makefile")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::\S+?(?:\[.*?\])?)?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """`status`: killed (by a test), survived, equivalent (by our own word), or gone from the code."""

    mutant: str
    status: str
    change: str = ""
    by: str = ""
    seconds: float = 0.0


class Tree:
    """A copy of the source and its tests, and the tests that fail in it anyway."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        for name in _LINKED:
            (folder / name).symlink_to(ROOT / name)

    def path(self, mutant: Mutant) -> Path:
        return self.folder / "src" / "kernellab" / mutant.module

    @contextmanager
    def holding(self, mutant: Mutant, text: str) -> Iterator[None]:
        path = self.path(mutant)
        kept = path.read_text()
        try:
            path.write_text(text)
            yield
        finally:
            path.write_text(kept)

    def first_failure(self, tests: Sequence[str], without: Sequence[str] = ()) -> str:
        """The test that fails first, '' for none."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--sample-seed=0",
                   "--heavy-share=1", f"--timeout={ONE_TEST_S}", *(f"--deselect={name}" for name in without), *tests]  # fmt: skip
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "400",
        }
        started = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        try:
            out, _ = started.communicate(timeout=ALL_TESTS_S)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.communicate()
            return TOO_LONG
        found = _FAILED.search(out)
        if found:
            return found[1]
        return "" if started.returncode in (0, 5) else f"pytest itself (exit code {started.returncode})"


class Hunt:
    """Runs mutants in several trees; knows which tests fail without any."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self._free: Queue[Tree] = Queue()
        self._broken: list[str] = []
        self._clean: dict[str, str] = {}
        self._lock = Lock()
        self._excused = equivalent()
        for tree in trees:
            self._free.put(tree)

    def outcome(self, mutant: Mutant) -> Outcome:
        tree = self._free.get()
        try:
            return self._tried(mutant, tree)
        finally:
            self._free.put(tree)

    def _tried(self, mutant: Mutant, tree: Tree) -> Outcome:
        try:
            mutated, change = apply(mutant, tree.path(mutant).read_text())
        except (StopIteration, FileNotFoundError):
            return Outcome(str(mutant), "gone")
        if mutant in self._excused:
            return Outcome(str(mutant), "equivalent", change)
        began = time.monotonic()
        by = self._killer(mutant, mutated, tree)
        return Outcome(str(mutant), "killed" if by else "survived", change, by, round(time.monotonic() - began, 1))

    def _killer(self, mutant: Mutant, mutated: str, tree: Tree) -> str:
        tests = tests_of(mutant.module)
        while True:
            with tree.holding(mutant, mutated):
                by = tree.first_failure(tests, self._broken)
            if by == TOO_LONG:
                return "" if self._fails_anyway(TOO_LONG, tests, tree) else by
            if not by or by.startswith("pytest itself") or not self._fails_anyway(by, [by], tree):
                return by

    def _fails_anyway(self, name: str, tests: Sequence[str], tree: Tree) -> bool:
        key = " ".join(tests)
        with self._lock:
            known = self._clean.get(key)
        if known is None:
            known = tree.first_failure(tests)
            with self._lock:
                self._clean[key] = known
                if known == name != TOO_LONG:
                    self._broken.append(name)
        return known == name


def score(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """By folder and over all: mutants that count, killed ones, and their share."""
    table = {}
    for folder in (*QUOTA, ""):
        counts = Counter(o.status for o in outcomes if o.mutant.startswith(folder))
        there = counts["killed"] + counts["survived"]
        if there:
            share = round(counts["killed"] / there, 3)
            table[folder or "all"] = {"mutants": there, "killed": counts["killed"], "share": share}
    return table


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="mutants", description="How many small changes to the source the tests notice."
    )
    parser.add_argument("names", nargs="*", help="only mutants whose names begin so")
    parser.add_argument("--draw", action="store_true", help="fill up the sample after the code has changed")
    parser.add_argument("--every", action="store_true", help="all mutants with these names, not only the sample's")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.draw:
        redraw()
        return 0
    pool = [m for folder in QUOTA for m in candidates(folder)] if chosen.every else sample()
    wanted = [m for m in pool if str(m).startswith(tuple(chosen.names or [""]))]
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        hunt = Hunt([Tree(_made(Path(scratch) / str(n))) for n in range(chosen.workers)])
        with ThreadPoolExecutor(chosen.workers) as workers:
            for outcome in workers.map(hunt.outcome, wanted):
                print(f"{outcome.status:10} {outcome.mutant}  {outcome.change}  {outcome.by}", flush=True)
                keep(outcome)
    report(list(_known().values()))
    return 0


def keep(outcome: Outcome) -> None:
    """One more row of the table, at once: an hour's work survives an interruption."""
    known = {**_known(), outcome.mutant: outcome}
    drawn = [known[str(m)] for m in sample() if str(m) in known]
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(json.dumps({"score": score(drawn), "mutants": [asdict(o) for o in drawn]}, indent=1) + "\n")


def report(outcomes: Sequence[Outcome]) -> None:
    for folder, row in score(outcomes).items():
        print(f"{folder:8} {row['killed']:4.0f} of {row['mutants']:4.0f}  {row['share']:.1%}")


def _known() -> dict[str, Outcome]:
    """What earlier runs found, for the mutants that this one leaves out."""
    if not TABLE.exists():
        return {}
    return {row["mutant"]: Outcome(**row) for row in json.loads(TABLE.read_text())["mutants"]}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def redraw() -> None:
    """Keep what is still there of the sample, and of the equivalent ones too."""
    head = (
        "# The sample of `make mutants`: module, function, what is done, the how-manieth such place. Drawn by --draw.\n"
    )
    drawn = draw(sample() if SAMPLE.exists() else ())
    SAMPLE.write_text(head + "".join(f"{m}\n" for m in drawn))
    for mutant in equivalent().keys() - set(drawn):
        print(f"{EQUIVALENT.name} excuses {mutant}, which is not in the sample")


if __name__ == "__main__":
    sys.exit(main())
