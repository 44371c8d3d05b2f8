"""Why a trial came to nothing, for whoever proposes kernels and must not learn of the shapes that are kept back.

Covered: what launch() said in a record, which may be from before trials were built without those shapes, is repeated only
where it holds no digit; paths are left out. Not covered: that a kernel passes or fails at a held-out shape is one bit.
"""

from __future__ import annotations

import re

from kernellab.core.records import AnyTrial, DuplicateTrial, MeasuredTrial, RejectedTrial, UntimedTrial
from kernellab.core.targets import backend_of, language
from kernellab.propose.prompts import summarise
from kernellab.propose.prompts.withhold import without_paths

UNSAID = "did not build: compile() says why"


def reason_of(trial: AnyTrial, source: str) -> str:
    """Why a trial came to nothing, in a few lines; '' for one that was measured."""
    if isinstance(trial, MeasuredTrial):
        return ""
    if isinstance(trial, DuplicateTrial):
        return f"the same machine code as trial {trial.of}"
    if isinstance(trial, RejectedTrial):
        return without_paths(f"{trial.verdict.cause}: {trial.verdict.reason}")
    if isinstance(trial, UntimedTrial):
        return f"{trial.status}: {trial.reason}"
    failure = summarise(trial, source)
    if failure.cause == "does not compile" and not language(backend_of(source)).each_shape:
        return failure.summary
    return f"{trial.status}: {without_numbers(trial.reason)}"


def without_numbers(said: str) -> str:
    return UNSAID if re.search(r"\d", said) else without_paths(said)
