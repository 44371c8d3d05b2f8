"""Recipes: candidate files with parameter spaces, built in or the user's own, and what each says of itself."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernellab.build.base import Builder, Candidate, NotBuilt
from kernellab.build.router import DEVICE_OF
from kernellab.core.errors import UsageError
from kernellab.core.records import Param

FOLDER = Path(__file__).parent / "recipes"


@dataclass(frozen=True)
class Recipe:
    candidate: Candidate
    space: dict[str, list[Param]]
    why: str

    @property
    def name(self) -> str:
        return self.candidate.name

    @property
    def size(self) -> int:
        product = 1
        for choices in self.space.values():
            product *= max(1, len(choices))
        return product


def read_candidate(path: str | Path) -> Candidate:
    """A candidate file of the user's."""
    try:
        return Candidate(Path(path).read_text(), Path(path).stem)
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(
            f"{path} cannot be read: {err}", "give the path of a candidate file (docs/candidates.md)"
        ) from None


def builtin_candidates(task_name: str, device: str = "cpu") -> list[Candidate]:
    """The built-in files for this device that name this task, in the order of their folders and names."""
    found = []
    for backend in (b for b, d in DEVICE_OF.items() if d == device):
        for path in sorted((FOLDER / backend).glob("*.py")):
            text = path.read_text()
            if task_name in _tasks(text):
                found.append(Candidate(text, f"{path.stem}_{backend}" if device == "cuda" else path.stem))
    return found


def _tasks(text: str) -> tuple[str, ...]:
    """The constant TASKS of a candidate file, read without running it."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "TASKS":
            return tuple(ast.literal_eval(node.value))
    return ()


def load_recipes(builder: Builder, candidates: Sequence[Candidate]) -> tuple[list[Recipe], dict[str, str]]:
    """Read each candidate's space in the sandbox; returns the usable ones and why the others are not."""
    recipes, unusable = [], {}
    for candidate in candidates:
        described = builder.describe(candidate)
        if isinstance(described, NotBuilt):
            unusable[candidate.name] = described.reason
            continue
        why = " ".join(described.about.split())
        recipes.append(Recipe(candidate, {k: v for k, v in described.space.items() if v}, why[:400]))
    return recipes, unusable
