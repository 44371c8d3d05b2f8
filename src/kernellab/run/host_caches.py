"""Where a solution's compilers keep what they made: the same places in the build and in the runs. Works inside the job.

In a run the folder is read-only and nothing can be compiled: torch's extension loader is told that everything is built, and
loads what lies there. That is a convenience for honest code; what is loaded is believed no more than the solution's Python.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

_FOLDERS = {
    "XDG_CACHE_HOME": "cache", "TORCH_EXTENSIONS_DIR": "extensions",
}  # fmt: skip
_MARK = "cpp_extension"
HEAD = 8
"""Bytes that say how long the list of names is, at the beginning of what a build leaves."""


def set_folders() -> None:
    """Caches lie under the job's scratch folder, which is the home as well."""
    here = os.getcwd()
    os.environ |= {name: os.path.join(here, folder) for name, folder in _FOLDERS.items()}
    os.environ |= {"HOME": here, "USER": "solution", "MAX_JOBS": "2"}
    tools = os.path.dirname(sys.executable)
    if tools not in os.environ["PATH"].split(":"):
        os.environ["PATH"] += f":{tools}"


def use_built(text: str) -> None:
    """Before the solution's first line in a run."""
    set_folders()
    if _MARK in text:
        extensions: Any = __import__("torch.utils.cpp_extension", fromlist=[_MARK])
        extensions.FileBaton = _Free
        extensions._write_ninja_file_and_build_library = _nothing


class _Free:
    """A lock that is always to be had: nobody else is here, and no file can be written."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.release: Callable[[], Any] = contextlib.nullcontext

    def try_acquire(self) -> bool:
        return True


def _nothing(*_: Any, **__: Any) -> None:
    """It is built already."""
