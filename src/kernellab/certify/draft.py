"""The certificate that a run's records make: to be signed, or to be held against one that was."""

from __future__ import annotations

from kernellab.certify.certificate import (
    Accuracy,
    Anchor,
    Certificate,
    CertifiedPart,
    Evidence,
    KernelFacts,
    Shapes,
    Speed,
    Subject,
)
from kernellab.certify.proof import Proof
from kernellab.core.ids import digest
from kernellab.tasks.spec import Dims, Task
from kernellab.verdict.cases import all_shapes


def draft(proof: Proof, exact: bool, shapes: Shapes, anchor: Anchor, issued: str) -> Certificate:
    """The certificate before it is signed. The task's own part (exactness, shapes, anchor) is given, the rest recorded."""
    trial, timing, verdict, facts = proof.trial, proof.timing, proof.verdict, proof.genesis.task
    return Certificate(
        issued=issued,
        subject=Subject(
            name=facts.name, fingerprint=facts.fingerprint, builtin=facts.builtin, exact=exact, remarks=facts.remarks
        ),
        kernel=KernelFacts(
            name=trial.proposal.name, source=trial.proposal.source, params=trial.proposal.params,
            backend=trial.artifact.backend, artifact=trial.artifact.id, code=trial.artifact.code,
            plans=trial.artifact.plans, compiler=trial.artifact.compiler, flags=trial.artifact.flags,
            abilities=trial.artifact.abilities if trial.artifact.abilities_edition else None,
            text=trial.artifact.text,
        ),
        anchor=anchor,
        accuracy=Accuracy(
            cases=verdict.cases, max_abs_err=verdict.max_abs_err, max_ulp=verdict.max_ulp,
            budget_ulp=verdict.budget_ulp, deterministic=verdict.deterministic,
        ),
        speed=Speed(
            baseline=timing.baseline, threads=timing.threads, pairs=len(timing.candidate_s), dropped=len(timing.dropped),
            speedup=timing.speedup, speedup_low=timing.speedup_low, speedup_high=timing.speedup_high,
            threshold=proof.threshold, win=proof.confirmation.win, latency_s=timing.latency_s,
            gb_per_s=timing.gb_per_s, of_floor=timing.of_floor,
            samples=digest([timing.candidate_s, timing.baseline_s]),
        ),
        shapes=shapes.model_copy(update={"parts": parts_of(proof)}),
        trust=trial.trust,
        tier=trial.tier,
        effort=proof.genesis.settings.effort,
        environment=proof.environment.facts,
        evidence=Evidence(run=proof.ledger.run, root=proof.ledger.root, size=proof.ledger.size, trial=trial.trial),
        public_key=proof.ledger.public_key,
    )  # fmt: skip


def parts_of(proof: Proof) -> dict[str, CertifiedPart]:
    """What the confirmation covers, shape by shape; nothing in records of older versions."""
    artifact = proof.confirmation.artifact
    parts = artifact.parts if artifact is not None else {}
    return {label: CertifiedPart(code=part.code, plan=part.plan) for label, part in parts.items()}


def recorded_shapes(proof: Proof) -> Shapes | None:
    """The span of the shapes that the confirmation judged, by its records alone; None in those of older versions."""
    judged = [_dims(label) for label in parts_of(proof)]
    if not judged:
        return None
    low, high = ({name: pick(d[name] for d in judged) for name in proof.trial.dims} for pick in (min, max))
    return Shapes(timed=proof.trial.dims, judged=len(judged), low=low, high=high)


def _dims(label: str) -> Dims:
    return {name: int(size) for name, _, size in (part.partition("=") for part in label.split(","))}


def shapes_of(task: Task, timed: Dims) -> Shapes:
    """The span of everything that a full judgement looks at: edge, held-out and timed shapes."""
    judged = all_shapes(task, timed)
    low = {name: min(d[name] for d in judged) for name in task.dim_names}
    high = {name: max(d[name] for d in judged) for name in task.dim_names}
    return Shapes(timed=timed, judged=len(judged), low=low, high=high)
