"""Modules as the records that every command takes in their place: torch is not imported anew for each capture."""

from __future__ import annotations

from pathlib import Path

from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.locate import write_record
from kernellab.tasks.suites import find_problem


def captured(importer: Importer, locator: str, folder: Path) -> str:
    """The path of the module's record, written into this folder."""
    problem = find_problem(locator)
    assert problem is not None, locator
    return write_record(importer.import_problem(problem), folder)
