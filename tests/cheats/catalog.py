"""What is in this folder, read from the files' text: a cheating file is never imported or executed by the tests' process.

c/cheat_*.py    must end with one of CAUGHT_BY, at STAGE ("build", "verify" or "measure") at the latest;
                HARMLESS = True: may also pass, because the attack gains nothing
c/honest_*.py   must pass
tasks/task_*.py must be refused (some when the Task object is built)
THREADS         the number of threads the case needs, where it matters
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    path: Path
    what: str
    catalogue: str
    task: str
    caught_by: tuple[str, ...]
    stage: str
    harmless: bool
    threads: int | None

    @property
    def name(self) -> str:
        return self.path.stem


def read(path: Path) -> Entry:
    tree = ast.parse(path.read_text())
    lines = (ast.get_docstring(tree) or "").splitlines()
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("TASK", "CAUGHT_BY", "STAGE", "HARMLESS", "THREADS") and not isinstance(node.value, ast.Call):
                found[name] = ast.literal_eval(node.value)
    number = next((line.partition(":")[2].strip() for line in lines if line.startswith("catalogue:")), "")
    return Entry(
        path, lines[0] if lines else "", number, found.get("TASK", ""), tuple(found.get("CAUGHT_BY", ())),
        found.get("STAGE", ""), bool(found.get("HARMLESS", False)), found.get("THREADS"),
    )  # fmt: skip


def cheats() -> list[Entry]:
    return [read(p) for p in sorted(HERE.glob("c/cheat_*.py"))]


def honest() -> list[Entry]:
    return [read(p) for p in sorted(HERE.glob("c/honest_*.py"))]


def tasks() -> list[Entry]:
    return [read(p) for p in sorted(HERE.glob("tasks/task_*.py"))]
