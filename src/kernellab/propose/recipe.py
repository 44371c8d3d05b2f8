"""Recipes: candidate files with parameter spaces, built in or the user's own, and what each says of itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from kernellab.build.base import Builder, Candidate, NotBuilt
from kernellab.core.errors import UsageError
from kernellab.core.files import reason
from kernellab.core.records import Param
from kernellab.core.targets import targets_on

FOLDER = Path(__file__).parent / "recipes"
_PLACE = re.compile(r"__([A-Z]+)__")


@dataclass(frozen=True)
class Recipe:
    candidate: Candidate
    space: dict[str, list[Param]]
    why: str

    @property
    def name(self) -> str:
        return self.candidate.name

    @property
    def first(self) -> dict[str, Param]:
        """The first choice of every parameter: what its author would try."""
        return {name: choices[0] for name, choices in self.space.items()}

    @property
    def size(self) -> int:
        product = 1
        for choices in self.space.values():
            product *= max(1, len(choices))
        return product


def read_candidate(path: str | Path) -> Candidate:
    """A candidate file of the user's. As in Python, a byte order mark at its beginning is none of its text."""
    try:
        return Candidate(Path(path).read_text(encoding="utf-8-sig"), Path(path).stem)
    except (OSError, UnicodeDecodeError) as err:
        why = reason(Path(path), err) if isinstance(err, OSError) else "it is no text in UTF-8"
        raise UsageError(
            f"{path} cannot be read: {why}", "give the path of a candidate file (docs/candidates.md)"
        ) from None


def candidate_of(text: str, name: str) -> Candidate:
    """A candidate whose text somebody gives, under the same rules."""
    try:
        text.encode()
    except UnicodeEncodeError as err:
        place = f"\\u{ord(text[err.start]):04x}, in line {text.count(chr(10), 0, err.start) + 1}"
        raise UsageError(
            f"the candidate's text holds a lone surrogate, {place}",
            "half of a character can be neither compiled nor recorded: leave it out",
        ) from None
    return Candidate(text.removeprefix("\ufeff"), name)


def builtin_candidates(task_name: str, device: str = "cpu") -> list[Candidate]:
    """The built-in files for this device that name this task, in the order of their folders and names."""
    found = []
    for language in (target.language for target in targets_on(device)):
        for candidate in candidates_in(language.recipes) if language.recipes else ():
            if task_name in _constant(candidate.text, "TASKS", ()):
                found.append(Candidate(candidate.text, candidate.name + language.suffix))
    return found


def candidates_in(folder: Path) -> list[Candidate]:
    """Every candidate of a recipe folder, by name. A file with VARIANTS stands for several."""
    return sorted((c for path in folder.glob("*.py") for c in _variants(path)), key=lambda c: c.name)


def _variants(path: Path) -> list[Candidate]:
    """VARIANTS maps the first word of each name to texts, which take the places of __SUCH__ words; it goes itself."""
    text = path.read_text()
    node = _assigned(text, "VARIANTS")
    if node is None:
        return [Candidate(text, path.stem)]
    lines = text.splitlines(keepends=True)
    rest = "".join(lines[: node.lineno - 1] + lines[node.end_lineno :])
    name = path.stem.partition("_")[2]
    return [
        Candidate(_PLACE.sub(partial(_filled, texts), rest), f"{first}_{name}")
        for first, texts in ast.literal_eval(node.value).items()
    ]


def _filled(texts: dict[str, str], match: re.Match[str]) -> str:
    return texts.get(match[1], match[0])


def space_in(text: str) -> dict[str, list[Param]]:
    """The SPACE of a text that is known to be plain, as generated ones are; {} where there is none."""
    return dict(_constant(text, "SPACE", {}))


def _constant(text: str, name: str, default: Any) -> Any:
    """A constant of a candidate file, read without running it."""
    node = _assigned(text, name)
    return default if node is None else ast.literal_eval(node.value)


@lru_cache(512)
def _assigned(text: str, name: str) -> ast.Assign | None:
    """Kept: a run asks for the built-in texts several times, a list of tasks dozens of times."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return node
    return None


def with_defaults(
    builder: Builder, candidate: Candidate, params: Mapping[str, Param] | None = None
) -> dict[str, Param]:
    """The given parameters, and the first choice of its SPACE for every other one."""
    recipes, _ = load_recipes(builder, [candidate])
    first = recipes[0].first if recipes else {}
    unknown = [name for name in params or {} if recipes and name not in first]
    if unknown:
        known = ", ".join(first) or "none"
        raise UsageError(f"{candidate.name} has no parameter '{unknown[0]}'", f"the names in its SPACE: {known}")
    return {**first, **(params or {})}


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
