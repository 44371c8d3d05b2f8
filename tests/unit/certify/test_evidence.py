"""Only a confirmed trial of a sound run is evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kernellab.certify.certificate import Certificate
from kernellab.certify.evidence import find_run, need_run, prove_certificate, prove_trial
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key
from kernellab.search.replay import read_trials

from .conftest import trial_of


def test_a_confirmed_trial_is_proved(softmax_run: Path, confirmed: int) -> None:
    proof = prove_trial(softmax_run, confirmed)
    assert proof.trial.trial == confirmed
    assert proof.verdict.level == "full"
    assert proof.environment["device"] == proof.trial.device
    assert "launch" in proof.source


@pytest.mark.parametrize(("status", "words"), [("rejected", "was rejected: "), ("build-failed", "came to nothing")])
def test_what_failed_is_refused(status: str, words: str, softmax_run: Path) -> None:
    with pytest.raises(UsageError, match=words):
        prove_trial(softmax_run, trial_of(softmax_run, status))


def test_a_trial_that_was_never_confirmed_is_refused(softmax_run: Path) -> None:
    confirmed = {e.body["trial"] for e in read_entries(softmax_run) if e.kind == "confirmation"}
    number = next(t.trial for t in read_trials(softmax_run) if t.status == "measured" and t.trial not in confirmed)
    with pytest.raises(UsageError, match="never confirmed"):
        prove_trial(softmax_run, number)


def test_a_trial_that_is_not_there_is_refused(softmax_run: Path) -> None:
    with pytest.raises(UsageError, match="has no trial 99"):
        prove_trial(softmax_run, 99)


def changed(folder: Path, kind: str, change: Callable[[dict[str, object]], None], confirmed: int) -> Path:
    """The run as its own laboratory would have signed it with one changed record."""
    entries = list(read_entries(folder))
    other = folder.with_name("changed")
    start = {k: v for k, v in entries[0].body.items() if k not in ("public_key", "nonce")}
    (folder / "artifacts").rename(other.with_name("blobs"))
    with Ledger.create(other, start, load_or_create_key()) as ledger:
        for entry in entries[1:]:
            body = json.loads(json.dumps(entry.body))
            if entry.kind == kind and body.get("trial") == confirmed:
                change(body)
            ledger.append(entry.kind, body)
    other.with_name("blobs").rename(other / "artifacts")
    return other


def test_a_rejected_confirmation_is_refused(copied: Path, confirmed: int) -> None:
    verdict = {"status": "rejected", "cause": "wrong-output", "reason": "off by one"}
    folder = changed(copied, "confirmation", lambda b: b.update(verdict=verdict, timing=None, win=False), confirmed)
    with pytest.raises(UsageError, match="rejected at its confirmation: wrong-output: off by one"):
        prove_trial(folder, confirmed)


def test_figures_that_do_not_follow_from_their_samples_are_refused(copied: Path, confirmed: int) -> None:
    def faster(body: dict[str, object]) -> None:
        timing = body["timing"]
        assert isinstance(timing, dict)
        timing["speedup"] *= 2

    with pytest.raises(LedgerFault, match="do not follow"):
        prove_trial(changed(copied, "confirmation", faster, confirmed), confirmed)


def test_a_tampered_ledger_is_refused(copied: Path, confirmed: int) -> None:
    ledger = copied / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"win":', '"win" :', 1))
    with pytest.raises(LedgerFault, match="does not verify"):
        prove_trial(copied, confirmed)


def test_a_changed_source_is_refused(copied: Path, confirmed: int) -> None:
    sha = prove_trial(copied, confirmed).trial.proposal.source
    (copied / "artifacts" / sha[:2] / sha).write_text("something else")
    with pytest.raises(LedgerFault, match="corrupt"):
        prove_trial(copied, confirmed)


def test_a_certificate_is_held_against_its_run(issued: tuple[Certificate, Path], copied: Path) -> None:
    certificate, path = issued
    assert find_run(path, certificate) == copied.resolve()
    assert prove_certificate(certificate, copied).trial.trial == certificate.evidence.trial


def test_a_certificate_of_another_run_is_refused(
    issued: tuple[Certificate, Path], signed_again: Callable[[str], Path]
) -> None:
    certificate, _ = issued
    with pytest.raises(UsageError, match="the certificate is of run"):
        prove_certificate(certificate, signed_again("softmax-bf16-quick"))


def test_a_run_cut_back_after_the_certificate_is_found(issued: tuple[Certificate, Path], copied: Path) -> None:
    certificate, _ = issued
    for name in ("ledger.jsonl", "heads.jsonl"):
        lines = (copied / name).read_text().splitlines(keepends=True)
        (copied / name).write_text("".join(lines[:-1]))
    with pytest.raises(LedgerFault, match="no signed head"):
        prove_certificate(certificate, copied)


def test_a_certificate_that_says_more_than_the_run_is_refused(issued: tuple[Certificate, Path], copied: Path) -> None:
    certificate, _ = issued
    more = certificate.model_copy(update={"speed": certificate.speed.model_copy(update={"speedup_low": 9.0})})
    with pytest.raises(LedgerFault, match="something else"):
        prove_certificate(more.signed(load_or_create_key()), copied)


def test_a_run_that_is_nowhere_is_asked_for(issued: tuple[Certificate, Path], tmp_path: Path) -> None:
    certificate, path = issued
    alone = tmp_path / "elsewhere" / "deep" / "trial.json"
    alone.parent.mkdir(parents=True)
    alone.write_text(path.read_text())
    assert find_run(alone, certificate) is None
    with pytest.raises(UsageError, match="is not here"):
        need_run(alone, certificate)
    with pytest.raises(UsageError, match="no run folder"):
        need_run(alone, certificate, tmp_path / "nothing")
