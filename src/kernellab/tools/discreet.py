"""What a caller may read. A caller of the tools is taken for a proposer: it must not learn the held-out shapes.

Covered: every free text is cleaned of held-out extents and of paths; what launch() itself said is not repeated from a
record, since launch() has seen every shape (compile() says it, from the other shapes alone). Seeds of inputs are left out.
Not covered: a caller with a shell of its own on this machine, who can read the task.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from kernellab.core.records import DuplicateTrial, MeasuredTrial, Rejected, RejectedTrial
from kernellab.propose.prompts import Withheld, shown, summarise
from kernellab.search.archive import AnyTrial
from kernellab.tasks.spec import Dims, Task

_UNSAID = "did not build: compile() says why, for the shapes that are no secret"
_FAILED = ("invalid", "build-failed")
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
        return f"{trial.verdict.cause}: {verdict_reason(trial.verdict, secret)}"
    failure = summarise(trial, source, secret)
    return failure.summary if failure.cause == "does not compile" else f"{trial.status}: it {_UNSAID}"


def verdict_reason(verdict: Rejected, secret: Withheld) -> str:
    """The judge never names a held-out shape; a build that fails on the way to the judge speaks in launch()'s words."""
    return f"it {_UNSAID}" if verdict.cause == "plan" else shown(verdict.reason, secret)


def entry_shown(kind: str, body: dict[str, Any], secret: Withheld) -> dict[str, Any]:
    """A ledger entry's body as a caller may read it."""
    if kind == "trial" and body.get("status") in _FAILED:
        body = {k: v for k, v in body.items() if k != "log"} | {"reason": _UNSAID}
    if kind == "result" and body.get("status") == "nothing-verified":
        body = {**body, "reason": "no candidate passed: see the trials"}
    if kind == "confirmation" and body["verdict"].get("cause") == "plan":
        body = {**body, "verdict": {**body["verdict"], "reason": f"it {_UNSAID}"}}
    if kind == "end":
        body = {"results": len(body.get("results", []))}
    cleaned = _cleaned(body, secret)
    assert isinstance(cleaned, dict)
    return cleaned


def _cleaned(value: Any, secret: Withheld) -> Any:
    if isinstance(value, str):
        return shown(value, secret)
    if isinstance(value, dict):
        return {k: _cleaned(v, secret) for k, v in value.items() if k not in _SEEDS}
    return [_cleaned(v, secret) for v in value] if isinstance(value, list) else value
