"""One table of rules: what each operator's result is at an index."""

from __future__ import annotations

from functools import cache

from kernellab.lower.rules import (
    contractions,
    gradients,
    images,
    layout,
    numbers,
    pointwise,
    reductions,
    scatters,
    sorts,
)
from kernellab.lower.site import Rule


@cache
def table() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for file in (pointwise, numbers, layout, reductions, contractions, gradients, images, scatters, sorts):
        if twice := rules.keys() & file.RULES.keys():
            raise ValueError(f"two rules for {sorted(twice)}")
        rules |= file.RULES
    return rules


def rule(op: str) -> Rule | None:
    """Of "aten.max.dim": its own, or its family's."""
    _, name, overload = op.split(".")
    return table().get(f"{name}.{overload}") or table().get(name)
