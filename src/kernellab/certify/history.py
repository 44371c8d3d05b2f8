"""What people decided about a certified trial: signed, numbered decisions, kept in the run and in the laboratory's home.

A rejection is of the trial, so it counts for every copy of its certificate and for every later certificate of it. An
acceptance and a promotion are of the one certificate that was looked at. A decision is made with the laboratory's key, the
one that signed the certificate; `by` is a name for people. Nothing is taken back: of what counts the last decides.

Covered: decisions that were changed or forged; one that is missing in the run or in the home but not in both (both are
read); one that is missing in both with a later one left; copies of the run, on the machine of the laboratory.
Not covered: taking the last decisions out of the run where the laboratory's home is not at hand, or out of both; a
holder of the key who accepts what nobody looked at.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from kernellab.certify.certificate import Certificate, write_whole
from kernellab.certify.confirmed_trial import find_run, run_of
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.files import read_plain
from kernellab.core.ids import canonical_json, digest
from kernellab.core.records import Record, dump
from kernellab.ledger.disk import read_fault
from kernellab.ledger.keys import default_key_path, load_or_create_key

Decision = Literal["accept", "reject"]
State = Literal["unreviewed", "rejected", "accepted", "promoted", "unknown"]
REVIEWS = "reviews"
_MOST_BYTES = 1 << 20


class Review(Record):
    """One decision about trial `trial` of run `run`; `number` counts them from 1, `certificate` is what was looked at."""

    run: str
    trial: int
    certificate: str
    number: int
    decision: Literal["accept", "reject", "promote"]
    reason: str
    by: str
    time: str
    signature: str = ""

    def statement(self) -> bytes:
        return canonical_json({k: v for k, v in dump(self).items() if k != "signature"})

    @property
    def file(self) -> str:
        return f"trial-{self.trial}-{self.number}-{self.decision}-{digest(dump(self))[:12]}.json"


@dataclass(frozen=True)
class History:
    """The reviews that count for one certificate, in their order. `promoted`: no rejection followed its promotion.

    `known` is false where neither the run nor the laboratory's home could say.
    """

    reviews: tuple[Review, ...] = ()
    promoted: bool = False
    known: bool = True

    @property
    def state(self) -> State:
        if not self.reviews:
            return "unreviewed" if self.known else "unknown"
        if self.reviews[-1].decision == "reject":
            return "rejected"
        return "promoted" if self.promoted else "accepted"


def read_history(path: Path, certificate: Certificate, run: Path | None = None) -> History:
    """The decisions that count for this certificate; what does not verify is an error, never an empty history."""
    places = _places(path, certificate, run)
    every = _read(places, certificate)
    counted = [r for r in every if r.decision == "reject" or r.certificate == certificate.id]
    reviews = tuple(r for r in counted if r.decision != "promote")
    rejected = max((n for n, r in enumerate(counted) if r.decision == "reject"), default=-1)
    promoted = any(r.decision == "promote" for r in counted[rejected + 1 :])
    return History(reviews, promoted, known=bool(every) or kept_with_run(path, certificate, run))


def decisions_in(run: Path, certificate: Certificate) -> list[Review]:
    """Those that lie in a run's folder, about any certificate of the trial; what does not verify is an error."""
    return _read([run / REVIEWS], certificate)


def kept_with_run(path: Path, certificate: Certificate, run: Path | None = None) -> bool:
    """Whether the run is at hand, so that its decisions are known and new ones go with it."""
    return find_run(path, certificate, run) is not None


def review(
    path: Path, certificate: Certificate, decision: Decision, reason: str, by: str = "", run: Path | None = None
) -> History:
    """Record a decision; the reason is for whoever asks later."""
    if not reason.strip():
        raise UsageError("a review needs a reason", "say why with --reason")
    _append(path, certificate, decision, reason.strip(), by, run)
    return read_history(path, certificate, run)


def promote(path: Path, certificate: Certificate, run: Path | None = None) -> History:
    """Mark an accepted certificate as promoted. Whether it still fits its run is for the caller to have checked."""
    history = read_history(path, certificate, run)
    if history.state == "promoted":
        return history
    if history.state != "accepted":
        last = f": {history.reviews[-1].reason}" if history.reviews else ""
        raise UsageError(f"{path.name} cannot be promoted: it is {history.state}{last}",
                         f"a person looks at it first: klab review accept {path} --reason ...")  # fmt: skip
    _append(path, certificate, "promote", "", "", run)
    return read_history(path, certificate, run)


def _append(
    path: Path,
    certificate: Certificate,
    decision: Decision | Literal["promote"],
    reason: str,
    by: str,
    run: Path | None,
) -> None:
    key = load_or_create_key()
    if key.public.hex != certificate.public_key:
        raise UsageError(
            f"{path.name} was issued by key {certificate.signer.fingerprint}, this laboratory has {key.fingerprint}",
            "review it where it was issued, or set KLAB_HOME to the folder of that laboratory's signing-key",
        )
    places = _places(path, certificate, run)
    every = _read(places, certificate)
    made = Review(
        run=certificate.evidence.run, trial=certificate.evidence.trial, certificate=certificate.id,
        number=every[-1].number + 1 if every else 1, decision=decision, reason=reason, by=by or _somebody(),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip
    signed = made.model_copy(update={"signature": key.sign(made.statement()).hex()})
    for place in places:
        for known in (*every, signed):
            if not (place / known.file).exists():
                write_whole(place / known.file, known.model_dump_json(indent=1) + "\n")


def _places(path: Path, certificate: Certificate, run: Path | None) -> list[Path]:
    """Where decisions about the trial are kept: the run, where it is at hand, and the laboratory's home."""
    wanted = certificate.evidence.run
    folder = find_run(path, certificate, run)
    if folder is not None and run_of(folder) != wanted:
        raise UsageError(f"the certificate is of run {wanted}, not of {folder}", "name its run with --run")
    if not wanted.isalnum():
        raise LedgerFault(f"'{wanted}' is no name of a run", "certify the trial again")
    home = default_key_path(os.environ).parent / REVIEWS / wanted
    return [home] if folder is None else [folder / REVIEWS, home]


def _read(places: Sequence[Path], certificate: Certificate) -> list[Review]:
    """Every decision about the trial, from all places, in order; of two with one number a rejection counts as the later."""
    trial = certificate.evidence.trial
    found: dict[str, Review] = {}
    for file in _files(places, trial):
        try:
            made = Review.model_validate_json(read_plain(file, _MOST_BYTES))
        except OSError as error:
            raise read_fault(file, error) from error
        except ValueError:
            raise LedgerFault(f"the review {file} cannot be read", "restore it from a copy") from None
        if (made.run, made.trial) != (certificate.evidence.run, trial):
            raise LedgerFault(f"the review {file} is of another trial", "move it away")
        if not _genuine(made, certificate):
            raise LedgerFault(f"the review {file} does not verify: changed, or signed by another key than "
                              f"{certificate.signer.fingerprint}, which certified", "restore it from a copy")  # fmt: skip
        found[made.file] = made
    every = sorted(found.values(), key=lambda r: (r.number, r.decision == "reject", r.file))
    missing = sorted({*range(1, every[-1].number + 1)} - {r.number for r in every}) if every else []
    if missing:
        raise LedgerFault(f"review {missing[0]} of trial {trial} was taken away: it is in none of "
                          f"{', '.join(map(str, places))}", "restore it from a copy")  # fmt: skip
    return every


def _files(places: Iterable[Path], trial: int) -> list[Path]:
    return [file for place in places for file in sorted(place.glob(f"trial-{trial}-*.json"))]


def _genuine(made: Review, certificate: Certificate) -> bool:
    try:
        return certificate.signer.verifies(bytes.fromhex(made.signature), made.statement())
    except ValueError:
        return False


def _somebody() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
