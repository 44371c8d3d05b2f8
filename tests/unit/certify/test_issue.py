"""What a certificate says, and who may issue one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernellab.certify.certificate import Certificate
from kernellab.certify.evidence import prove_trial
from kernellab.certify.history import review
from kernellab.certify.issue import certify, shapes_of
from kernellab.core.errors import UsageError
from kernellab.ledger.check import check
from kernellab.ledger.keys import SigningKey
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Task

from .conftest import PUBLISHED


def test_binds_everything_the_claim_rests_on(issued: tuple[Certificate, Path], copied: Path, confirmed: int) -> None:
    certificate, path = issued
    proof = prove_trial(copied, confirmed)
    assert path == copied / "certificates" / f"trial-{confirmed}.json"
    assert certificate.genuine
    assert certificate.kernel.source == proof.trial.proposal.source
    assert certificate.kernel.code == proof.trial.artifact.code
    assert certificate.speed.speedup_low == proof.timing.speedup_low
    assert certificate.speed.pairs == len(proof.timing.candidate_s)
    assert certificate.accuracy.budget_ulp == proof.verdict.budget_ulp
    assert certificate.environment == proof.genesis["environment"]
    assert (certificate.evidence.run, certificate.evidence.root) == (check(copied).run, check(copied).root)
    assert certificate.subject.fingerprint == TASKS["softmax"].fingerprint()
    assert certificate.shapes.timed == {"M": 96, "N": 64}


def test_the_range_spans_what_a_full_judgement_looks_at(double_task: Task) -> None:
    shapes = shapes_of(double_task, {"N": 4096})
    assert (shapes.low, shapes.high, shapes.judged) == ({"N": 1}, {"N": 5003}, 5)


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
