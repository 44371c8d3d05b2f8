"""Certificates in a run's folder: an audit says of each one that is not the run's own what it is instead."""

# ruff: noqa: F811  fixtures are arguments

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import resign
from tests.unit.certify.conftest import (  # noqa: F401  fixtures
    confirmed,
    copied,
    home,
    issued,
    own_laboratory,
    settled,
    softmax_run,
)

from kernellab.certify.certificate import Certificate, read_certificate, write_certificate
from kernellab.certify.history import review
from kernellab.certify.issue import certify
from kernellab.certify.recheck import Recheck, recheck
from kernellab.ledger.keys import SigningKey, load_or_create_key
from kernellab.ledger.trusted import PinnedKey
from kernellab.report.audit import audit

pytestmark = pytest.mark.backend_c
Issued = tuple[Certificate, Path]
Change = Callable[[Issued], object]


def edited(given: Issued) -> None:
    text = given[1].read_text()
    given[1].write_text(text.replace(given[0].kernel.name, "another", 1))


def signed_by_another_key(given: Issued) -> None:
    forger = SigningKey.generate()
    write_certificate(given[1], given[0].model_copy(update={"public_key": forger.public.hex}).signed(forger))


def faster(given: Issued) -> None:
    """By the laboratory's own key: it may sign anything, but not what its run does not say."""
    speed = given[0].speed.model_copy(update={"speedup": given[0].speed.speedup * 2})
    write_certificate(given[1], given[0].model_copy(update={"speed": speed}).signed(load_or_create_key()))


def of_another_artifact(given: Issued) -> None:
    kernel = given[0].kernel.model_copy(update={"code": "ab" * 32, "artifact": "cd" * 32})
    write_certificate(given[1], given[0].model_copy(update={"kernel": kernel}).signed(load_or_create_key()))


def of_a_wider_range(given: Issued) -> None:
    shapes = given[0].shapes.model_copy(update={"high": {name: 10 * n for name, n in given[0].shapes.high.items()}})
    write_certificate(given[1], given[0].model_copy(update={"shapes": shapes}).signed(load_or_create_key()))


def of_another_root(given: Issued) -> None:
    evidence = given[0].evidence.model_copy(update={"root": "ef" * 32})
    write_certificate(given[1], given[0].model_copy(update={"evidence": evidence}).signed(load_or_create_key()))


def of_another_trial(given: Issued) -> None:
    evidence = given[0].evidence.model_copy(update={"trial": 10**6})
    write_certificate(given[1], given[0].model_copy(update={"evidence": evidence}).signed(load_or_create_key()))


def no_certificate(given: Issued) -> None:
    given[1].write_text("{}")


def with_an_edited_review(given: Issued) -> None:
    review(given[1], given[0], "reject", "it is wrong")
    (file,) = (given[1].parents[1] / "reviews").glob("*.json")
    file.write_text(file.read_text().replace('"reject"', '"accept"', 1))


CHANGES: dict[Change, str] = {
    edited: "was changed after it was signed",
    signed_by_another_key: "the certificate is signed by another key than its run",
    faster: "says something else than the run's records: speed.speedup is",
    of_another_artifact: "says something else than the run's records: kernel.artifact is",
    of_a_wider_range: "says something else than the run's records: shapes.high",
    of_another_root: "has no signed head of",
    of_another_trial: "has no trial 1000000",
    no_certificate: "is not a certificate",
    with_an_edited_review: "does not verify: changed, or signed by another key",
}


@pytest.mark.heavy
def test_a_certificate_that_fits_is_no_problem(issued: Issued, copied: Path) -> None:
    found = audit(copied)
    assert found.problems == []
    review(issued[1], issued[0], "accept", "looked at")
    assert audit(copied).problems == []


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
def test_one_that_does_not_fit_is_told_with_its_name(change: Change, issued: Issued, copied: Path) -> None:
    change(issued)
    (problem,) = audit(copied).problems
    assert problem.startswith(f"certificates/{issued[1].name}: ")
    assert CHANGES[change] in problem


def test_certificates_of_two_runs_are_not_exchanged(
    issued: Issued,
    copied: Path,
    confirmed: int,
    tmp_path: Path,
) -> None:
    """Both are genuine, of the same kernel and by the same key; each belongs to its own run."""
    other = resign.resigned(copied, tmp_path / "other", lambda _: None, load_or_create_key())
    for file in ("best-M96-N64.py", "best-M96-N64.json"):
        if (copied / file).exists():
            shutil.copy(copied / file, other)
    _, theirs = certify(other, confirmed)
    mine = issued[1].read_bytes()
    issued[1].write_bytes(theirs.read_bytes())
    theirs.write_bytes(mine)
    for folder in (copied, other):
        (problem,) = audit(folder).problems
        assert "the certificate is of run" in problem


def signature(report: Recheck) -> tuple[str, str]:
    (finding,) = [f for f in report.findings if f.part == "signature"]
    return finding.status, finding.detail


def test_a_recheck_says_whose_signature_it_is(issued: Issued, tmp_path: Path) -> None:
    """A run and its certificate that somebody else signed anew are sound: only a key can tell."""
    certificate, path = issued
    alone = tmp_path / "far" / "away" / "trial.json"
    shutil.copytree(path.parent, alone.parent)
    shutil.copy(path, alone)
    assert signature(recheck(alone)) == ("same", f"signed by your own key {certificate.signer.fingerprint}")
    forger = SigningKey.generate()
    write_certificate(alone, certificate.model_copy(update={"public_key": forger.public.hex}).signed(forger))
    status, detail = signature(recheck(alone))
    assert (status, detail.startswith(f"self-signed: key {forger.fingerprint}")) == ("unchecked", True)
    asked = recheck(alone, keys=[PinnedKey(certificate.public_key)])
    status, detail = signature(asked)
    assert (status, "not by the pinned key" in detail, asked.exit_code) == ("failed", True, 4)
    assert signature(recheck(alone, keys=[PinnedKey(forger.fingerprint)]))[0] == "same"
    assert json.loads(alone.read_text())["public_key"] == read_certificate(alone).public_key
