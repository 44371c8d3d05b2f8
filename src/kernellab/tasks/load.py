"""Finding a task: by the name of a built-in operator, or as the one Task in a Python file of the user's."""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
import traceback
from types import ModuleType

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.tasks.spec import Task


def load_task(locator: str) -> Task:
    """`locator` is a built-in name or a path to a .py file."""
    from kernellab.tasks.builtin import TASKS

    if locator in TASKS:
        return TASKS[locator]
    if not locator.endswith(".py"):
        close = difflib.get_close_matches(locator, TASKS, 1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise UsageError(
            f"there is no task '{locator}'",
            f"{hint}'klab tasks' lists them; a task of your own is a path to a .py file",
        )
    if not os.path.isfile(locator):
        raise UsageError(f"there is no file {locator}", "'klab init NAME' writes an example to start from")
    return _one_task(_import_file(locator), locator)


def _import_file(path: str) -> ModuleType:
    """Import under a private name; candidate hooks are not needed to define a task."""
    absolute = os.path.abspath(path)
    name = "klab_task_" + hashlib.sha256(absolute.encode()).hexdigest()[:16]
    module = ModuleType(name)
    module.__file__ = absolute
    sys.modules[name] = module
    try:
        with open(absolute, encoding="utf-8") as file:
            exec(compile(file.read(), absolute, "exec"), module.__dict__)
    except SyntaxError as err:
        raise TaskRefused(f"{path}, line {err.lineno}: {err.msg}", "correct the syntax") from None
    except TaskRefused:
        raise
    except (Exception, SystemExit) as err:  # noqa: BLE001  the user's file: say where it failed
        frames = [f for f in traceback.extract_tb(err.__traceback__) if f.filename == absolute]
        where = f", line {frames[-1].lineno}" if frames else ""
        raise TaskRefused(f"{path}{where}: {type(err).__name__}: {err}", "the file must run on its own") from None
    return module


def _one_task(module: ModuleType, path: str) -> Task:
    found = getattr(module, "TASK", None)
    if isinstance(found, Task):
        return found
    raise TaskRefused(f"{path} defines no TASK", "end it with TASK = Task(...); 'klab init NAME' writes an example")
