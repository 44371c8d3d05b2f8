"""Problems of others, by their form. Nothing of theirs runs here: a problem says what the capture process is to run.

A new form is a file with a `Format` and a line in FORMATS; a suite that has a name is a line in SUITES. A live object has no
file to name; it is captured by graph/live.py, and its graph goes to tasks/modules/importing.py as any other does.
"""

from __future__ import annotations

from collections.abc import Callable

from kernellab.tasks.suites.base import Format, Problem
from kernellab.tasks.suites.flashinfer_bench import FlashinferBench
from kernellab.tasks.suites.formulas import NAME as FORMULAS
from kernellab.tasks.suites.formulas import Formulas, formula_problems
from kernellab.tasks.suites.lab import NAME as LAB
from kernellab.tasks.suites.lab import Lab, lab_problems
from kernellab.tasks.suites.module_file import ModuleFile
from kernellab.tasks.suites.robust_kbench import RobustKbench

FORMATS: tuple[Format, ...] = (
    FlashinferBench(),
    RobustKbench(),
    Lab(),
    Formulas(),
    ModuleFile(),
)
SUITES: dict[str, Callable[[], list[Problem]]] = {LAB: lab_problems, FORMULAS: formula_problems}
"""Suites that are called by a name; any other is a folder."""


def find_problem(locator: str) -> Problem | None:
    """The problem that a locator names; None where it is of no known form."""
    found = next((f for f in FORMATS if f.recognises(locator)), None)
    return found.problem(locator) if found else None


def all_problems(path: str) -> list[Problem]:
    """Every problem of a folder, whatever their forms; a file is a problem of the first form that knows it."""
    found: dict[str, Problem] = {}
    for form in FORMATS:
        for problem in form.problems(path):
            found.setdefault(problem.request.file, problem)
    return list(found.values())


def is_shipped(locator: str) -> bool:
    """Whether a locator names a problem of a suite that comes with the laboratory, as lab:NAME."""
    return locator.partition(":")[0] in SUITES and ":" in locator


def forms() -> str:
    return "; ".join(f.form for f in FORMATS)
