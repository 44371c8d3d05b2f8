"""From a locator to the file of a module's record, which every process can load the task from.

A module is captured once a process and text. Its record is written to the user's cache, named by its SHA-256; a run folder
keeps a copy of its own.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from kernellab.core.ids import digest, sha256_hex
from kernellab.graph.capture import read_text
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.record import ModuleRecord, is_record
from kernellab.tasks.modules.wishes import AS_IT_IS, Wishes
from kernellab.tasks.suites import find_problem
from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.pairs import backward_of

_located: dict[str, str] = {}


def locate_module(locator: str, wishes: Wishes = AS_IT_IS) -> str:
    """The path of the module's record; a locator that names no module is given back as it is."""
    if is_record(locator):
        return locator
    problem = find_problem(locator)
    if problem is None:
        return locator
    problem = backward_of(problem) if wishes.backward else problem
    key = _key(problem, wishes)
    if key not in _located:
        with Importer([os.path.dirname(problem.request.file)]) as importer:
            _located[key] = write_record(importer.import_problem(problem, wishes))
    return _located[key]


def write_record(record: ModuleRecord, folder: Path | None = None) -> str:
    """Kept by the SHA-256 of its text; a file that is there already is the same one."""
    text = record.text()
    path = (folder or _folder()) / f"{record.name[:60]}-{sha256_hex(text)[:16]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_bytes() != text:
        fd, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(fd, "wb") as file:
            file.write(text)
        os.replace(temporary, path)
    return str(path)


def _key(problem: Problem, wishes: Wishes) -> str:
    asked = asdict(problem.request)
    text = asked["text"] if asked["text"] is not None else read_text(problem.request.file)
    shapes = wishes.shapes.model_dump() if wishes.shapes else None
    return digest([{**asked, "text": text}, problem.name, wishes.eval_mode, wishes.precision, shapes])


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "kernellab" / "modules"
