"""Finding a task: by the name of a built-in operator, or as the one Task in a Python file of the user's."""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
import traceback
from types import ModuleType

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.tasks.dtypes import PRECISIONS, split_name, variant_name
from kernellab.tasks.spec import Task


def load_task(locator: str, dtype: str = "") -> Task:
    """`locator` is a built-in name or a path to a .py file; `dtype` picks the variant of a built-in family."""
    from kernellab.tasks.builtin import TASKS

    wanted = _precision(dtype)
    if locator in TASKS:
        return TASKS[_variant(locator, wanted)]
    if not locator.endswith(".py"):
        close = difflib.get_close_matches(locator, TASKS, 1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise UsageError(
            f"there is no task '{locator}'",
            f"{hint}'klab tasks' lists them; a task of your own is a path to a .py file",
        )
    if not os.path.isfile(locator):
        raise UsageError(f"there is no file {locator}", "'klab init NAME' writes an example to start from")
    if wanted:
        raise UsageError(
            f"{locator} is a task file: a dtype cannot be asked of it",
            "leave the dtype out; a file says it in its buffers, as Buffer(..., dtype)",
        )
    return _one_task(_import_file(locator), locator)


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
    raise TaskRefused(f"{path} defines no TASK", "end it with TASK = Task(...); 'klab init NAME' writes an example")
