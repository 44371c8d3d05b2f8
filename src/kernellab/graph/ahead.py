"""The capture sandbox, started while the command that will want it is still being imported.

Both take seconds, and neither needs the other. Whether a command will want one is guessed from its arguments: a wrong guess
costs a process that is ended when the command is.
Covered: the sandbox is the one that a capture would start itself. Not covered: see sandbox/ for each layer.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from kernellab.core.errors import EnvironmentFault
from kernellab.sandbox.host import NO_GPU, Sandbox
from kernellab.sandbox.tiers import ORDER

JOBS = ("kernellab.graph.capture_job", "kernellab.graph.witness_job", "kernellab.graph.smaller_job")
_COMMANDS = ("check", "run", "verify", "bench")
_OWN = "lab:"
_OWN_FOLDER = Path(__file__).parent.parent / "tasks" / "lab"
_INPUTS = b"get_inputs"
_started: dict[tuple[str, ...], Sandbox] = {}


def start(arguments: Sequence[str]) -> None:
    """Start a sandbox if these arguments of the command line name a module."""
    folder = _folder(arguments)
    if folder and importlib.util.find_spec("torch") is not None:
        folders = (folder,)
        _started[folders] = Sandbox(ORDER[0], JOBS, folders, environment=NO_GPU, wait=False)
        atexit.register(_end)


def taken(folders: Sequence[str]) -> Sandbox | None:
    """The sandbox that was started for these folders, for the caller to close; None where there is none that works."""
    sandbox = _started.pop(tuple(folders), None)
    try:
        if sandbox is not None:
            sandbox.ready()
    except EnvironmentFault:
        return None
    return sandbox


def _end() -> None:
    for sandbox in _started.values():
        sandbox.close()


def _folder(arguments: Sequence[str]) -> str:
    """Where the module's file lies; nothing where no argument looks like one."""
    if not arguments or arguments[0] not in _COMMANDS or "--help" in arguments:
        return ""
    for argument in arguments[1:]:
        if argument.startswith(_OWN):
            return str(_OWN_FOLDER)
        head, _, name = argument.rpartition(":")
        file = Path(head if head.endswith(".py") and name.isidentifier() else argument)
        if file.suffix == ".py" and not argument.startswith("-") and _is_module(file):
            return os.path.dirname(os.path.abspath(file))
    return ""


def _is_module(file: Path) -> bool:
    """Roughly: such a file says how its inputs are made. Kernels and hand-written tasks do not."""
    try:
        return _INPUTS in file.read_bytes()
    except OSError:
        return False
