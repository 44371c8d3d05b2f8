"""What a caller may read. A caller of the tools is taken for a proposer: it must not learn the held-out shapes.

Covered: every free text is cleaned of held-out extents and of paths; a laboratory builds its trials without those shapes,
so what launch() says of one never enters a record. Seeds of inputs are left out.
Not covered: a caller with a shell of its own on this machine, who can read the task.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from kernellab.core.records import DuplicateTrial, MeasuredTrial, RejectedTrial
from kernellab.propose.prompts import Withheld, shown, summarise
from kernellab.search.archive import AnyTrial
from kernellab.tasks.spec import Dims, Task

_SEEDS = ("inputs_seed", "nonce", "public_key")


def secret_of(task: Task, asked: Iterable[Dims] = ()) -> Withheld:
    """What is withheld of a task; a shape that the caller named is none of it, or the answer would tell on itself."""
    secret = Withheld.of(task)
    numbers, shapes = set(secret.numbers), set(secret.shapes)
    for dims in asked:
        shapes.discard(tuple(dims.values()))
        numbers -= set(dims.values())
        for buffer in (*task.inputs, *task.outputs):
            shape = buffer.shape(dims)
            shapes.discard(shape)
            numbers -= {*shape, math.prod(shape), buffer.nbytes(dims)}
    return Withheld(frozenset(numbers), frozenset(shapes))


def reason_of(trial: AnyTrial, source: str, secret: Withheld) -> str:
    """Why a trial came to nothing, in a few lines; '' for one that was measured."""
    if isinstance(trial, MeasuredTrial):
        return ""
    if isinstance(trial, DuplicateTrial):
        return f"the same machine code as trial {trial.of}"
    if isinstance(trial, RejectedTrial):
        return f"{trial.verdict.cause}: {shown(trial.verdict.reason, secret)}"
    return shown(summarise(trial, source, secret).summary, secret)


def entry_shown(body: dict[str, Any], secret: Withheld) -> dict[str, Any]:
    """A ledger entry's body as a caller may read it."""
    return {k: _cleaned(v, secret) for k, v in body.items() if k not in _SEEDS}


def _cleaned(value: Any, secret: Withheld) -> Any:
    if isinstance(value, str):
        return shown(value, secret)
    if isinstance(value, dict):
        return {k: _cleaned(v, secret) for k, v in value.items() if k not in _SEEDS}
    return [_cleaned(v, secret) for v in value] if isinstance(value, list) else value
