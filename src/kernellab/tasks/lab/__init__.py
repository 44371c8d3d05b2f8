"""Tasks that people optimise for a living, as plain PyTorch modules: `klab tasks --suite lab`.

Every file here is a task in the form that any module may have: a class `Model`, `get_inputs()` and `get_init_inputs()`,
whose defaults are realistic sizes on a GPU. Beside them a file states, as plain literals, its `DTYPES` (the first is its
own), those whose `BACKWARD` is a task too, and other `SIZES`: for a CPU, small ones for tests, held-out ones and edge cases.
They are read without running it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SHORT = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "uint8": "u8"}

Setting = Mapping[str, Any]
"""Sizes by name. They go to the class and to get_inputs(), each of which takes those that it has a parameter for."""


@dataclass(frozen=True)
class LabTask:
    """One file at one dtype. `says` is what it computes, in a sentence; `backward`: whether its gradients are a task too."""

    file: Path
    says: str
    dtype: str
    backward: bool
    cpu: Setting
    small: Setting
    held_out: tuple[Setting, ...]
    edge: tuple[Setting, ...]

    @property
    def name(self) -> str:
        return f"{self.file.stem}-{SHORT[self.dtype]}"

    def at(self, sizes: Setting) -> dict[str, Any]:
        """Those sizes at this task's dtype."""
        return {**sizes, "dtype": self.dtype}


@cache
def lab_tasks() -> dict[str, LabTask]:
    """Every task by name, in the order of the files."""
    found = [t for file in sorted(FOLDER.glob("*.py")) if file.name != "__init__.py" for t in read(file)]
    return {t.name: t for t in found}


def read(file: Path) -> list[LabTask]:
    """The tasks of one file, one for each dtype."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    stated = {
        target.id: ast.literal_eval(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and target.id in ("DTYPES", "BACKWARD", "SIZES")
    }
    sizes, says = stated["SIZES"], (ast.get_docstring(tree) or "").splitlines()[0]
    backward = stated.get("BACKWARD", ())
    return [
        LabTask(
            file, says, dtype, dtype in backward, sizes["cpu"], sizes["small"], tuple(sizes["held_out"]),
            tuple(sizes["edge"]),
        )
        for dtype in stated["DTYPES"]
    ]  # fmt: skip


def table() -> str:
    """The suite as a table in Markdown, a line a file; docs/suite.md holds it."""
    by_file: dict[Path, list[LabTask]] = {}
    for task in lab_tasks().values():
        by_file.setdefault(task.file, []).append(task)
    lines = ["| task | what it computes | dtypes | backward |", "| --- | --- | --- | --- |"]
    for file, tasks in by_file.items():
        dtypes = ", ".join(SHORT[t.dtype] for t in tasks)
        backward = ", ".join(SHORT[t.dtype] for t in tasks if t.backward) or "-"
        lines.append(f"| `{file.stem}` | {tasks[0].says} | {dtypes} | {backward} |")
    return "\n".join(lines)
