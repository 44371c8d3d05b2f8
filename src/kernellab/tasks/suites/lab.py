"""The laboratory's own suite (tasks/lab): lab:NAME is one of its tasks, at the sizes of a processor or of a GPU."""

from __future__ import annotations

import difflib

from kernellab.core.errors import UsageError
from kernellab.graph.source import Request
from kernellab.tasks.lab import LabTask, Setting, lab_tasks
from kernellab.tasks.suites.base import Problem

NAME = "lab"
_HEAD = f"{NAME}:"


class Lab:
    form = "lab:NAME, a task of the laboratory's own suite"

    def recognises(self, locator: str) -> bool:
        return locator.startswith(_HEAD)

    def problem(self, locator: str) -> Problem:
        name, known = locator.removeprefix(_HEAD), lab_tasks()
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{_HEAD}{close[0]}'? " if close else ""
            raise UsageError(f"the suite '{NAME}' has no task '{name}'", f"{hint}'klab tasks --suite lab' lists them")
        return _problem(known[name])

    def problems(self, path: str) -> list[Problem]:
        return []  # it lies in no folder of the user's


def lab_problems() -> list[Problem]:
    return [_problem(task) for task in lab_tasks().values()]


def _problem(task: LabTask) -> Problem:
    other = _request(task, {})
    return Problem(_request(task, task.cpu), task.name, NAME, on_accelerator=other, has_backward=task.backward)


def _request(task: LabTask, sizes: Setting) -> Request:
    settings = task.at(sizes)
    return Request(str(task.file), "Model", settings, settings)
