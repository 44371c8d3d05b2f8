"""A certified candidate's C text and launch plans at any shapes, recorded in the build sandbox as for a trial.

Each shape in a job of its own, as there: a candidate whose text or flags depend on the shape cannot be one file. Where the
certificate names the text and the plans of its shapes, they must come out as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.build import c as c_backend
from kernellab.build import exchange
from kernellab.build.base import Candidate, NotBuilt
from kernellab.build.parts import TWO_TEXTS, each_shape
from kernellab.build.plan import Plan
from kernellab.core.errors import EnvironmentFault
from kernellab.core.records import Param
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.spec import Dims, Task

_RECORDER = "kernellab.build.recorder:main"
_LIMITS = c_backend.record_limits()


@dataclass(frozen=True)
class Recorded:
    """`text` hashes the source and its flags, as an artifact's record does."""

    source: str
    plans: tuple[Plan, ...]
    text: str


def record_c(
    task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims], fewer: Sequence[Dims]
) -> tuple[Recorded, list[Dims]]:
    """Plans for `shapes`; where launch() refuses one of them, for `fewer`. Says which they are of."""
    with open_sandbox("auto", c_backend.PRELOAD) as sandbox:
        found = _record(sandbox, task, candidate, params, shapes)
        if isinstance(found, Recorded):
            return found, list(shapes)
        found = _record(sandbox, task, candidate, params, fewer)
    if isinstance(found, NotBuilt):
        raise EnvironmentFault(f"{candidate.name} can no longer be recorded: {found.reason}", "recheck the certificate")
    return found, list(fewer)


def _record(
    sandbox: Sandbox, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
) -> Recorded | NotBuilt:
    def one(dims: Dims) -> exchange.Recorded | NotBuilt:
        request = exchange.recording_request(task, candidate, params, dims)
        return exchange.record(sandbox, _RECORDER, request, _LIMITS, task)

    found = each_shape(one, shapes)
    if isinstance(found, NotBuilt):
        return found
    if len({recorded.text for recorded in found}) > 1:
        return NotBuilt("build-failed", TWO_TEXTS)
    return Recorded(found[0].source, tuple(recorded.plan for recorded in found), found[0].text)
