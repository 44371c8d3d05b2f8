"""Where a ledger comes from: whose key signed it, which code made it, and who else saw its root.

Covered, given a witness: a ledger signed anew (by a pinned key), or cut back or changed since it was anchored. Not covered:
a key that was pinned on a forger's word; an anchor that nobody but the forger ever saw.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.files import read_plain
from kernellab.core.own_code import own_code
from kernellab.ledger.anchors import ANCHORS_FILE, default_file, prefix_roots, read_anchors
from kernellab.ledger.check import LedgerCheck
from kernellab.ledger.disk import read_fault
from kernellab.ledger.git_anchor import commit_of, committed_anchors, is_repository
from kernellab.ledger.keys import PublicKey
from kernellab.ledger.run import Run
from kernellab.ledger.timestamp import BadReply, TimeStamp, imprint_of, read_reply
from kernellab.ledger.trusted import PinnedKey, Signer, signer_of

STAMP = ".tsr"
STAMPS = f"root*{STAMP}"


@dataclass(frozen=True)
class Witnesses:
    """What stands outside the folder. `keys`: one of them has to have signed; `trusted`: a file of known keys; `own`: the
    reader's key; `anchors`: files, repositories or replies that must hold this run; `tsa_ca`: PEM, for time stamps."""

    keys: tuple[PinnedKey, ...] = ()
    trusted: Path | None = None
    own: PublicKey | None = None
    anchors: tuple[Path, ...] = ()
    tsa_ca: Path | None = None


NOBODY = Witnesses()


@dataclass(frozen=True)
class Anchored:
    """A root that others could see: the first `size` entries of now `entries`. `words` says so for people."""

    kind: str
    where: str
    time: str
    size: int
    entries: int
    root: str
    by: str
    words: str

    def data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Origin:
    signer: Signer
    public_key: str = ""
    code: str = ""
    made_by: str = ""
    anchors: list[Anchored] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def look_at(folder: Path, found: LedgerCheck, witnesses: Witnesses = NOBODY) -> Origin:
    signer = signer_of(found.public_key, witnesses.keys, witnesses.trusted, witnesses.own)
    origin = Origin(signer, found.public_key)
    if signer.problem:
        origin.problems.append(signer.problem)
    _Anchors(folder, found, witnesses, origin).look()
    if signer.remark and not origin.anchors:
        origin.remarks.append(signer.remark)
    _code(folder, origin)
    return origin


def _code(folder: Path, origin: Origin) -> None:
    """The code of the laboratory at the run's start, and what went on with it."""
    facts: dict[str, str] = {}
    try:
        for entry in Run(folder).environments:
            facts.setdefault(entry.record.code, entry.record.version)
            origin.code = origin.code or entry.record.code
    except LedgerFault:
        return  # told by whoever reads the entries
    named = {code: version for code, version in facts.items() if code}
    origin.made_by = ", then ".join(f"kernellab {version}, code {code[:16]}" for code, version in named.items())
    if not named:
        origin.remarks.append(
            "made by code that is not named: the run is older than the digest of the laboratory's code"
        )
    for code in named:
        if code != own_code():
            origin.remarks.append(
                f"made by other code (digest {code[:16]}) than the one that audits it ({own_code()[:16]})"
            )


class _Anchors:
    """Finds the anchors of a run and holds each against the entries that it speaks of."""

    def __init__(self, folder: Path, found: LedgerCheck, witnesses: Witnesses, origin: Origin) -> None:
        self._folder, self._found, self._origin, self._witnesses = folder, found, origin, witnesses
        self._roots: list[str] = []

    def look(self) -> None:
        for place in self._witnesses.anchors:
            before = len(self._origin.anchors) + len(self._origin.problems)
            self._place(place)
            if before == len(self._origin.anchors) + len(self._origin.problems):
                self._origin.problems.append(
                    f"{place} holds no anchor of run {self._found.run}: another run, or signed anew"
                )
        beside = default_file(self._folder)
        if not self._witnesses.anchors and beside.is_file():
            self._file(beside)
            if not self._origin.anchors and not self._origin.problems:
                self._origin.remarks.append(f"{beside} holds no anchor of this run (klab anchor adds one)")
        for reply in sorted(self._folder.glob(STAMPS)):
            self._reply(reply)

    def _place(self, place: Path) -> None:
        if place.is_dir() and is_repository(place):
            self._repository(place)
        elif place.is_dir() and (place / ANCHORS_FILE).is_file():
            self._file(place / ANCHORS_FILE)
        elif place.is_file() and place.suffix == STAMP:
            self._reply(place)
        elif place.is_file():
            self._file(place)
        else:
            raise UsageError(
                f"there are no anchors at {place}", "give a file of anchors, a git repository or a .tsr reply"
            )

    def _file(self, path: Path) -> None:
        anchors, problems = read_anchors(_bytes(path), str(path))
        self._origin.problems.extend(problems)
        for anchor in anchors:
            if anchor.run == self._found.run:
                self._hold("file", str(path), anchor.time, anchor.size, anchor.root)

    def _repository(self, place: Path) -> None:
        data, rewritten = committed_anchors(place)
        anchors, problems = read_anchors(data, f"{place / ANCHORS_FILE} (as committed)")
        self._origin.problems.extend((*problems, *rewritten))
        for anchor in anchors:
            if anchor.run == self._found.run and (commit := commit_of(place, anchor)) is not None:
                where = f"{place} commit {commit.id[:12]}"
                self._hold("git", where, commit.date, anchor.size, anchor.root, commit.id)

    def _hold(self, kind: str, where: str, time: str, size: int, root: str, by: str = "", more: str = "") -> None:
        entries = self._found.size
        if size > entries:
            text = f"anchored in {where} at {time} with {size} entries, {entries} are there: the ledger was cut back"
            self._origin.problems.append(text)
        elif (now := self._root(size)) != root:
            text = (
                f"its first {size} entries hash to {now}, anchored in {where} at {time} was {root}: they were changed"
            )
            self._origin.problems.append(text)
        else:
            words = f"anchored in {where} at {time}, {size} entries of now {entries}{more}"
            self._origin.anchors.append(Anchored(kind, where, time, size, entries, root, by, words))

    def _reply(self, path: Path) -> None:
        ca = _bytes(self._witnesses.tsa_ca) if self._witnesses.tsa_ca else b""
        try:
            stamp = read_reply(_bytes(path), ca)
        except BadReply as error:
            self._origin.problems.append(f"{path}: {error}")
            return
        size = size_of(self._every_root(), stamp.imprint)
        if not size:
            text = f"{path} is of another root: no first entries of this ledger have the imprint {stamp.imprint}"
            self._origin.problems.append(text)
            return
        more = f", by {stamp.authority}{_doubt(path, stamp)}"
        self._hold("rfc3161", str(path), stamp.time, size, self._root(size), stamp.authority, more)

    def _root(self, size: int) -> str:
        return self._every_root()[size - 1] if size >= 1 else ""

    def _every_root(self) -> list[str]:
        self._roots = self._roots or list(prefix_roots(self._folder))
        return self._roots


def size_of(roots: Iterable[str], imprint: str) -> int:
    """Of how many first entries a time stamp is, given the roots after each; 0 for none."""
    return next((size for size, root in enumerate(roots, 1) if imprint_of(root) == imprint), 0)


def _doubt(path: Path, stamp: TimeStamp) -> str:
    """What was not checked of a time stamp, and how to check it."""
    hint = f"openssl ts -verify -digest {stamp.imprint} -in {path} -CAfile CA.pem"
    if stamp.signed == "unchecked":
        return f" (imprint checked, the authority's signature not checked: {hint})"
    if stamp.signed == "not-asked":
        return f" (certificate {stamp.certificate}, signature good; no CA was asked: --tsa-ca CA.pem, or {hint})"
    return f" (certificate {stamp.certificate}, vouched for by the given CA)"


def _bytes(path: Path) -> bytes:
    try:
        return read_plain(path)
    except OSError as error:
        raise read_fault(path, error) from error
