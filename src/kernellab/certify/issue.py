"""klab certify: from a confirmed trial to a signed certificate."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from kernellab.certify.anchor import make_anchor
from kernellab.certify.certificate import (
    Accuracy,
    Certificate,
    Evidence,
    KernelFacts,
    Shapes,
    Speed,
    Subject,
    write_certificate,
)
from kernellab.certify.evidence import CERTIFICATES, Proof, prove_trial
from kernellab.certify.history import read_history
from kernellab.core.errors import UsageError
from kernellab.core.ids import digest
from kernellab.ledger.keys import SigningKey, load_or_create_key
from kernellab.search.lab import task_of
from kernellab.tasks.spec import Dims, Task, in_order
from kernellab.verify.cases import all_shapes


def certify(
    folder: Path, number: int, out: Path | None = None, key: SigningKey | None = None
) -> tuple[Certificate, Path]:
    """Issue the certificate of one trial and write it; only the laboratory that made the run can."""
    proof = prove_trial(folder, number)
    key = key or load_or_create_key()
    if proof.ledger.public_key != key.public.hex:
        raise UsageError(
            f"{folder} is a foreign run: key {proof.ledger.fingerprint} signed it, this laboratory has {key.fingerprint}",
            "certify it where it was made; what another laboratory measured can be looked at with 'klab audit'",
        )
    certificate = draft(proof).signed(key)
    path = out or folder / CERTIFICATES / f"trial-{number}.json"
    _keep_reviewed(path, certificate, folder)
    write_certificate(path, certificate)
    return certificate, path


def _keep_reviewed(path: Path, certificate: Certificate, folder: Path) -> None:
    """A file that somebody else may rely on is not replaced by one of another trial."""
    if not path.exists():
        return
    old = _old(path)
    if old is None or (old.evidence.run, old.evidence.trial) != (certificate.evidence.run, certificate.evidence.trial):
        raise UsageError(f"{path} exists already and is not a certificate of this trial", "choose another --out")
    if read_history(path, old, folder).reviews:
        raise UsageError(f"{path} has been reviewed", "the certificate stands; choose another --out for a new one")


def _old(path: Path) -> Certificate | None:
    try:
        return Certificate.model_validate(json.loads(path.read_text()))
    except (OSError, ValueError):
        return None


def draft(proof: Proof) -> Certificate:
    """The certificate before it is signed: nothing in it that the run does not hold, but for the anchor."""
    task, _ = task_of(proof.folder)
    task = task.on(proof.genesis["settings"]["device"])
    trial, timing, verdict = proof.trial, proof.timing, proof.verdict
    return Certificate(
        issued=datetime.now(UTC).isoformat(timespec="seconds"),
        subject=Subject(
            name=task.name, fingerprint=task.fingerprint(), builtin=proof.genesis["task"]["builtin"], exact=task.exact
        ),
        kernel=KernelFacts(
            name=trial.proposal.name, source=trial.proposal.source, params=trial.proposal.params,
            backend=trial.artifact.backend, artifact=trial.artifact.id, code=trial.artifact.code,
            plans=trial.artifact.plans, compiler=trial.artifact.compiler, flags=trial.artifact.flags,
        ),
        anchor=make_anchor(task),
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
        shapes=shapes_of(task, in_order(trial.dims, task)),
        trust=trial.trust,
        tier=trial.tier,
        effort=proof.genesis["settings"]["effort"],
        environment=proof.environment,
        evidence=Evidence(run=proof.ledger.run, root=proof.ledger.root, size=proof.ledger.size, trial=trial.trial),
        public_key=proof.ledger.public_key,
    )  # fmt: skip


def shapes_of(task: Task, timed: Dims) -> Shapes:
    """The span of everything that a full judgement looks at: edge, held-out and timed shapes."""
    judged = all_shapes(task, timed)
    low = {name: min(d[name] for d in judged) for name in task.dim_names}
    high = {name: max(d[name] for d in judged) for name in task.dim_names}
    return Shapes(timed=timed, judged=len(judged), low=low, high=high)
