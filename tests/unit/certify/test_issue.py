"""Who may issue a certificate, and what stands in the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernellab.certify.certificate import Certificate
from kernellab.certify.history import review
from kernellab.certify.issue import certify
from kernellab.core.errors import UsageError
from kernellab.ledger.keys import SigningKey

from .conftest import PUBLISHED


def test_a_run_of_another_laboratory_is_refused(copied: Path, confirmed: int) -> None:
    with pytest.raises(UsageError, match="is a foreign run"):
        certify(copied, confirmed, key=SigningKey.generate())
    assert not (copied / "certificates").exists()


def test_a_published_run_is_foreign_here() -> None:
    with pytest.raises(UsageError, match="is a foreign run"):
        certify(PUBLISHED / "softmax-bf16-quick", 5)


def test_issuing_again_is_fine_until_somebody_has_reviewed(
    issued: tuple[Certificate, Path], copied: Path, confirmed: int
) -> None:
    certificate, path = issued
    again, _ = certify(copied, confirmed)
    assert again.anchor == certificate.anchor
    review(path, again, "accept", "fine")
    with pytest.raises(UsageError, match="has been reviewed"):
        certify(copied, confirmed)


def test_a_file_of_somebody_elses_is_not_overwritten(copied: Path, confirmed: int, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"mine": True}))
    with pytest.raises(UsageError, match="exists already"):
        certify(copied, confirmed, mine)
    assert json.loads(mine.read_text()) == {"mine": True}
