"""How a proposer joins a search: opened once a run, made once a shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, Self

from kernellab.core.records import Dims, Param
from kernellab.propose.base import Proposer
from kernellab.propose.recipe import Recipe
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.question import Question


@dataclass(frozen=True)
class SearchContext:
    """What a search has for whoever proposes. `argument` is what stood behind the proposer's name, as in replay:RUN."""

    run: ExperimentRun
    recipes: Sequence[Recipe]
    shapes: Sequence[Dims]
    question: Question
    argument: str = ""


@dataclass(frozen=True)
class ShapeContext:
    """`warm`: recipes and parameters that were good at the nearest place that was searched."""

    search: SearchContext
    dims: Dims
    seed: int
    warm: Sequence[tuple[str, dict[str, Param]]] = ()


class ProposerSession:
    """A proposer at work in one run. This one keeps nothing from shape to shape: each gets a new proposer."""

    def __init__(self, make: Callable[[ShapeContext], Proposer]) -> None:
        self._make = make

    def proposer(self, shape: ShapeContext) -> AbstractContextManager[Proposer]:
        return nullcontext(self._make(shape))

    def extras(self) -> dict[str, Any]:
        """What the run's end says of it beyond the results."""
        return {}

    def close(self) -> None:
        """At the end of the run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _no_files(argument: str, device: str) -> Mapping[str, bytes]:
    return {}


@dataclass(frozen=True)
class ProposerKind:
    """`needs`: what it cannot do without: a usable candidate file, a model, or an argument behind its name. `argument`:
    "may" where it does without one too.

    `check` refuses an argument before anything is opened. `files`: what the run's folder is to keep of it, by the argument
    and the kind of device; the run's first entry names them. `in_order`: trials follow the order of its ideas, also where
    builds run ahead, so that the record depends on no clock.
    """

    name: str
    about: str
    open: Callable[[SearchContext], ProposerSession]
    needs: Literal["recipes", "model", "argument"] = "recipes"
    in_order: bool = False
    check: Callable[[str], object] = str
    argument: Literal["", "may"] = ""
    files: Callable[[str, str], Mapping[str, bytes]] = _no_files


def for_each_shape(make: Callable[[ShapeContext], Proposer]) -> Callable[[SearchContext], ProposerSession]:
    """For a `ProposerKind` whose proposers know one shape each."""
    return lambda _: ProposerSession(make)
