"""What a step of a candidate is, in plain numbers and sizes, for whoever ranks candidates before any is built.

Sizes are texts: arithmetic over the graph's symbols and the candidate's own parameters, as `graph.extents` reads it, so
that one record serves every shape and every choice. Not covered: what a compiler makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """A tensor that is read or written: its elements, the bytes of each, and how neighbours of a program's lanes lie in it:
    "next" to each other, all at the "same" place, or "apart"."""

    elements: str
    bytes: int
    lies: str


@dataclass(frozen=True)
class StepFacts:
    """`rows`: what programs have one each, before they take blocks; `length`: elements along a row that are gone over
    together; `lanes`: rows that are neighbours in memory. `product`: batch, rows, columns and terms. `choices`: the
    parameters that it reads, `fixed` those that it has a number for."""

    form: str
    choices: tuple[str, ...]
    points: str
    rows: str
    length: str
    lanes: str
    read: tuple[Traffic, ...]
    written: tuple[Traffic, ...]
    work: float
    functions: int
    reductions: int
    guards: int
    product: tuple[str, str, str, str] | None = None
    fixed: Mapping[str, int] | None = None
