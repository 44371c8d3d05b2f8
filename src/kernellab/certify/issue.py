"""klab certify: from a confirmed trial to a signed certificate."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from kernellab.certify.anchor import make_anchor
from kernellab.certify.certificate import Certificate, write_certificate
from kernellab.certify.confirmed_trial import CERTIFICATES, prove_trial
from kernellab.certify.draft import draft, shapes_of
from kernellab.certify.history import read_history
from kernellab.core.errors import UsageError
from kernellab.ledger.keys import SigningKey, load_or_create_key
from kernellab.search.experiment_run import task_of
from kernellab.tasks.spec import in_order


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
    task, _ = task_of(folder, number)
    task = task.on(proof.genesis.settings.device)
    shapes = shapes_of(task, in_order(proof.trial.dims, task))
    issued = datetime.now(UTC).isoformat(timespec="seconds")
    certificate = draft(proof, task.exact, shapes, make_anchor(task), issued).signed(key)
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
