"""The backward of a problem as a problem of its own, and a suite in which each is followed by it."""

from __future__ import annotations

from dataclasses import replace

from kernellab.core.errors import UsageError
from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.finding import Suite

BACKWARD = "-backward"


def backward_of(problem: Problem) -> Problem:
    """Gradients of inputs and weights for given gradients of the outputs, from the same code at the same sizes."""
    other = problem.on_accelerator
    return replace(
        problem, name=problem.name + BACKWARD, request=replace(problem.request, backward=True),
        on_accelerator=replace(other, backward=True) if other is not None else None,
    )  # fmt: skip


def with_backward(suite: Suite) -> Suite:
    """Every problem that has a backward, as far as its author says, is followed by it."""
    pairs = [(p, backward_of(p)) if p.has_backward and p.broken is None else (p,) for p in suite.problems]
    names = {p.name for p in suite.problems}
    if taken := [pair[1].name for pair in pairs if len(pair) == 2 and pair[1].name in names]:
        raise UsageError(f"the suite has a problem '{taken[0]}' already", "rename its file: a backward has that name")
    return replace(suite, problems=tuple(problem for pair in pairs for problem in pair))


def forward_name(problem: Problem) -> str:
    """Of a backward problem the name of its forward one, else nothing."""
    return problem.name.removesuffix(BACKWARD) if problem.request.backward else ""
