"""Kernels that are given for a suite: DIR/TASK.py, or several as DIR/TASK/*.py, named after the tasks."""

from __future__ import annotations

from pathlib import Path

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.propose.recipe import read_candidate
from kernellab.tasks.suites.base import Problem


def candidates_in(folder: Path, problems: list[Problem], known: set[str]) -> dict[str, list[Candidate]]:
    """By problem. `known`: the names of the whole suite, of which `problems` may be a part."""
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder}", "--candidates names a folder of kernels, NAME.py for each task"
        )
    files = sorted(p for p in folder.iterdir() if p.suffix == ".py" or p.is_dir())
    strange = [p.name for p in files if (p.stem if p.suffix == ".py" else p.name) not in known]
    if strange:
        raise UsageError(
            f"{folder}/{strange[0]} is named after no task of the suite",
            "'klab tasks' with the same suite lists the names",
        )
    found: dict[str, list[Candidate]] = {}
    for problem in problems:
        single, several = folder / f"{problem.name}.py", folder / problem.name
        paths = [single] if single.is_file() else []
        paths += sorted(several.glob("*.py")) if several.is_dir() else []
        if paths:
            found[problem.name] = [read_candidate(p) for p in paths]
    return found
