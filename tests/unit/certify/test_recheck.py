"""Does it still hold? What moved is named, what could not be looked at is said, and nothing else holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernellab.certify import recheck as module
from kernellab.certify.certificate import Certificate, write_certificate
from kernellab.certify.confirmed_trial import prove_trial
from kernellab.certify.issue import certify
from kernellab.certify.recheck import Recheck, _check_parts, environment_drift, recheck
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import Timing
from kernellab.ledger.keys import load_or_create_key
from kernellab.run.driver import present
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Array

without_gpu = pytest.mark.skipif(present(), reason="there is a GPU here")


def statuses(report: Recheck) -> dict[str, str]:
    return {f.part: f.status for f in report.findings}


def timed(certificate: Certificate, low: float, value: float, high: float, baseline: str = "torch") -> Recheck:
    """A report whose timing was certified at 4.0 [3.9, 4.1] of torch and is this today."""
    then = {"speedup": 4.0, "speedup_low": 3.9, "speedup_high": 4.1, "win": True, "baseline": "torch"}
    speed = certificate.speed.model_copy(update=then)
    report = Recheck(certificate.model_copy(update={"speed": speed}))
    now = Timing(baseline=baseline, threads=1, calls=1, candidate_s=[1.0], baseline_s=[value], speedup=value, speedup_low=low,
                 speedup_high=high, latency_s=1.0, gb_per_s=1.0, floor_s=0.5, memory_floor_s=0.5, of_floor=0.5,
                 of_memory_floor=0.5, checked=1, stopped="narrow")  # fmt: skip
    module._check_timing(report, now, 1.01)
    return report


@pytest.mark.parametrize(
    ("interval", "status", "words"),
    [
        ((3.8, 4.0, 4.2), "same", "4.000x of torch [3.800, 4.200] (1 pair, 0 of 1 tries dropped)"),
        ((3.3, 3.35, 3.4), "same", "3.350x"),  # within 15 % of the certified interval
        ((3.2, 3.25, 3.3), "failed", "slower than certified by more than 15%"),
        ((0.9, 1.0, 1.1), "failed", "no longer faster by the rule"),
        ((5.0, 5.1, 5.2), "drifted", "5.100x"),
    ],
)
def test_the_whole_interval_below_the_certified_one_is_slower(
    interval: tuple[float, float, float], status: str, words: str, issued: tuple[Certificate, Path]
) -> None:
    (finding,) = timed(issued[0], *interval).findings
    assert (finding.status, words in finding.detail) == (status, True), finding


def test_a_faster_baseline_of_today_is_named(issued: tuple[Certificate, Path]) -> None:
    (finding,) = timed(issued[0], 1.9, 2.0, 2.1, "numpy").findings
    assert finding.status == "drifted"
    assert "another baseline is the fastest here" in finding.detail


def test_without_its_run_only_signature_and_reference_are_checked(
    issued: tuple[Certificate, Path], tmp_path: Path
) -> None:
    certificate, path = issued
    alone = tmp_path / "far" / "away" / "trial.json"
    write_certificate(alone, certificate)
    report = recheck(alone)
    assert statuses(report) == {
        "signature": "same",
        "records": "unchecked",
        "task": "same",
        "anchor": "same",
        "verdict": "unchecked",
    }
    assert (report.verdict, report.exit_code) == ("unchecked", 5)
    assert path.exists()


def test_without_its_task_only_the_signature_is_checked(issued: tuple[Certificate, Path], tmp_path: Path) -> None:
    subject = issued[0].subject.model_copy(update={"name": "task_of_tomorrow"})
    alone = tmp_path / "far" / "away" / "trial.json"
    write_certificate(alone, issued[0].model_copy(update={"subject": subject}).signed(load_or_create_key()))
    report = recheck(alone)
    assert statuses(report) == {"signature": "same", "records": "unchecked", "anchor": "unchecked"}
    assert report.findings[-1].detail == "the task 'task_of_tomorrow' is not here"
    assert (report.verdict, report.exit_code) == ("unchecked", 5)


@without_gpu
def test_without_a_gpu_a_gpu_certificate_is_not_said_to_hold(signed_again: Callable[[str], Path]) -> None:
    _, path = certify(signed_again("softmax-bf16-quick"), 5)
    report = recheck(path)
    found = statuses(report)
    assert (found["signature"], found["records"], found["task"], found["anchor"]) == ("same",) * 4
    assert (found["device"], found["verdict"], found["timing"]) == ("unchecked",) * 3
    assert (report.verdict, report.exit_code) == ("unchecked", 5)


def changed_task(monkeypatch: pytest.MonkeyPatch, reference: Callable[..., Array]) -> None:
    task = replace(TASKS["softmax"], reference=reference)
    monkeypatch.setattr(module, "load_task", lambda _: task)
    monkeypatch.setattr(module, "_on_device", lambda *_: None)


def test_a_reference_with_other_answers_breaks_the_certificate(
    issued: tuple[Certificate, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def colder(x: Array) -> Array:
        e = np.exp((x - x.max(axis=1, keepdims=True)) / 1.001)
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    changed_task(monkeypatch, colder)
    report = recheck(issued[1])
    assert (statuses(report)["task"], statuses(report)["anchor"]) == ("drifted", "failed")
    assert (report.verdict, report.exit_code) == ("wrong", 4)


def test_a_reference_with_other_words_only_has_drifted(
    issued: tuple[Certificate, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def same(x: Array) -> Array:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return np.asarray(e * (1 / e.sum(axis=1, keepdims=True)))

    changed_task(monkeypatch, same)
    assert (statuses(recheck(issued[1]))["task"], statuses(recheck(issued[1]))["anchor"]) == ("drifted", "same")


def test_a_tampered_certificate_or_run_is_an_error(issued: tuple[Certificate, Path], copied: Path) -> None:
    _, path = issued
    text = path.read_text()
    path.write_text(
        text.replace('"win": true', '"win": false') if '"win": true' in text else text.replace("false", "true")
    )
    with pytest.raises(LedgerFault, match="changed after it was signed"):
        recheck(path)
    path.write_text(text)
    (copied / "heads.jsonl").write_text("")
    with pytest.raises((LedgerFault, UsageError)):
        recheck(path)


def test_a_build_is_compared_shape_by_shape(issued: tuple[Certificate, Path], copied: Path, confirmed: int) -> None:
    certificate, _ = issued
    artifact = prove_trial(copied, confirmed).confirmation.artifact
    assert artifact is not None
    same, other = Recheck(certificate), Recheck(certificate)
    _check_parts(same, certificate.shapes.parts, artifact)
    assert [f.status for f in same.findings] == ["same"]
    assert f"at all {len(artifact.parts)} shapes" in same.findings[0].detail
    label = sorted(artifact.parts)[-1]
    parts = {**artifact.parts, label: artifact.parts[label].model_copy(update={"code": "0" * 64})}
    _check_parts(other, certificate.shapes.parts, artifact.model_copy(update={"parts": parts}))
    assert [f.status for f in other.findings] == ["drifted"]
    assert f"at 1 of {len(parts)} shapes ({label})" in other.findings[0].detail


def test_drift_names_every_fact_that_differs() -> None:
    then = {"device": "A", "driver": "1", "digest": "x", "packages": {"torch": "2.0", "numpy": "2"}}
    now = {"device": "A", "digest": "y", "kernel": "6", "packages": {"torch": "2.1", "numpy": "2"}}
    assert environment_drift(then, now) == [
        ("driver", "1", "absent"),
        ("kernel", "absent", "6"),
        ("torch", "2.0", "2.1"),
    ]
