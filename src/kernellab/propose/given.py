"""A candidate as a caller has it at hand: a path, the text of a file, or a function of one (its launch(), say)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.propose.recipe import candidate_of, read_candidate

Given = str | Path | Callable[..., Any]


def given_candidate(given: Given) -> Candidate:
    """A text with more than one line is the source itself. A function stands for the whole file that it is written in."""
    if isinstance(given, str) and "\n" in given:
        return candidate_of(given, "candidate")
    if isinstance(given, (str, Path)):
        return read_candidate(given)
    file = _file_of(given)
    if not file or not Path(file).is_file():
        name = getattr(given, "__name__", type(given).__name__)
        raise UsageError(f"{name} was not written in a file: a candidate is the whole of one",
                         "give the text of the candidate instead (docs/candidates.md)")  # fmt: skip
    return read_candidate(file)


def _file_of(function: Callable[..., Any]) -> str:
    """'' for what is defined in a notebook, a prompt or C."""
    try:
        return inspect.getsourcefile(inspect.unwrap(function)) or ""
    except TypeError:
        return ""
