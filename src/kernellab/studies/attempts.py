"""Every study that a key has registered, so that a question that was asked until its answer pleased does not look like one
that was asked once.

Covered: the same id registered anew with the same key, the same hypothesis or a changed one; the new study's record names
the earlier attempts and what came of them, and so does its paper.
Not covered: another key, another machine, or a registry that its owner removed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from kernellab.core.errors import EnvironmentFault
from kernellab.core.files import remedy
from kernellab.core.records import Record
from kernellab.ledger.keys import default_key_path, load_or_create_key


class Attempt(Record):
    """A registered study; `verdict` is '' until there is one, and for good where the study was given up."""

    id: str
    digest: str
    run: str
    device: str
    began: str
    verdict: str = ""

    def words(self, digest: str) -> str:
        """In a sentence of a later study; `digest`: of that study's hypothesis."""
        what = "" if self.digest == digest else "another hypothesis of this id, "
        return f"run {self.run} of {self.began[:10]} ({what}{self.verdict or 'no verdict'})"


def earlier_attempts(id: str) -> list[Attempt]:
    """Those with this id and this user's key, oldest first."""
    found: dict[str, Attempt] = {}
    for attempt in _lines(registry()):
        if attempt.id == id:
            found[attempt.run] = attempt.model_copy(update={"began": found.get(attempt.run, attempt).began})
    return list(found.values())


def note_attempt(id: str, digest: str, run: str, device: str, verdict: str = "") -> None:
    """One more line; a study's second line gives its verdict."""
    began = datetime.now(UTC).isoformat(timespec="seconds")
    attempt = Attempt(id=id, digest=digest, run=run, device=device, began=began, verdict=verdict)
    line = json.dumps(attempt.model_dump()).encode() + b"\n"
    place = registry()
    try:
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {place}: {error.strerror}; a study that is not noted could be asked again unseen",
            remedy(error, "make its folder writable"),
        ) from error


def registry() -> Path:
    """Beside the signing key, one file a key."""
    key = load_or_create_key()
    return default_key_path(os.environ).with_name(f"studies-{key.fingerprint}.jsonl")


def _lines(place: Path) -> Iterator[Attempt]:
    """A line that was cut off by a crash is no attempt; the others count."""
    for line in place.read_bytes().splitlines() if place.is_file() else ():
        try:
            yield Attempt.model_validate_json(line)
        except ValidationError:
            continue
