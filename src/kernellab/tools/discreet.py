"""What a caller may read. A caller of the tools is taken for a proposer: it must not learn the held-out shapes.

The rule: nothing that a caller may read is made from them. Artifacts are built without them, a laboratory builds its
trials without them, the judge does not name them. Texts are not searched for them: whoever can have a text of his own
searched learns from what is missing in it which numbers are secret.
Covered: what launch() said in a record, which may be from before trials were built without those shapes, is repeated only
where it holds no digit; paths and the seeds of inputs are left out.
Not covered: that a kernel passes or fails at a held-out shape is told, one bit a verdict, each on record; a caller with a
shell of its own on this machine can read the task.
"""

from __future__ import annotations

from typing import Any

from kernellab.propose.prompts.withhold import without_paths
from kernellab.search.reasons import without_numbers

_LEFT_OUT = ("inputs_seed", "nonce", "public_key", "log", "parts", "judged")  # the last two name every shape
_FAILED = ("invalid", "build-failed")


def entry_shown(body: dict[str, Any]) -> dict[str, Any]:
    """A ledger entry's body as a caller may read it."""
    if body.get("status") in _FAILED:
        body = {**body, "reason": without_numbers(str(body.get("reason", "")))}
    elif body.get("status") == "nothing-verified":  # in the words of the last trial
        body = {**body, "reason": "no candidate passed: the trials say why"}
    return {k: _cleaned(v) for k, v in body.items() if k not in _LEFT_OUT}


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return without_paths(value)
    if isinstance(value, dict):
        return entry_shown(value)
    return [_cleaned(v) for v in value] if isinstance(value, list) else value
