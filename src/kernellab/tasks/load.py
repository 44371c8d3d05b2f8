"""Finding a task: a built-in operator's name, the one Task in a Python file of the user's, a PyTorch module (FILE.py:Class
and the other forms of tasks/suites), or the record that a module was imported to.

A module's file never runs here: it is captured in the sandbox, once a process, and its record is what is loaded.
What modules need is imported when one is named: every run starts a process for its baselines, and most have no module.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.tasks.dtypes import PRECISIONS, split_name, variant_name
from kernellab.tasks.spec import Task

if TYPE_CHECKING:
    from kernellab.tasks.modules.wishes import Wishes

TASK_FILE, RECORD_FILE = "task.py", "task.json"
"""The names under which a run folder keeps its task: a file of the user's, or the record of a module."""


def is_task_file(locator: str) -> bool:
    """Whether a locator is a file that a run folder keeps a copy of; else it is a built-in name."""
    return locator.endswith((".py", ".json"))


def kept_as(locator: str) -> str:
    return RECORD_FILE if locator.endswith(".json") else TASK_FILE


def kept_in(folder: Path) -> Path:
    """A run folder's copy of its task."""
    record = folder / RECORD_FILE
    return record if record.is_file() else folder / TASK_FILE


def locate(locator: str, wishes: Wishes | None = None) -> str:
    """The locator that every process can load: a module's is the path of its record, any other stays what it is."""
    from kernellab.tasks.builtin import TASKS

    if locator in TASKS:
        return locator
    from kernellab.tasks.modules.locate import locate_module
    from kernellab.tasks.modules.wishes import AS_IT_IS

    return locate_module(locator, wishes or AS_IT_IS)


def load_task(locator: str, dtype: str = "") -> Task:
    """`locator` is a built-in name, a path to a .py file or to a module's record, or a module; `dtype` picks the variant of
    a built-in family."""
    from kernellab.tasks.builtin import TASKS

    wanted = _precision(dtype)
    if locator in TASKS:
        return TASKS[_variant(locator, wanted)]
    located = locate(locator)
    if wanted and located.endswith(".json"):
        raise UsageError(
            f"{locator} is a PyTorch module: a dtype cannot be asked of it",
            "leave the dtype out; a module says it in get_inputs() and in its weights",
        )
    if wanted and os.path.isfile(located):
        raise UsageError(
            f"{locator} is a task file: a dtype cannot be asked of it",
            "leave the dtype out; a file says it in its buffers, as Buffer(..., dtype)",
        )
    return load_located(located)


def task_locator(task: Task) -> str:
    """The locator of a Task that somebody holds: a built-in one's name, or the file that its reference is written in, whose
    TASK must be this one: other processes load it from there."""
    from kernellab.tasks.builtin import TASKS

    if task.name in TASKS and TASKS[task.name].fingerprint() == task.fingerprint():
        return task.name
    file = getattr(getattr(task.reference, "__code__", None), "co_filename", "")
    try:
        same = os.path.isfile(file) and load_task(file).fingerprint() == task.fingerprint()
    except UsageError:
        same = False
    if not same:
        raise UsageError(f"the task '{task.name}' is not the TASK of a file, and every process loads it from one",
                         "write it into a file as TASK = Task(...), and give its path")  # fmt: skip
    return file


def load_located(locator: str) -> Task:
    """The task of a locator that names no module any more, but may be the record of one."""
    from kernellab.tasks.builtin import TASKS

    if locator in TASKS:
        return TASKS[locator]
    if (recorded := _recorded(locator)) is not None:
        return recorded
    if os.path.isdir(locator):
        raise UsageError(f"{locator} is a folder", f"name a file of it, or run all: klab suite run --path {locator}")
    if not locator.endswith(".py"):
        close = difflib.get_close_matches(locator, TASKS, 1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise UsageError(
            f"there is no task '{locator}'",
            f"{hint}'klab tasks' lists them; a task of your own is a path to a .py file, a PyTorch module FILE.py:Class",
        )
    if not os.path.isfile(locator):
        raise UsageError(f"there is no file {locator}", "'klab init NAME' writes an example to start from")
    return _one_task(_import_file(locator), locator)


def _recorded(path: str) -> Task | None:
    from kernellab.tasks.modules.record import is_record, read_module_record

    if not is_record(path):
        return None
    from kernellab.tasks.modules.task import module_task

    return module_task(read_module_record(path))


def _precision(dtype: str) -> str:
    """ "bf16" or "bfloat16" as "bfloat16"; nothing stays nothing."""
    found = next((name for name, short in PRECISIONS.items() if dtype in (name, short)), "")
    if dtype and not found:
        raise UsageError(f"there is no dtype '{dtype}'", f"use one of {', '.join(PRECISIONS.values())}")
    return found


def _variant(name: str, wanted: str) -> str:
    if not wanted:
        return name
    family, _ = split_name(name)
    variant = variant_name(family, wanted)
    if name not in (family, variant):
        raise UsageError(f"'{name}' is not a {wanted} task", f"write '{family}' with that dtype, or leave it out")
    return variant


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
    if "torch" in vars(module):
        raise TaskRefused(
            f"{path} defines no TASK and no get_inputs()",
            "for a PyTorch module, add get_inputs() that returns a list of tensors; for a task, end with TASK = Task(...)",
        )
    raise TaskRefused(f"{path} defines no TASK", "end it with TASK = Task(...); 'klab init NAME' writes an example")
