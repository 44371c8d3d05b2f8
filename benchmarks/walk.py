"""How often a hypothesis climbs back up: the folders that a run goes through, in the order in which it first enters them.

    python benchmarks/walk.py

Folders are in layers (pyproject.toml): each may call those below it. A call into a folder that was not entered before is a
step of the walk; it is a climb if that folder lies above the one of the step before. It is what a reader does who follows a
hypothesis from `klab run` to the record and opens each folder once. Prints the walk of a whole run, and that of each of its
trials from the proposal to the committed record.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import tomllib
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import kernellab
from kernellab.core.settings import Settings
from kernellab.search import loop
from kernellab.search.runs import run_search

PACKAGE = f"{Path(kernellab.__file__).parent}/"
PROJECT = Path(__file__).parents[1] / "pyproject.toml"
TASK, SHAPE, TRIALS = "softmax", {"M": 64, "N": 512}, 4


class Walk:
    """The folders whose functions were called, each once, in order: of everything, and of every trial."""

    def __init__(self) -> None:
        self.run: dict[str, None] = {}
        self.trials: list[dict[str, None]] = []
        self._trial: dict[str, None] | None = None

    def follow(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event not in ("call", "return") or not file.startswith(PACKAGE):
            return
        if frame.f_code is loop.step.__code__:
            (self._begin if event == "call" else self._end)()
        folder = file.removeprefix(PACKAGE).split("/")[0]
        self.run.setdefault(folder)
        if self._trial is not None:
            self._trial.setdefault(folder)

    def _begin(self) -> None:
        self._trial = {}
        self.trials.append(self._trial)

    def _end(self) -> None:
        self._trial = None


def layers() -> list[str]:
    """The folders, the highest first."""
    contracts = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]["contracts"]
    (found,) = (c["layers"] for c in contracts if c["type"] == "layers" and "kernellab.cli" in c["layers"])
    return [layer.strip("()").removeprefix("kernellab.") for layer in found]


def climbs(folders: list[str], order: list[str]) -> list[str]:
    return [f"    {one} -> {other}" for one, other in pairwise(folders) if order.index(other) < order.index(one)]


def main() -> None:
    walk, order = Walk(), layers()
    with tempfile.TemporaryDirectory() as folder:
        threading.setprofile(walk.follow)
        sys.setprofile(walk.follow)
        try:
            run_search(TASK, Settings(effort="quick", trials=TRIALS), Path(folder) / "run", [SHAPE], proved=True)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    named = [("the whole run", walk.run), *((f"trial {n}", t) for n, t in enumerate(walk.trials, 1))]
    for name, each in named:
        folders = [folder for folder in each if folder in order]
        found = climbs(folders, order)
        print(
            f"{name}: {len(folders)} folders, climbs back up {len(found)} times: {' '.join(folders)}", *found, sep="\n"
        )


if __name__ == "__main__":
    main()
