"""A proof that entries stand in a signed ledger, which is checked without the ledger: a file of a few kilobytes.

It holds the entries' own bytes, each with its path up the Merkle tree, the signed head that those paths lead to, and the
run's first entry, whose hash names the run and which names its key.
Covered: an entry, a path, a head or a key that was changed; entries of another run or from another place in it. Not covered:
who holds the key (pin it), what else the ledger says, and entries that were appended after the proof was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.files import read_plain
from kernellab.core.records import Record
from kernellab.ledger.check import require_sound
from kernellab.ledger.entry import (
    HEADS_FILE,
    LEDGER_FILE,
    Entry,
    Head,
    is_canonical,
    parse_entry,
    parse_head,
    run_id_of,
)
from kernellab.ledger.keys import PublicKey
from kernellab.ledger.lines import Lines
from kernellab.ledger.merkle import inclusion_proof, leaf_hash, verify_inclusion

FORMAT = 1
_MOST_BYTES = 256 << 20
_FIX = "give a file that 'klab prove RUN TRIAL' wrote"


class ProvenEntry(Record):
    """`line`: the entry as it stands in the ledger. `path`: the hashes beside its way up to the root, lowest first."""

    index: int = Field(ge=0)
    line: str
    path: list[str]

    def entry(self) -> Entry:
        return parse_entry(self.line.encode())


class InclusionProof(Record):
    """`head`: the signed line of the ledger's heads. `entries`: the first is the run's first entry."""

    format: int = FORMAT
    public_key: str
    head: str
    entries: list[ProvenEntry] = Field(min_length=1)

    def promised(self) -> Head:
        return parse_head(self.head.encode())


def make_proof(folder: Path, seqs: Sequence[int]) -> InclusionProof:
    """That these entries stand in the ledger, under its last head. A ledger that is not sound proves nothing."""
    found = require_sound(folder, signed=True)
    lines = list(Lines(folder / LEDGER_FILE))[: found.size]
    leaves = [leaf_hash(line) for line in lines]
    return InclusionProof(
        public_key=found.public_key,
        head=_head(folder, found.size, found.root),
        entries=[
            ProvenEntry(index=seq, line=lines[seq].decode(), path=[h.hex() for h in inclusion_proof(leaves, seq)])
            for seq in dict.fromkeys((0, *seqs))
        ],
    )


def _head(folder: Path, size: int, root: str) -> str:
    for line in Lines(folder / HEADS_FILE):
        head = parse_head(line)
        if (head.size, head.root) == (size, root):
            return line.decode()
    raise LedgerFault(f"{folder} has no signed head over all of its {size} entries", f"klab resume {folder} signs them")


def read_proof(path: Path) -> InclusionProof:
    try:
        return InclusionProof.model_validate_json(read_plain(path, _MOST_BYTES))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", _FIX) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "its text"
        raise UsageError(f"{path} is no proof: {where}: {first['msg']}", _FIX) from None


def proof_problems(proof: InclusionProof) -> Iterator[str]:
    """What does not hold, in words; nothing for a proof that does."""
    if proof.format != FORMAT:
        yield f"it is of format {proof.format}, and this version checks {FORMAT}"
        return
    try:
        key, head = PublicKey(bytes.fromhex(proof.public_key)), proof.promised()
        bytes.fromhex(head.root)
    except ValueError as error:
        yield f"its key or its head was edited: {error}"
        return
    if not head.signed_by(key):
        yield f"the head's signature does not fit: it was edited, or signed by another key than {key.fingerprint}"
    places = [proven.index for proven in proof.entries]
    if places != sorted(set(places)):
        yield f"its entries {places} are not in the ledger's order, each once: the last one told would not be the last"
    for number, proven in enumerate(proof.entries):
        yield from _entry_problems(proven, head)
        if number == 0:
            yield from _genesis_problems(proven, head, key)


def _entry_problems(proven: ProvenEntry, head: Head) -> Iterator[str]:
    line = proven.line.encode()
    try:
        entry, path = parse_entry(line), [bytes.fromhex(text) for text in proven.path]
    except ValueError as error:
        yield f"entry {proven.index} was edited: {error}"
        return
    if (entry.run, entry.seq) != (head.run, proven.index) or not is_canonical(entry, line):
        yield f"entry {proven.index} is not one of run {head.run} at that place: it says run {entry.run}, {entry.seq}"
    if not verify_inclusion(leaf_hash(line), proven.index, head.size, path, bytes.fromhex(head.root)):
        yield f"entry {proven.index} does not lead to the signed root: the entry or its path was edited"


def _genesis_problems(proven: ProvenEntry, head: Head, key: PublicKey) -> Iterator[str]:
    """The run's name is the hash of its first entry, and that entry names the key."""
    try:
        body = proven.entry().body
        named = run_id_of(body)
    except (ValueError, RecursionError):
        return  # told before: it is no entry, or not one in canonical form
    if proven.index != 0 or named != head.run:
        yield f"the first entry is not the one that names run {head.run}"
    if body.get("public_key") != key.hex:
        yield f"the run was begun under another key than {key.fingerprint}"
