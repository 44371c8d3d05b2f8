"""Whose signature: public keys that a reader has pinned, by name, as ssh's known_hosts does.

A ledger brings its own key along, so its signatures alone say no more than "by whoever made this folder". A key pinned
beforehand says by whom. Not covered: how the pinned key was come by; a fingerprint names 64 bits of it, the key all 256.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.ledger.disk import read_fault
from kernellab.ledger.keys import PublicKey, default_key_path, existing_key

TRUSTED_FILE = "trusted-keys"
_HEX = re.compile(r"[0-9a-f]{16}|[0-9a-f]{64}")
_FORM = "a line is a public key (64 hex digits) or a fingerprint (16), then a name if you like"


@dataclass(frozen=True)
class PinnedKey:
    """`text` is the whole key or its fingerprint; `name` is what the reader calls it."""

    text: str
    name: str = ""

    def is_of(self, key: PublicKey) -> bool:
        return self.text in (key.hex, key.fingerprint)

    @property
    def fingerprint(self) -> str:
        return self.text if len(self.text) == 16 else PublicKey(bytes.fromhex(self.text)).fingerprint

    def __str__(self) -> str:
        return f"{self.fingerprint} ({self.name})" if self.name else self.fingerprint


@dataclass(frozen=True)
class Signer:
    """Whose signature a ledger bears, as far as this reader can tell. `remark`: why it is only the ledger's own word."""

    name: str
    pinned: bool
    words: str
    remark: str = ""
    problem: str = ""


def signer_of(
    public_key: str, asked: Iterable[PinnedKey] = (), trusted: Path | None = None, own: PublicKey | None = None
) -> Signer:
    """`asked`: keys of which one has to be it. `trusted`: a file of pinned keys, if it exists. `own`: the reader's key."""
    try:
        key = PublicKey(bytes.fromhex(public_key))
    except ValueError:
        return Signer("nobody", False, "signed by nobody: the run names no key")
    asked = tuple(asked)
    known = [*asked, *(read_trusted(trusted) if trusted is not None and not asked and trusted.is_file() else [])]
    found = next((pinned for pinned in known if pinned.is_of(key)), None)
    if found is not None:
        name = found.name or f"key {key.fingerprint}"
        return Signer(name, True, f"signed by {name} (pinned), key {key.fingerprint}")
    if asked:
        wanted = " or ".join(map(str, asked))
        problem = f"signed by key {key.fingerprint}, not by the pinned key {wanted}: re-signed, or another laboratory's"
        return Signer("self-signed", False, f"self-signed by key {key.fingerprint}", problem=problem)
    if own == key:
        return Signer("your own key", False, f"signed by your own key {key.fingerprint}")
    where = f"is not in {trusted}" if trusted is not None and trusted.is_file() else "is pinned nowhere (--key pins it)"
    remark = f"self-signed: key {key.fingerprint} {where}"
    return Signer("self-signed", False, f"self-signed by key {key.fingerprint}", remark)


def pinned_keys(text: str) -> list[PinnedKey]:
    """What --key was given: a fingerprint, a whole key, or a file of such lines."""
    given = text.strip().lower().replace(":", "")
    if _HEX.fullmatch(given):
        return [PinnedKey(given)]
    if Path(text).is_file():
        return read_trusted(Path(text))
    raise UsageError(
        f"--key {text!r} is neither a key nor a file", f"in a file {_FORM}; 'klab audit' prints fingerprints"
    )


def read_trusted(path: Path) -> list[PinnedKey]:
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            raise read_fault(path, error) from error
        raise UsageError(f"{path} is not a text file", _FORM) from error
    return [_line(path, number, line) for number, line in enumerate(lines, 1) if line.split("#")[0].strip()]


def _line(path: Path, number: int, line: str) -> PinnedKey:
    text, _, name = line.strip().partition(" ")
    if not _HEX.fullmatch(text.lower()):
        raise UsageError(f"{path} line {number} names no key: {line.strip()[:40]!r}", _FORM)
    return PinnedKey(text.lower(), name.strip(" #\t"))


def default_trusted(environ: Mapping[str, str]) -> Path | None:
    """Beside the signing key; None for a user without a home."""
    try:
        return default_key_path(environ).with_name(TRUSTED_FILE)
    except RuntimeError:
        return None


def own_key() -> PublicKey | None:
    """The user's own, if there is one that can be read; reading a ledger makes none."""
    try:
        key = existing_key(default_key_path(os.environ))
    except (EnvironmentFault, RuntimeError):
        return None
    return key.public if key else None
