"""From a suite's name or folder, and the tasks that are asked of it, to its problems."""

from __future__ import annotations

import difflib
import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.tasks.suites import SUITES, all_problems, forms
from kernellab.tasks.suites.base import Problem

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_NUMBERED = re.compile(r"(?:level\d+_)?(\d+)_")


@dataclass(frozen=True)
class Suite:
    """`path` is the folder it was read from, "" for a suite that has a name of its own. Every problem has its own name.

    `drawn`: how the problems were drawn from all that were asked for, "" where they are all."""

    name: str
    path: str
    problems: tuple[Problem, ...]
    drawn: str = ""


def find_suite(name: str = "", path: str = "", tasks: str = "") -> Suite:
    """The suite of this name, or of this folder; `tasks` as select() takes it."""
    if bool(name) == bool(path):
        raise UsageError("give a suite by its name, or a folder with --path", f"names: {', '.join(SUITES)}; --path DIR")
    suite = _folder(path) if path else _named(name)
    return replace(suite, problems=tuple(select(suite.problems, tasks)))


def sample(suite: Suite, count: int, seed: int) -> Suite:
    """So many of its problems, drawn by the seed, in the order in which they were drawn: the first ones are a sample too."""
    if not 1 <= count <= len(suite.problems):
        raise UsageError(
            f"a sample of {count} cannot be drawn from {len(suite.problems)} problems",
            f"--sample takes 1 to {len(suite.problems)} here",
        )
    by_name = sorted(suite.problems, key=lambda p: p.name)
    drawn = random.Random(seed).sample(by_name, count)
    return replace(suite, problems=tuple(drawn), drawn=f"{count} of {len(by_name)}, drawn by seed {seed}")


def select(problems: Sequence[Problem], wanted: str) -> list[Problem]:
    """Those that "1,3-5,norm*" names: numbers are those that the names begin with, or places in a list of names without
    any; words are names, or patterns of names. In the suite's order; nothing asks for all."""
    if not wanted.strip():
        return list(problems)
    numbers = _numbers(problems)
    chosen: set[str] = set()
    for part in filter(None, (p.strip() for p in wanted.split(","))):
        found = _fitting(part, problems, numbers)
        if not found:
            names = [p.name for p in problems]
            close = difflib.get_close_matches(part, names, 1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
            raise UsageError(
                f"the suite has no task '{part}'", f"{hint}write numbers (1,3-5), names or patterns (*norm*): {shown}"
            )
        chosen |= found
    return [p for p in problems if p.name in chosen]


def _fitting(part: str, problems: Sequence[Problem], numbers: dict[str, int]) -> set[str]:
    exact = {p.name for p in problems if p.name == part}
    if exact:
        return exact
    if match := _RANGE.fullmatch(part):
        low = int(match[1])
        high = int(match[2] or low)
        return {name for name, number in numbers.items() if low <= number <= high}
    return {p.name for p in problems if fnmatchcase(p.name, part)}


def _numbers(problems: Sequence[Problem]) -> dict[str, int]:
    own = {p.name: int(m[1]) for p in problems if (m := _NUMBERED.match(p.name))}
    return own or {p.name: place for place, p in enumerate(problems, 1)}


def _named(name: str) -> Suite:
    if name not in SUITES:
        hint = f"a folder is named with --path {name}" if os.path.exists(name) else "a folder is named with --path DIR"
        raise UsageError(f"there is no suite '{name}'", f"known: {', '.join(SUITES)}; {hint}")
    return Suite(name, "", tuple(_distinct(SUITES[name]())))


def _folder(path: str) -> Suite:
    if os.path.isfile(path):
        raise UsageError(f"{path} is a file, not a folder of problems", f"'klab check {path}' takes a single one")
    if not os.path.isdir(path):
        raise UsageError(f"there is no folder {path}", "give a folder of problems")
    problems = all_problems(path)
    if not problems:
        below = sorted(p.name for p in Path(path).iterdir() if p.is_dir() and all_problems(str(p)))
        fix = f"there are some in {', '.join(below)}" if below else f"a problem is {forms()}"
        raise UsageError(f"there are no problems in {path}", fix)
    return Suite(Path(path).resolve().name, os.path.abspath(path), tuple(_distinct(problems)))


def _distinct(problems: Sequence[Problem]) -> list[Problem]:
    """A second one of the same name gets a number: folders of results bear these names."""
    counts: dict[str, int] = {}
    found = []
    for problem in problems:
        counts[problem.name] = count = counts.get(problem.name, 0) + 1
        found.append(problem if count == 1 else replace(problem, name=f"{problem.name}-{count}"))
    return found
