"""A further shape for a kernel that passed: drawn in secret, so that being right at the screened shapes alone does not pay.

It is an edge shape that was not screened, or has sizes between those of the edge shapes and the timed ones. Held-out shapes
stay out of it: whether a kernel passes there is told by the full verdict alone.
"""

from __future__ import annotations

import math
import random

import numpy as np

from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.modules.shapes import valid
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Dims, Task
from kernellab.verdict.cases import screen_cases

_TRIES = 20
_MOST_BYTES = 4 << 20  # that a call moves
_TIMED_SHARE = 0.25
_MOST_TIMED_BYTES = 64 << 20
"""How often the timed shape is looked at on other inputs than those that are timed, where that is affordable: a kernel may
know the shape that it is paid for."""


def draw_further(task: Task, timed: Dims, thrifty: bool, rng: random.Random) -> tuple[Dims, str]:
    """A shape and a distribution. `thrifty`: the device screens one edge shape only. Where a task has no other shape, one of
    its edge shapes: the inputs at least are new."""
    screened = [case.dims for case in screen_cases(task, thrifty)]
    distribution = rng.choice(list(task.distributions))
    edges = [dims for dims in task.edge if dims not in screened]
    if edges and rng.random() < 0.5:
        return rng.choice(edges), distribution
    known = [*screened, *task.held_out, *task.tune]
    for _ in range(_TRIES):
        dims = _between(task, timed, rng)
        if dims not in known and _usable(task, dims):
            return dims, distribution
    return rng.choice(edges or list(task.edge)), distribution


def draw_timed(task: Task, timed: Dims, rng: random.Random) -> list[tuple[Dims, str]]:
    """Now and then the timed shape with a distribution that is not timed, beside a further one."""
    untimed = list(task.distributions)[1:]
    if not untimed or rng.random() >= _TIMED_SHARE or task.least_bytes(timed) > _MOST_TIMED_BYTES:
        return []
    return [(dict(timed), rng.choice(untimed))]


def _between(task: Task, timed: Dims, rng: random.Random) -> Dims:
    """Each size between the smallest of an edge shape and the timed one, small ones as often as large ones."""
    drawn = {}
    for name in task.dim_names:
        sizes = [*(dims[name] for dims in task.edge), timed[name]]
        low, high = min(sizes), max(sizes)
        drawn[name] = min(high, max(low, int(math.exp(rng.uniform(math.log(low), math.log(high + 1))))))
    return drawn


def _usable(task: Task, dims: Dims) -> bool:
    """Whether the task has a meaning at these sizes, and is judged quickly there."""
    if task.least_bytes(dims) > max(_MOST_BYTES, *map(task.least_bytes, task.edge)):
        return False
    if task.captured is not None:
        return valid(task.captured.graph, dims)
    try:
        drawn = draw_inputs(task, dims, next(iter(task.distributions)), np.random.default_rng(0))
        expect(task, dims, drawn)
    except Exception:  # noqa: BLE001  the task's own code: it has no meaning at these sizes
        return False
    return True
