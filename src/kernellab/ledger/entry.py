"""The two kinds of line in a run folder: entries (what happened) and heads (signed promises about them)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kernellab.core.ids import canonical_json, digest
from kernellab.ledger.keys import PublicKey, SigningKey

LEDGER_FILE = "ledger.jsonl"
HEADS_FILE = "heads.jsonl"
GENESIS = "run"
END = "end"
AFTERWARDS = ("pruned",)  # may follow the end without reopening a run
ADOPTED = "adopted"


@dataclass(frozen=True, slots=True)
class Entry:
    seq: int
    kind: str
    time: str
    run: str
    body: dict[str, Any]

    def line(self) -> bytes:
        """The leaf of the Merkle tree: these very bytes, without the newline."""
        return self.line_around(canonical_json(self.body))

    def line_around(self, body: bytes) -> bytes:
        """The same for a body already serialised, half of the cost; "body" sorts before the others."""
        rest = canonical_json({"kind": self.kind, "run": self.run, "seq": self.seq, "time": self.time})
        return b'{"body":' + body + b"," + rest[1:]


@dataclass(frozen=True, slots=True)
class Head:
    """ "The first `size` entries of `run` hash to `root`", signed."""

    size: int
    root: str
    run: str
    time: str
    sig: str = ""

    def statement(self) -> bytes:
        return canonical_json({"root": self.root, "run": self.run, "size": self.size, "time": self.time})

    def signed(self, key: SigningKey) -> Head:
        return Head(self.size, self.root, self.run, self.time, key.sign(self.statement()).hex())

    def signed_by(self, key: PublicKey) -> bool:
        try:
            signature = bytes.fromhex(self.sig)
        except ValueError:
            return False
        return key.verifies(signature, self.statement())

    def line(self) -> bytes:
        fields = {"root": self.root, "run": self.run, "sig": self.sig, "size": self.size, "time": self.time}
        return canonical_json(fields)


_ENTRY_TYPES = {"seq": int, "kind": str, "time": str, "run": str, "body": dict}
_HEAD_TYPES = {"size": int, "root": str, "run": str, "time": str, "sig": str}


def run_id_of(genesis_body: dict[str, Any]) -> str:
    """A run is named by what it started with, nonce and public key included."""
    return digest(genesis_body)[:16]


def parse_entry(line: bytes) -> Entry:
    """ValueError says what is off. Whether the bytes are canonical is a question of its own."""
    entry = Entry(**_fields(line, _ENTRY_TYPES))
    if entry.seq < 0:
        raise ValueError("a negative seq")
    return entry


def parse_head(line: bytes) -> Head:
    head = Head(**_fields(line, _HEAD_TYPES))
    if head.size < 1:
        raise ValueError("a head over no entries")
    if not is_canonical(head, line):
        raise ValueError("not in canonical form")
    return head


def is_canonical(parsed: Entry | Head, line: bytes) -> bool:
    try:
        return parsed.line() == line
    except (ValueError, RecursionError):  # NaN, lone surrogates: nothing that the writer would have written
        return False


def is_json(line: bytes) -> bool:
    """False for what a torn write leaves: no proper prefix of a JSON object is itself JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _fields(line: bytes, types: dict[str, type]) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error
    if not isinstance(fields, dict) or fields.keys() != types.keys():
        raise ValueError(f"not an object with the keys {', '.join(types)}")
    for name, kind in types.items():
        if type(fields[name]) is not kind:
            raise ValueError(f"{name} is not of type {kind.__name__}")
    return fields
