"""Whether a judgement of a shape fits the memory that is there: said in words before anything of it is made.

What a call moves is the least of it. A table holds the buffers of every case of the shape; one case at a time is made, in
float64, by a reference with copies of its inputs and terms of its own; and one that is made waits. Measured on softmax,
stencils and the particle filter, at 16 million elements: 3.9 to 4.9 GB, where this says 4.0 to 5.1.

Not covered: captured modules, whose oracle has pieces of its own; what a reference holds besides a few arrays as large as
its inputs and outputs; what is held to time a kernel.
"""

from __future__ import annotations

import math

from kernellab.core.errors import UsageError
from kernellab.core.hardware import available_bytes
from kernellab.tasks.inputs import plain_distributions
from kernellab.tasks.oracle import in_bands
from kernellab.tasks.spec import Dims, Task, elements, parse_dims

TOGETHER_BYTES = 8 << 30
"""Of the buffers of a table of cases, at most; more where one case alone has more. Cases that do not fit are in the next
one."""
_OWN = 1 << 30
"""The laboratory itself, and small cases that are made ahead."""
_INPUT, _OUTPUT, _BANDED_OUTPUT = 32, 48, 56
"""Bytes an element, while a case is made: of float64 copies and terms, of value, scale, interval and what they are made of.
In bands only the answers are whole, twice while they are joined."""
ANSWER_BYTES = 24
"""An element of an output, once made: value and scale in float64, the interval's ends."""


def read_shape(text: str, task: Task) -> Dims:
    """`parse_dims`, for a shape that is going to be judged here."""
    dims = parse_dims(text, task)
    check_room(task, dims)
    return dims


def check_room(task: Task, dims: Dims) -> None:
    """UsageError where a judgement of this shape would not fit."""
    if task.captured is not None:
        return
    needs, has = judging_bytes(task, dims), available_bytes()
    if needs > has:
        shape = "x".join(map(str, dims.values()))
        raise UsageError(
            f"judging {task.name} at {shape} takes about {needs / 1e9:.3g} GB of memory, {has / 1e9:.3g} are available: "
            "answers are computed in float64, and kept beside the inputs of every distribution",
            "choose a smaller shape" + ("" if task.halo is None else ", or one of many rows, which is done in pieces"),
        )


def judging_bytes(task: Task, dims: Dims) -> int:
    """About what is held at once: the buffers of the shape's cases, one case in the making, one that waits."""
    given, made = elements(task.inputs, dims), elements(task.outputs, dims)
    inputs = sum(b.nbytes(dims) for b in task.inputs)
    call = inputs + sum(b.nbytes(dims) for b in task.outputs)
    cases = len(task.distributions) + len(plain_distributions(task))
    buffers = max(call, min(cases * call, TOGETHER_BYTES))
    making = inputs + _BANDED_OUTPUT * made if in_bands(task, dims) else _INPUT * given + _OUTPUT * made
    waiting = inputs + ANSWER_BYTES * made
    return math.ceil(buffers + making + waiting + _OWN)
