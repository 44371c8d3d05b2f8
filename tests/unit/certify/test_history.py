"""Reviews: recorded, signed, never taken back; the last one counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.certify.certificate import Certificate
from kernellab.certify.history import history_folder, promote, read_history, review
from kernellab.certify.issue import certify
from kernellab.core.errors import LedgerFault, UsageError


def test_nothing_is_promoted_without_a_review(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    assert read_history(path, certificate).state == "unreviewed"
    with pytest.raises(UsageError, match="it is unreviewed"):
        promote(path, certificate)


def test_the_last_review_counts_and_all_are_kept(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    assert review(path, certificate, "reject", "too noisy", "Ann").state == "rejected"
    with pytest.raises(UsageError, match="it is rejected: too noisy"):
        promote(path, certificate)
    assert review(path, certificate, "accept", "measured again", "Bob").state == "accepted"
    assert promote(path, certificate).state == "promoted"
    assert promote(path, certificate).state == "promoted"
    history = review(path, certificate, "reject", "found a fault", "Ann")
    assert history.state == "rejected"
    assert [(r.decision, r.reason, r.by) for r in history.reviews] == [
        ("reject", "too noisy", "Ann"), ("accept", "measured again", "Bob"), ("reject", "found a fault", "Ann"),
    ]  # fmt: skip
    assert review(path, certificate, "accept", "fault was none").state == "accepted"  # and has to be promoted anew


def test_a_review_needs_a_reason(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    with pytest.raises(UsageError, match="needs a reason"):
        review(path, certificate, "accept", "  ")
    assert not history_folder(path).exists()


def test_another_laboratory_cannot_review(
    issued: tuple[Certificate, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate, path = issued
    monkeypatch.setenv("KLAB_HOME", str(tmp_path / "other"))
    with pytest.raises(UsageError, match="this laboratory has"):
        review(path, certificate, "accept", "let me in")


def test_a_changed_review_is_found(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    review(path, certificate, "reject", "wrong")
    ledger = history_folder(path) / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"reject"', '"accept"'))
    with pytest.raises(LedgerFault, match="do not verify"):
        read_history(path, certificate)


def test_reviews_of_another_certificate_do_not_count(
    issued: tuple[Certificate, Path], copied: Path, confirmed: int
) -> None:
    certificate, path = issued
    review(path, certificate, "accept", "fine")
    other, elsewhere = certify(copied, confirmed, path.with_name("other.json"))
    if other.id == certificate.id:
        other = other.model_copy(update={"issued": "later"})
    history_folder(path).rename(history_folder(elsewhere))
    with pytest.raises(LedgerFault, match="of another certificate"):
        read_history(elsewhere, other)
