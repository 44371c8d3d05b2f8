"""What a certificate says, from a run's records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernellab.certify.certificate import Certificate
from kernellab.certify.confirmed_trial import prove_trial
from kernellab.certify.draft import draft, shapes_of
from kernellab.ledger.check import check
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Task


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
    assert certificate.environment == proof.genesis.environment.facts
    assert (certificate.evidence.run, certificate.evidence.root) == (check(copied).run, check(copied).root)
    assert certificate.subject.fingerprint == TASKS["softmax"].fingerprint()
    assert certificate.shapes.timed == {"M": 96, "N": 64}
    assert proof.confirmation.artifact is not None
    parts = proof.confirmation.artifact.parts
    assert {label: part.id for label, part in certificate.shapes.parts.items()} == proof.verdict.judged
    assert certificate.shapes.parts.keys() == parts.keys()
    assert len(parts) == certificate.shapes.judged
    assert certificate.shapes.parts["M=96,N=64"].id == proof.timing.part
    assert certificate.kernel.text == proof.trial.artifact.text != ""


def test_what_the_judge_cannot_tell_is_in_what_is_signed(
    issued: tuple[Certificate, Path], copied: Path, confirmed: int
) -> None:
    certificate, proof = issued[0], prove_trial(copied, confirmed)
    task = proof.genesis.task.model_copy(update={"remarks": ["'y' is judged loosely"]})
    said = replace(proof, genesis=proof.genesis.model_copy(update={"task": task}))
    drafts = [draft(p, True, certificate.shapes, certificate.anchor, "now") for p in (proof, said)]
    assert [b"judged loosely" in made.statement() for made in drafts] == [False, True]
    assert b"remarks" not in drafts[0].statement()


def test_the_range_spans_what_a_full_judgement_looks_at(double_task: Task) -> None:
    shapes = shapes_of(double_task, {"N": 4096})
    assert (shapes.low, shapes.high, shapes.judged) == ({"N": 1}, {"N": 5003}, 5)
