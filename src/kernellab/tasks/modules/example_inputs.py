"""The example inputs that a live object carries with it: `@kernellab.task(example_inputs=[...])`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kernellab.core.errors import UsageError

T = TypeVar("T", bound=Callable[..., Any])
_INPUTS = "__kernellab_example_inputs__"


def with_inputs(example_inputs: Sequence[Any]) -> Callable[[T], T]:
    """A decorator: the function or module remembers its example inputs, and is otherwise as it was."""

    def mark(subject: T) -> T:
        if isinstance(subject, type):
            raise UsageError(f"{subject.__name__} is a class", "decorate a function, or mark an object of the class")
        setattr(subject, _INPUTS, tuple(example_inputs))
        return subject

    return mark


def inputs_of(subject: Callable[..., Any]) -> Sequence[Any] | None:
    return getattr(subject, _INPUTS, None)
