"""What people decided about a certificate: an append-only, signed ledger of reviews beside the certificate's file.

A review is made with the laboratory's key, the one that signed the certificate; `by` is a name for people. Nothing is
taken back: a later review counts more than an earlier one, and the earlier one stays.
Not covered: a holder of the key who accepts what nobody looked at.
"""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kernellab.certify.certificate import Certificate
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.ledger.check import check
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import SigningKey, load_or_create_key

Decision = Literal["accept", "reject"]
State = Literal["unreviewed", "rejected", "accepted", "promoted"]


@dataclass(frozen=True)
class Review:
    decision: Decision
    reason: str
    by: str
    time: str


@dataclass(frozen=True)
class History:
    """Reviews in their order. `promoted`: a promotion followed the last review, which accepted."""

    reviews: tuple[Review, ...] = ()
    promoted: bool = False

    @property
    def state(self) -> State:
        if not self.reviews:
            return "unreviewed"
        if self.reviews[-1].decision == "reject":
            return "rejected"
        return "promoted" if self.promoted else "accepted"


def history_folder(path: Path) -> Path:
    return path.parent / f"{path.stem}.reviews"


def read_history(path: Path, certificate: Certificate) -> History:
    """The decisions about this very certificate; what does not verify is an error, never an empty history."""
    folder = history_folder(path)
    if not (folder / LEDGER_FILE).exists():
        return History()
    found = check(folder)
    if found.problems:
        raise LedgerFault(f"the reviews in {folder} do not verify: {found.problems[0]}", "restore them from a copy")
    if found.public_key != certificate.public_key:
        raise LedgerFault(
            f"the reviews in {folder} are signed by key {found.fingerprint}, not by the laboratory that certified",
            "move them away and review again with that laboratory's key",
        )
    reviews: list[Review] = []
    promoted = False
    for entry in read_entries(folder):
        if entry.kind == "run" and entry.body.get("certificate") != certificate.id:
            raise LedgerFault(f"the reviews in {folder} are of another certificate", "move them away and review again")
        if entry.kind == "review":
            body = entry.body
            reviews.append(Review(body["decision"], str(body["reason"]), str(body["by"]), entry.time))
            promoted = False
        elif entry.kind == "promotion":
            promoted = True
    return History(tuple(reviews), promoted)


def review(path: Path, certificate: Certificate, decision: Decision, reason: str, by: str = "") -> History:
    """Record a decision; the reason is for whoever asks later."""
    if not reason.strip():
        raise UsageError("a review needs a reason", "say why with --reason")
    _append(path, certificate, "review", {"decision": decision, "reason": reason.strip(), "by": by or _somebody()})
    return read_history(path, certificate)


def promote(path: Path, certificate: Certificate) -> History:
    """Mark an accepted certificate as promoted. Whether it still fits its run is for the caller to have checked."""
    history = read_history(path, certificate)
    if history.state == "promoted":
        return history
    if history.state != "accepted":
        last = f": {history.reviews[-1].reason}" if history.reviews else ""
        raise UsageError(f"{path.name} cannot be promoted: it is {history.state}{last}",
                         f"a person looks at it first: klab review accept {path} --reason ...")  # fmt: skip
    _append(path, certificate, "promotion", {"by": _somebody()})
    return read_history(path, certificate)


def _append(path: Path, certificate: Certificate, kind: str, body: dict[str, str]) -> None:
    key = load_or_create_key()
    if key.public.hex != certificate.public_key:
        raise UsageError(
            f"{path.name} was issued by key {certificate.signer.fingerprint}, this laboratory has {key.fingerprint}",
            "review it where it was issued, or set KLAB_HOME to the folder of that laboratory's signing-key",
        )
    read_history(path, certificate)
    with _open(history_folder(path), certificate, key) as ledger:
        ledger.append(kind, body)


def _open(folder: Path, certificate: Certificate, key: SigningKey) -> Ledger:
    if (folder / LEDGER_FILE).exists():
        return Ledger.resume(folder, key)
    return Ledger.create(folder, {"purpose": "reviews", "certificate": certificate.id}, key)


def _somebody() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
