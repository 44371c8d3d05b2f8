"""Formulas that nobody wrote (tasks/generated): formulas:SEED is one, formulas:SEED-bf16 the same in bfloat16.

A name has the digest of its structure before the seed: what is learned from one is not asked of another that differs in its
numbers alone.
"""

from __future__ import annotations

import re

from kernellab.core.errors import UsageError
from kernellab.graph.source import Request
from kernellab.tasks.generated.formula import LARGE, SMALL, Formula, draw
from kernellab.tasks.suites.base import Problem

NAME = "formulas"
_HEAD = f"{NAME}:"
_ONE = re.compile(r"(\d{1,9})(-bf16)?")
_LISTED = 1000


class Formulas:
    form = "formulas:SEED, a formula drawn by a seed"

    def recognises(self, locator: str) -> bool:
        return locator.startswith(_HEAD)

    def problem(self, locator: str) -> Problem:
        asked = _ONE.fullmatch(locator.removeprefix(_HEAD))
        if asked is None:
            raise UsageError(f"there is no formula '{locator.removeprefix(_HEAD)}'", f"{_HEAD}7, or {_HEAD}7-bf16")
        return _problem(int(asked[1]), "bfloat16" if asked[2] else "float32")

    def problems(self, path: str) -> list[Problem]:
        return []  # they lie in no folder


def formula_problems() -> list[Problem]:
    """The first ones; there are more."""
    return [_problem(seed, "float32") for seed in range(_LISTED)]


def structure_in(task: str) -> str:
    """The part of a task's name that stands for its structure; "" where it is no formula."""
    found = re.match(r"formula_([0-9a-f]{12})_\d+", task)
    return found[1] if found else ""


def _problem(seed: int, dtype: str) -> Problem:
    formula = draw(seed, SMALL, dtype)
    name = f"formula_{formula.digest[:12]}_{seed}{'' if dtype == 'float32' else '-bf16'}"
    return Problem(_request(name, formula), name, NAME, on_accelerator=_request(name, draw(seed, LARGE, dtype)))


def _request(name: str, formula: Formula) -> Request:
    return Request(f"{name}.py", "Model", text=formula.text)
