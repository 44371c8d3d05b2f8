"""Reviews: recorded, signed, never taken back; the last one counts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from kernellab.certify.certificate import Certificate, write_certificate
from kernellab.certify.history import REVIEWS, Decision, promote, read_history, review
from kernellab.core.errors import EnvironmentFault, LedgerFault, UsageError
from kernellab.ledger.keys import load_or_create_key


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
    assert review(path, certificate, "accept", "still fine", "Cid").state == "promoted"
    history = review(path, certificate, "reject", "found a fault", "Ann")
    assert history.state == "rejected"
    assert [(r.decision, r.reason, r.by) for r in history.reviews] == [
        ("reject", "too noisy", "Ann"), ("accept", "measured again", "Bob"), ("accept", "still fine", "Cid"),
        ("reject", "found a fault", "Ann"),
    ]  # fmt: skip
    assert review(path, certificate, "accept", "fault was none").state == "accepted"  # and has to be promoted anew


def test_a_review_needs_a_reason(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    with pytest.raises(UsageError, match="needs a reason"):
        review(path, certificate, "accept", "  ")
    assert read_history(path, certificate).state == "unreviewed"


def test_another_laboratory_cannot_review(
    issued: tuple[Certificate, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate, path = issued
    monkeypatch.setenv("KLAB_HOME", str(tmp_path / "other"))
    with pytest.raises(UsageError, match="this laboratory has"):
        review(path, certificate, "accept", "let me in")


def test_a_changed_review_is_found(issued: tuple[Certificate, Path], copied: Path) -> None:
    certificate, path = issued
    review(path, certificate, "reject", "wrong")
    (file,) = (copied / REVIEWS).iterdir()
    file.write_text(file.read_text().replace('"reject"', '"accept"'))
    with pytest.raises(LedgerFault, match="does not verify"):
        read_history(path, certificate)
    file.write_text("{}")
    with pytest.raises(LedgerFault, match="cannot be read"):
        read_history(path, certificate)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(EnvironmentFault, match="not a plain file"):
        read_history(path, certificate)


def test_a_rejection_counts_for_every_copy_and_every_later_certificate_of_the_trial(
    issued: tuple[Certificate, Path], copied: Path, confirmed: int, tmp_path: Path
) -> None:
    certificate, path = issued
    review(path, certificate, "accept", "fine")
    promote(path, certificate)
    later = certificate.model_copy(update={"issued": "later"}).signed(load_or_create_key())
    assert read_history(path, later).state == "unreviewed"  # what was accepted is the other one
    review(path, certificate, "reject", "found a fault")
    elsewhere = tmp_path / "elsewhere.json"
    write_certificate(elsewhere, certificate)
    assert read_history(elsewhere, certificate, copied).state == "rejected"
    assert read_history(path.with_name("later.json"), later).state == "rejected"
    with pytest.raises(UsageError, match="it is rejected: found a fault"):
        promote(path.with_name("later.json"), later)
    review(elsewhere, later, "accept", "the fault is mended", run=copied)
    assert read_history(elsewhere, later, copied).state == "accepted"
    assert read_history(path, certificate).state == "rejected"


def test_what_is_taken_out_of_the_run_is_still_known_to_the_laboratory_and_the_other_way_round(
    issued: tuple[Certificate, Path], copied: Path, own_laboratory: Path
) -> None:
    certificate, path = issued
    for decision in ("accept", "reject"):
        review(path, certificate, cast(Decision, decision), "first and second")
    of_home = own_laboratory / REVIEWS / certificate.evidence.run
    for place in (copied / REVIEWS, of_home):
        aside = shutil.copytree(place, place.with_name("aside"))
        shutil.rmtree(place)
        assert read_history(path, certificate).state == "rejected"
        shutil.move(aside, place)
    shutil.rmtree(copied / REVIEWS)
    review(path, certificate, "accept", "third")
    assert len(list((copied / REVIEWS).iterdir())) == 3  # the run has them all again
    shutil.rmtree(of_home)
    assert len(read_history(path, certificate).reviews) == 3


def test_a_review_that_was_taken_out_from_among_others_is_missed(
    issued: tuple[Certificate, Path], copied: Path, own_laboratory: Path
) -> None:
    certificate, path = issued
    for decision in ("reject", "accept"):
        review(path, certificate, cast(Decision, decision), "first and second")
    for place in (copied / REVIEWS, own_laboratory / REVIEWS / certificate.evidence.run):
        next(place.glob("*-1-reject-*")).unlink()
    with pytest.raises(LedgerFault, match=r"review 1 of trial \d+ was taken away"):
        read_history(path, certificate)


def test_without_run_and_laboratory_nothing_is_known(
    issued: tuple[Certificate, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate, _ = issued
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KLAB_HOME", str(tmp_path / "other"))
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert read_history(tmp_path / "a" / "b" / "c.json", certificate).state == "unknown"


def test_reviews_go_to_the_right_run(issued: tuple[Certificate, Path], signed_again: Callable[[str], Path]) -> None:
    certificate, path = issued
    with pytest.raises(UsageError, match="the certificate is of run"):
        review(path, certificate, "accept", "fine", run=signed_again("softmax-bf16-quick"))
