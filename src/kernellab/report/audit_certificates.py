"""The audit of the certificates in a run's folder: each is signed by the run's own key and says what the records say.

Covered: certificates that were edited, signed by another key, or are of another run, trial or artifact; reviews beside
them that were edited, forged or taken out from between. Not covered: certificates that lie elsewhere, packages that were
exported, and what needs the task's own code or the kernel's (the anchor, the range in runs of older versions, whether it
still holds): 'klab recheck' runs those.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kernellab.certify.certificate import read_certificate
from kernellab.certify.confirmed_trial import CERTIFICATES, require_recorded
from kernellab.certify.history import decisions_in
from kernellab.core.errors import KlabError
from kernellab.ledger.check import LedgerCheck
from kernellab.ledger.run import Run


def certificate_problems(folder: Path, ledger: LedgerCheck) -> Iterator[str]:
    """What is wrong with each, in words. Where the ledger itself is not sound, they are held against nothing else."""
    run = Run(folder)
    for path in sorted((folder / CERTIFICATES).glob("*.json")):
        try:
            certificate = read_certificate(path)
            decisions_in(folder, certificate)
            require_recorded(certificate, run, ledger)
        except KlabError as fault:
            yield f"{CERTIFICATES}/{path.name}: {fault.what}"
