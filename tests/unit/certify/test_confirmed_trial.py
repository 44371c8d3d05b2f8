"""Only a confirmed trial of a sound run is evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded import CUBE
from tests.support.resign import Bodies
from tests.support.resign import resigned as signed_anew

from kernellab.certify.certificate import Certificate
from kernellab.certify.confirmed_trial import find_run, need_run, prove_certificate, prove_trial
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key
from kernellab.search import experiment_run
from kernellab.search.replay import read_trials
from kernellab.tasks.builtin import TASKS

from .conftest import resigned, trial_of


def test_a_confirmed_trial_is_proved(softmax_run: Path, confirmed: int) -> None:
    proof = prove_trial(softmax_run, confirmed)
    assert proof.trial.trial == confirmed
    assert proof.verdict.level == "full"
    assert proof.environment.device == proof.trial.device
    assert "launch" in proof.source


@pytest.mark.parametrize(("status", "words"), [("rejected", "was rejected: "), ("build-failed", "came to nothing")])
def test_what_failed_is_refused(status: str, words: str, softmax_run: Path) -> None:
    with pytest.raises(UsageError, match=words):
        prove_trial(softmax_run, trial_of(softmax_run, status))


def test_what_was_confirmed_on_a_machine_too_busy_is_refused(copied: Path, confirmed: int) -> None:
    def busy(kind: str, body: dict[str, Any]) -> None:
        if kind == "confirmation" and body["trial"] == confirmed:
            body["timing"]["disturbed"] = True
            body["win"] = False

    with pytest.raises(UsageError, match="too busy"):
        prove_trial(resigned(copied, busy), confirmed)


def test_a_trial_that_was_never_confirmed_is_refused(softmax_run: Path) -> None:
    confirmed = {e.body["trial"] for e in read_entries(softmax_run) if e.kind == "confirmation"}
    number = next(t.trial for t in read_trials(softmax_run) if t.status == "measured" and t.trial not in confirmed)
    with pytest.raises(UsageError, match="never confirmed"):
        prove_trial(softmax_run, number)


def test_a_trial_that_is_not_there_is_refused(softmax_run: Path) -> None:
    with pytest.raises(UsageError, match="has no trial 99"):
        prove_trial(softmax_run, 99)


def changed(folder: Path, change: Callable[[dict[str, Any]], None], confirmed: int) -> Path:
    """The run with another confirmation of one trial."""
    return resigned(folder, lambda k, b: change(b) if (k, b.get("trial")) == ("confirmation", confirmed) else None)


def test_a_rejected_confirmation_is_refused(copied: Path, confirmed: int) -> None:
    verdict = {"status": "rejected", "cause": "wrong-output", "reason": "off by one"}
    folder = changed(copied, lambda b: b.update(verdict=verdict, timing=None, win=False), confirmed)
    with pytest.raises(UsageError, match="rejected at its confirmation: wrong-output: off by one"):
        prove_trial(folder, confirmed)


def test_figures_that_do_not_follow_from_their_samples_are_refused(copied: Path, confirmed: int) -> None:
    def faster(body: dict[str, Any]) -> None:
        body["timing"]["speedup"] *= 2

    with pytest.raises(LedgerFault, match="do not follow"):
        prove_trial(changed(copied, faster, confirmed), confirmed)


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


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("speed", "speedup", 95.0),
        ("speed", "speedup_low", 9.0),
        ("speed", "baseline", "something slow"),
        ("speed", "latency_s", 1e-9),
        ("speed", "threshold", 1.0),
        ("kernel", "name", "famous_kernel"),
        ("kernel", "compiler", "icc 99"),
        ("kernel", "flags", ["-Ofast"]),
        ("accuracy", "cases", 99999),
        ("accuracy", "max_abs_err", 1.0),
        ("shapes", "high", {"M": 10**9, "N": 10**9}),
        ("subject", "exact", True),
        ("subject", "fingerprint", "0" * 64),
    ],
)
def test_a_certificate_that_says_something_else_than_the_run_is_refused(
    part: str, field: str, value: object, issued: tuple[Certificate, Path], copied: Path
) -> None:
    certificate, _ = issued
    other = certificate.model_copy(update={part: getattr(certificate, part).model_copy(update={field: value})})
    with pytest.raises(LedgerFault, match=rf"something else than the run's records: {part}\.{field}"):
        prove_certificate(other.signed(load_or_create_key()), copied)


@pytest.mark.parametrize(
    ("field", "value"),
    [("trust", "device-only"), ("tier", "T3"), ("effort", "full"), ("environment", {"device": "H200"})],
)
def test_where_and_how_it_was_measured_is_held_against_the_run(
    field: str, value: object, issued: tuple[Certificate, Path], copied: Path
) -> None:
    other = issued[0].model_copy(update={field: value})
    with pytest.raises(LedgerFault, match=f"something else than the run's records: {field}"):
        prove_certificate(other.signed(load_or_create_key()), copied)


def test_a_certificate_outlives_what_the_run_does_later(issued: tuple[Certificate, Path], copied: Path) -> None:
    with Ledger.resume(copied, load_or_create_key()) as ledger:
        ledger.append("resume", {"environment": {"device": "another"}, "trials": 0})
    assert prove_certificate(issued[0], copied).environment.facts == issued[0].environment


def test_a_task_of_another_text_leaves_the_rest_to_be_checked(
    issued: tuple[Certificate, Path], copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        experiment_run, "load_task", lambda _: replace(TASKS["softmax"], about="other words", edge=({"M": 1, "N": 1},))
    )
    assert prove_certificate(issued[0], copied).trial.trial == issued[0].evidence.trial
    faster = issued[0].model_copy(update={"speed": issued[0].speed.model_copy(update={"speedup": 95.0})})
    with pytest.raises(LedgerFault, match=r"speed\.speedup is 95\.0"):
        prove_certificate(faster.signed(load_or_create_key()), copied)


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


def test_a_run_that_is_named_is_taken_wherever_the_certificate_lies(
    issued: tuple[Certificate, Path], copied: Path, tmp_path: Path
) -> None:
    certificate, _ = issued
    alone = tmp_path / "elsewhere" / "deep" / "trial.json"
    assert find_run(alone, certificate, copied) == copied
    assert need_run(alone, certificate, copied) == copied


def test_a_signed_record_that_is_not_well_formed_is_refused_in_words(tmp_path: Path) -> None:
    def spoil(entries: Bodies) -> None:
        del next(body for kind, body in entries if kind == "trial")["timing"]

    folder = signed_anew(CUBE, tmp_path / "run", spoil)
    with pytest.raises(LedgerFault, match="holds a record that is not well-formed") as fault:
        prove_trial(folder, 0)
    assert fault.value.fix == f"see what was changed: klab audit {folder}"


def _confirmed(entries: Bodies) -> dict[str, Any]:
    return next(body for kind, body in entries if kind == "confirmation")


def confirmed_until_it_won(entries: Bodies) -> None:
    place = next(n for n, (kind, _) in enumerate(entries) if kind == "confirmation")
    entries.insert(place, ("confirmation", dict(entries[place][1])))


def another_machine(entries: Bodies) -> None:
    entries[0][1]["environment"]["device"] = "NVIDIA H200"


def another_task(entries: Bodies) -> None:
    entries[0][1]["task"]["name"] = "matmul"


def a_latency(entries: Bodies) -> None:
    _confirmed(entries)["timing"]["latency_s"] /= 2


def a_weaker_baseline(entries: Bodies) -> None:
    _confirmed(entries)["timing"]["baseline"] = "a slow one"


def a_screening(entries: Bodies) -> None:
    _confirmed(entries)["verdict"]["level"] = "screen"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (confirmed_until_it_won, "trial 0 was confirmed 2 times"),
        (another_machine, "of another task or machine than its run names"),
        (another_task, "of another task or machine than its run names"),
        (a_latency, "do not follow from its samples: latency_s is "),
        (a_weaker_baseline, "is measured against a slow one, the fastest baseline is numpy"),
        (a_screening, "passes on level 'screen'"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_an_audit_would_not_pass_is_not_certified(
    change: Callable[[Bodies], None], words: str, tmp_path: Path
) -> None:
    with pytest.raises(LedgerFault, match=words):
        prove_trial(signed_anew(CUBE, tmp_path / "run", change), 0)
