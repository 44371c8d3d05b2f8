"""robust-kbench's folders: func_forward.py with its settings in config_forward.json.

FOLDER is the first setting, FOLDER:3 the fourth. Backward tasks are not read.
"""

from __future__ import annotations

import os
from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.graph.folder import is_folder, settings
from kernellab.tasks.suites.base import Problem, listed


class RobustKbench:
    form = "a robust-kbench folder, or FOLDER:NUMBER for another of its settings"

    def recognises(self, locator: str) -> bool:
        return is_folder(_split(locator)[0])

    def problem(self, locator: str) -> Problem:
        path, number = _split(locator)
        found = settings(path)
        if not 0 <= number < len(found):
            raise UsageError(
                f"{path} has the settings 0 to {len(found) - 1}, not {number}", f"write {path}:{len(found) - 1}, say"
            )
        name = Path(path).resolve().name
        return Problem(found[number], f"{name}-{number}" if number else name, "robust-kbench")

    def problems(self, path: str) -> list[Problem]:
        """The first setting of every folder."""
        if is_folder(path):
            return [self.problem(path)]
        folders = sorted(Path(path).iterdir()) if os.path.isdir(path) else []
        return [listed(self.problem, str(f)) for f in folders if is_folder(str(f))]


def _split(locator: str) -> tuple[str, int]:
    path, colon, number = locator.rpartition(":")
    return (path, int(number)) if colon and number.isdigit() else (locator, 0)
