"""A live object as a task: a module or a function of the caller's own program, with example inputs.

What leaves it is the same record as a file's: everything after that needs neither the object nor the program.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.graph.live import capture_object, name_of, witness_object
from kernellab.graph.need_torch import need_torch
from kernellab.graph.source import Request
from kernellab.tasks.modules.example_inputs import inputs_of
from kernellab.tasks.modules.importing import agree, record_of
from kernellab.tasks.modules.locate import write_record
from kernellab.tasks.modules.wishes import AS_IT_IS, Wishes
from kernellab.tasks.suites.base import Problem


def locate_object(
    subject: Callable[..., Any], example_inputs: Sequence[Any] | None = None, wishes: Wishes = AS_IT_IS
) -> str:
    """The path of the object's record."""
    inputs = example_inputs if example_inputs is not None else inputs_of(subject)
    name = name_of(subject)
    if inputs is None:
        raise UsageError(f"{name} has no example inputs", "give them: example_inputs=[tensor, ...]")
    subject = _in_mode(subject, wishes.eval_mode)
    graph = capture_object(subject, inputs, name)
    try:
        record = record_of(graph, Problem(Request("", name), name), wishes)
        agree(record, partial(witness_object, subject, inputs))
    except (RuntimeError, IndexError, ValueError, MemoryError) as err:  # torch's own, on inputs that are drawn here
        first = str(err).splitlines()[0] if str(err) else type(err).__name__
        raise TaskRefused(
            f"{name}: its graph does not run on drawn inputs: {first[:300]}",
            "give example inputs whose range says what is allowed",
        ) from None
    return write_record(record)


def _in_mode(subject: Callable[..., Any], eval_mode: bool) -> Callable[..., Any]:
    """The caller's object keeps its mode."""
    if eval_mode and isinstance(subject, need_torch().nn.Module) and subject.training:
        in_mode: Callable[..., Any] = copy.deepcopy(subject).eval()
        return in_mode
    return subject
