"""One artifact: what is judged at a shape, timed at a shape and stored for a shape are the same bytes, compared by hash.

Covered: a confirmation whose build gave other bytes than the trial at any shape that the trial had; verdicts and timings of
other bytes than the record names; shapes that were built and not judged, or judged and not stored.
Not covered: whether those bytes are right at shapes that nobody judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernellab.core.ids import digest
from kernellab.core.records import Artifact, Confirmation, MeasuredTrial, Passed, UntimedTrial, artifact_id
from kernellab.tasks.spec import Dims, shape_key

FORMAT = 2
"""Of a run's records. Since 2 an artifact names its parts, one a shape, and a confirmation holds the whole artifact."""
_OTHER = "other machine code or another plan"


def same_parts(before: Artifact, now: Artifact) -> bool:
    """Whether every shape that was built before is built of the same bytes now. Records of older versions name the timed
    shape's machine code alone."""
    if not before.parts:
        return before.code == now.code
    return all(label in now.parts and now.parts[label].id == part.id for label, part in before.parts.items())


def blobs_of(artifact: Artifact) -> dict[str, str]:
    """Everything that an artifact names, of all its shapes, and what each is."""
    found = {artifact.code: "machine code", artifact.plans: "plans", artifact.log: "build log"}
    for label, part in artifact.parts.items():
        found.setdefault(part.code, f"machine code for {label}")
        found.setdefault(part.plan, f"plan for {label}")
        found.setdefault(part.log, f"build log for {label}")
    return found


def artifact_problems(artifact: Artifact, dims: Dims, format: int) -> Iterator[str]:
    """Whether an artifact names what it is made of."""
    if not artifact.parts:
        if format >= FORMAT:
            yield "the artifact names no parts"
        if artifact.id != digest([artifact.code, artifact.plans]):
            yield "the artifact's id does not name its code and plans"
        return
    if artifact.id != artifact_id({label: part.id for label, part in artifact.parts.items()}):
        yield "the artifact's id does not name its parts"
    timed = artifact.parts.get(shape_key(dims))
    if timed is None:
        yield "the artifact has no part for the timed shape"
    elif (artifact.code, artifact.plans) != (timed.code, timed.plan):
        yield "the artifact's code and plans are not its part for the timed shape"


def trial_problems(trial: MeasuredTrial, format: int) -> Iterator[str]:
    """Whether a trial was judged and timed on its own artifact."""
    if not trial.artifact.parts and format < FORMAT:
        return
    if not trial.verdict.judged:
        yield "does not say what was judged"
    yield from _judged(trial.verdict, trial.artifact)
    timed = trial.artifact.parts.get(shape_key(trial.dims))
    if timed is None or trial.timing.part != timed.id:
        yield f"timed {_OTHER} than its artifact has for the timed shape"


def full_problems(verdict: Passed) -> Iterator[str]:
    """Whether what passed did so in full: within its budget, in a case at least of every shape."""
    if verdict.level != "full" or not 0 <= verdict.max_ulp <= verdict.budget_ulp or verdict.max_abs_err < 0:
        yield f"passes on level '{verdict.level}' with {verdict.max_ulp} ULP of {verdict.budget_ulp}"
    if verdict.cases < max(1, len(verdict.judged)):
        yield f"was judged in {verdict.cases} cases, at {len(verdict.judged)} shapes"


def verified_problems(trial: UntimedTrial) -> Iterator[str]:
    """Whether a trial that was only judged passed in full, on its own artifact, at every shape of it."""
    verdict = trial.verdict
    yield from full_problems(verdict)
    for label in sorted(trial.artifact.parts.keys() - verdict.judged.keys()):
        yield f"holds {label}, which was not judged"
    yield from _judged(verdict, trial.artifact)


def confirmation_problems(
    trial: MeasuredTrial | UntimedTrial, confirmation: Confirmation, format: int
) -> Iterator[str]:
    """Whether one artifact was built as the trial's, judged at all of its shapes, and timed."""
    verdict, artifact = confirmation.verdict, confirmation.artifact
    if artifact is None:
        if format >= FORMAT and isinstance(verdict, Passed):
            yield "passes without the artifact that was judged and timed"
        return
    yield from artifact_problems(artifact, confirmation.dims, format)
    if not isinstance(verdict, Passed):
        return
    if confirmation.inputs_seed == trial.inputs_seed:
        yield "was judged on the trial's own inputs"
    if _made_with(artifact) != _made_with(trial.artifact):
        yield "names another text or other flags than the trial"
    for label, part in trial.artifact.parts.items():
        if label not in artifact.parts:
            yield f"has no {label}, which the trial was built for"
        elif artifact.parts[label].id != part.id:
            yield f"has {_OTHER} at {label} than the trial"
    for label in sorted(artifact.parts.keys() - verdict.judged.keys()):
        yield f"holds {label}, which was not judged"
    yield from _judged(verdict, artifact)
    timed = artifact.parts.get(shape_key(confirmation.dims))
    if confirmation.timing is not None and (timed is None or confirmation.timing.part != timed.id):
        yield f"timed {_OTHER} than it judged"


def _made_with(artifact: Artifact) -> tuple[object, ...]:
    return artifact.backend, artifact.text, tuple(artifact.flags)


def _judged(verdict: Passed, artifact: Artifact) -> Iterator[str]:
    for label, judged in verdict.judged.items():
        if label not in artifact.parts:
            yield f"was judged at {label}, which its artifact does not have"
        elif artifact.parts[label].id != judged:
            yield f"was judged at {label} on {_OTHER} than its artifact has there"
