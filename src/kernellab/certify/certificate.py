"""The certificate: one confirmed trial, with everything its claim rests on, signed by the laboratory that measured it.

Covered: any change to any field breaks the signature; source, machine code, plans and raw samples are named by SHA-256.
Not covered: who holds the key. A certificate says which key signed it; whether to believe that key is the reader's to say.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.files import read_plain, replace_file
from kernellab.core.ids import canonical_json, digest
from kernellab.core.pairs import pairs_kept
from kernellab.core.records import Dims, Param, Record, Trust, dump, part_id
from kernellab.ledger.disk import access_fault
from kernellab.ledger.keys import PublicKey, SigningKey

FORMAT = 1
_MOST_BYTES = 64 << 20


class Subject(Record):
    """The task. `fingerprint` changes with its text; whether its answers changed is the anchor's to say. `remarks`: what its
    judge cannot see or judges loosely, as the run began with it."""

    name: str
    fingerprint: str
    builtin: bool
    exact: bool
    remarks: list[str] = Field(default_factory=list)

    @model_serializer(mode="wrap")
    def _as_signed(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the field where it is empty: so older certificates keep the bytes that were signed."""
        return {k: v for k, v in plain(self).items() if k != "remarks" or v}


class KernelFacts(Record):
    """The candidate and what was built of it. `source`, `code` and `plans` name blobs of the run; `text` hashes the SOURCE
    and FLAGS that the candidate gave; `abilities`: what the machine code can do besides computing. Older certificates
    have neither of the last two."""

    name: str
    source: str
    params: dict[str, Param]
    backend: str
    artifact: str
    code: str
    plans: str
    compiler: str
    flags: list[str]
    abilities: list[str] | None = None
    text: str = ""

    @model_serializer(mode="wrap")
    def _as_signed(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the fields that older certificates lack: so those keep the bytes that were signed."""
        given = plain(self)
        return {k: v for k, v in given.items() if (k != "text" or v) and (k != "abilities" or v is not None)}


class Anchor(Record):
    """The reference's answers on a fixed probe, as a hash (anchor.py says how it is made and what it does not see)."""

    method: str
    seed: int
    cases: list[str]
    elements: int
    inputs: str
    outputs: str


class Accuracy(Record):
    """The confirmation's verdict: the largest error anywhere, and the largest that would have been accepted."""

    cases: int
    max_abs_err: float
    max_ulp: float
    budget_ulp: float
    deterministic: bool


class Speed(Record):
    """The confirmation's figures with their 95 % interval; `samples` hashes the raw pairs behind them."""

    baseline: str
    threads: int
    pairs: int
    dropped: int
    speedup: float
    speedup_low: float
    speedup_high: float
    threshold: float
    win: bool
    latency_s: float
    gb_per_s: float
    of_floor: float
    samples: str

    @property
    def figure(self) -> str:
        """The speed-up with its interval and what was dropped to get it: one is never printed without the other."""
        kept = pairs_kept(self.pairs, self.dropped)
        return f"{self.speedup:.3f}x of {self.baseline} [{self.speedup_low:.3f}, {self.speedup_high:.3f}] ({kept})"


class CertifiedPart(Record):
    """What runs at one shape: the SHA-256 of its machine code and of its plan."""

    code: str
    plan: str

    @property
    def id(self) -> str:
        return part_id(self.code, self.plan)


class Shapes(Record):
    """`timed` is where the figures hold. `low` to `high` spans what was judged: `judged` shapes, edges included.

    `parts` is what the certificate covers: each of those shapes with the machine code and the plan that were judged there
    and, at `timed`, timed. Certificates of older versions have none.
    """

    timed: Dims
    judged: int
    low: Dims
    high: Dims
    parts: dict[str, CertifiedPart] = Field(default_factory=dict)

    @model_serializer(mode="wrap")
    def _as_signed(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the field where it is empty: so older certificates keep the bytes that were signed."""
        return {k: v for k, v in plain(self).items() if k != "parts" or v}


class Evidence(Record):
    """Where the records are: the run and its first `size` entries, which hash to `root`."""

    run: str
    root: str
    size: int
    trial: int


class Certificate(Record):
    format: int = FORMAT
    issued: str
    subject: Subject
    kernel: KernelFacts
    anchor: Anchor
    accuracy: Accuracy
    speed: Speed
    shapes: Shapes
    trust: Trust
    tier: str
    effort: str
    environment: dict[str, Any]
    evidence: Evidence
    public_key: str
    signature: str = ""

    def statement(self) -> bytes:
        """What is signed: every field but the signature."""
        return canonical_json({k: v for k, v in content(self).items() if k != "signature"})

    def signed(self, key: SigningKey) -> Certificate:
        return self.model_copy(update={"signature": key.sign(self.statement()).hex()})

    @property
    def signer(self) -> PublicKey:
        return PublicKey(bytes.fromhex(self.public_key))

    @property
    def named_key(self) -> str:
        """The key by its fingerprint, as everywhere; a changed file may hold what is no key."""
        try:
            return f"key {self.signer.fingerprint}"
        except ValueError:
            return f"the key in it, {self.public_key[:16]!r}, which is none"

    @property
    def id(self) -> str:
        """Names the signed certificate; reviews are of this id and no other."""
        return digest(content(self))

    @property
    def genuine(self) -> bool:
        try:
            return self.signer.verifies(bytes.fromhex(self.signature), self.statement())
        except ValueError:
            return False


def read_certificate(path: Path) -> Certificate:
    """A certificate whose signature fits, or an error that says what is wrong with the file."""
    try:
        text = read_plain(path, _MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise UsageError(f"{path} cannot be read: {reason}", "give the file that 'klab certify' wrote") from None
    try:
        certificate = Certificate.model_validate(json.loads(text, object_pairs_hook=_once))
    except (ValueError, RecursionError) as error:
        what = _wrong(error)
        raise UsageError(f"{path} is not a certificate ({what})", "give the file that 'klab certify' wrote") from None
    if certificate.format != FORMAT:
        raise UsageError(f"{path} has format {certificate.format}, this version reads {FORMAT}",
                         "use the version of kernellab that wrote it")  # fmt: skip
    if not certificate.genuine:
        raise LedgerFault(
            f"{path} was changed after it was signed: the signature does not fit {certificate.named_key}",
            "restore the file, or certify the trial again",
        )
    return certificate


class _Twice(ValueError):
    """A key that an object has two times: readers may differ in which of them counts."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(f"'{next(k for k in keys if keys.count(k) > 1)}' stands in it twice")
    return found


def _wrong(error: Exception) -> str:
    """What is wrong with a file that is no certificate, in words."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg'].lower()}" if place else "it holds no fields"
    return str(error) if isinstance(error, _Twice) else "not JSON"


def content(certificate: Certificate) -> dict[str, Any]:
    """Plain data, with those fields alone that it was signed with."""
    return dump(certificate)


def text_of(certificate: Certificate) -> str:
    return json.dumps(content(certificate), indent=1, sort_keys=True) + "\n"


def write_certificate(path: Path, certificate: Certificate) -> None:
    write_whole(path, text_of(certificate))


def write_whole(path: Path, text: str) -> None:
    """The file appears with all of its contents or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise access_fault(path.parent, error) from error
