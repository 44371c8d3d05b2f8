"""klab recheck: does a certificate still hold, here and today? Every part is looked at again, and what moved is named.

The signature and the run's records first: where they do not fit, nothing else is worth a look. Then the reference on
its probe, the build, the whole judgement on fresh secret inputs, and, where the device is of the same kind, the paired
timing. On another device the kernel is judged there, and its figures are said to be unchecked. Without any such device
only the signature, the records and the reference are. What was not looked at in full does not hold: it is unchecked.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kernellab.build.base import Candidate
from kernellab.certify.anchor import anchor_again
from kernellab.certify.certificate import Certificate, CertifiedPart, read_certificate
from kernellab.certify.confirmed_trial import find_run, prove_certificate
from kernellab.certify.proof import Proof
from kernellab.core.errors import (
    EXIT_BETTER,
    EXIT_ENVIRONMENT,
    EXIT_NOTHING_BETTER,
    EXIT_NOTHING_VERIFIED,
    EnvironmentFault,
    UsageError,
)
from kernellab.core.events import Event, Listener, silent
from kernellab.core.pairs import pairs_kept
from kernellab.core.records import Artifact, Rejected, Timing, Verdict
from kernellab.core.settings import Settings
from kernellab.core.targets import home_of
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.request import Clocking, Judging, TrialRecord
from kernellab.ledger.trusted import PinnedKey, default_trusted, own_key, signer_of
from kernellab.measurement.winning import too_busy, win_threshold
from kernellab.run.device import machine_of
from kernellab.search.experiment_run import kept_task
from kernellab.targets.cpu import processors
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Task, in_order

Status = Literal["same", "drifted", "failed", "unchecked"]
Verdicts = Literal["holds", "slower", "wrong", "unchecked"]
_EXIT = {"holds": EXIT_BETTER, "slower": EXIT_NOTHING_BETTER, "wrong": EXIT_NOTHING_VERIFIED,
         "unchecked": EXIT_ENVIRONMENT}  # fmt: skip
TOLERANCE = 0.15
"""By how much the whole interval of today's speed-up may lie below the certified one. Sessions on one machine differ by
a few per cent (memory layout, clocks, neighbours) beyond what the interval within a session says."""
_KEPT = {"effort", "device", "target", "threads", "sample_s", "build_timeout_s", "compiler"}
_RECORDED_ONLY = ("digest", "tier", "code")
_CLAIM = ("records", "anchor", "verdict", "timing")


@dataclass(frozen=True)
class RecheckFinding:
    """One part: "same", "drifted" (moved, and the claim may still hold), "failed" (it does not), or "unchecked"."""

    part: str
    status: Status
    detail: str


@dataclass
class Recheck:
    certificate: Certificate
    findings: list[RecheckFinding] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def add(self, part: str, status: Status, detail: str) -> None:
        self.findings.append(RecheckFinding(part, status, detail))

    def status(self, part: str) -> Status:
        return next((f.status for f in self.findings if f.part == part), "unchecked")

    @property
    def verdict(self) -> Verdicts:
        """Wrong outweighs slower, and what was not looked at cannot hold."""
        failed = {f.part for f in self.findings if f.status == "failed"}
        if failed - {"timing"}:
            return "wrong"
        if failed:
            return "slower"
        return "unchecked" if any(self.status(part) == "unchecked" for part in _CLAIM) else "holds"

    @property
    def exit_code(self) -> int:
        return _EXIT[self.verdict]

    def data(self) -> dict[str, Any]:
        return {
            "status": self.verdict,
            "certificate": self.certificate.id,
            "task": self.certificate.subject.name,
            "dims": self.certificate.shapes.timed,
            "findings": [f.__dict__ for f in self.findings],
            "drifted": [f.part for f in self.findings if f.status == "drifted"],
            "unchecked": [f.part for f in self.findings if f.status == "unchecked"],
            **self.figures,
        }


def recheck(path: Path, run: Path | None = None, emit: Listener = silent, keys: Sequence[PinnedKey] = ()) -> Recheck:
    """Look at everything again. A certificate that was changed, or is of another run, is an error, not a finding.

    `keys`: of which one has to have signed it.
    """
    certificate = read_certificate(path)
    report = Recheck(certificate)
    _check_signer(report, keys)
    folder = find_run(path, certificate, run)
    proof = prove_certificate(certificate, folder) if folder is not None else None
    if proof is None:
        report.add("records", "unchecked", f"run {certificate.evidence.run} is not here (--run names its folder)")
    else:
        report.add("records", "same", f"run {certificate.evidence.run}, root {certificate.evidence.root[:16]}")
    task, locator = _task(certificate, folder)
    if task is None:
        report.add("anchor", "unchecked", f"the task '{certificate.subject.name}' is not here")
        return report
    _check_reference(report, task)
    if proof is None:
        report.add("verdict", "unchecked", "the kernel's source lies in the run")
        return report
    try:
        _on_device(report, proof, task, locator, emit)
    except EnvironmentFault as fault:
        for part in ("device", "verdict", "timing"):
            if report.status(part) == "unchecked":
                report.add(part, "unchecked", fault.what)
    return report


def _check_signer(report: Recheck, keys: Sequence[PinnedKey]) -> None:
    """The signature fits; whose it is, only a key that the reader has can tell."""
    signer = signer_of(report.certificate.public_key, keys, default_trusted(os.environ), own_key())
    if signer.problem:
        report.add("signature", "failed", signer.problem)
    else:
        report.add("signature", "unchecked" if signer.remark else "same", signer.remark or signer.words)


def _task(certificate: Certificate, folder: Path | None) -> tuple[Task | None, str]:
    locator = (
        certificate.subject.name
        if certificate.subject.builtin
        else str(kept_task(folder, certificate.evidence.trial))
        if folder
        else ""
    )
    try:
        return load_task(locator).on(home_of(certificate.kernel.backend)), locator
    except UsageError:
        return None, locator


def _check_reference(report: Recheck, task: Task) -> None:
    certificate = report.certificate
    if task.fingerprint() == certificate.subject.fingerprint:
        report.add("task", "same", f"{task.name}, fingerprint {certificate.subject.fingerprint[:16]}")
    else:
        report.add(
            "task", "drifted", "its text is another than the one that was certified, so its range is not checked"
        )
    then, now = certificate.anchor, anchor_again(task, certificate.anchor.seed)
    if (now.method, now.cases, now.inputs) != (then.method, then.cases, then.inputs):
        report.add("anchor", "unchecked", "the probe itself is drawn otherwise here (task, NumPy): nothing to compare")
    elif now.outputs != then.outputs:
        report.add("anchor", "failed", "the reference gives other answers on the probe than it did")
    else:
        report.add("anchor", "same", f"{now.elements} answers of the reference on {len(now.cases)} cases")


def _on_device(report: Recheck, proof: Proof, task: Task, locator: str, emit: Listener) -> None:
    settings = Settings(**proof.genesis.settings.model_dump(include=_KEPT))
    settings = settings.model_copy(
        update={"threads": min(settings.threads, processors())}
    )  # a smaller machine judges too
    with _open(settings, task, locator, emit) as opened:
        if _check_machine(report, opened.environment, opened.settings.target == settings.target):
            _confirm_again(report, proof, opened)
        else:
            _judge_elsewhere(report, proof, opened)


def _open(settings: Settings, task: Task, locator: str, emit: Listener) -> OpenTask:
    """For the certificate's target, or for this machine's own where that target is another family's."""
    try:
        return OpenTask(settings, task, locator, emit)
    except UsageError:
        if not settings.target:
            raise
        return OpenTask(settings.model_copy(update={"target": ""}), task, locator, emit)


def _check_machine(report: Recheck, now: dict[str, Any], same_target: bool) -> bool:
    """What this machine has otherwise; whether its device is of the certificate's kind."""
    then = report.certificate.environment
    old, new = str(then.get("device")), str(now.get("device"))
    same_kind = same_target and machine_of(old) == machine_of(new)
    report.add("device", "same" if same_kind else "drifted", new if same_kind else f"{old} -> {new}")
    changes = [change for change in environment_drift(then, now) if change[0] != "device"]
    for name, was, is_now in changes:
        report.add(name, "drifted", f"{was} -> {is_now}")
    if same_kind and not changes:
        report.add("environment", "same", "driver, compiler and libraries as they were")
    return same_kind


def environment_drift(then: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Every fact that differs, packages one by one: (name, then, now)."""

    def flat(facts: dict[str, Any]) -> dict[str, str]:
        plain = {k: str(v) for k, v in facts.items() if k not in (*_RECORDED_ONLY, "packages")}
        return plain | {k: str(v) for k, v in facts.get("packages", {}).items()}

    old, new = flat(then), flat(now)
    names = sorted(old.keys() | new.keys())
    return [(n, old.get(n, "absent"), new.get(n, "absent")) for n in names if old.get(n) != new.get(n)]


def _candidate(proof: Proof) -> Candidate:
    return Candidate(proof.source, proof.trial.proposal.name)


def _confirm_again(report: Recheck, proof: Proof, opened: OpenTask) -> None:
    """The device is of the same kind: everything that the confirmation did, anew."""
    opened.emit(Event("note", "judging on fresh inputs and measuring in pairs"))
    asked = {"judging": Judging(level="full"), "clocking": Clocking(how="fixed")}
    found = _evaluated(proof, opened, asked)
    _check_build(report, found)
    if found.verdict is None or found.calibration is None:
        return
    _check_verdict(report, found.verdict)
    timing, calibration = found.timing, found.calibration
    if found.status == "busy" or (timing is not None and too_busy(timing, calibration)):
        report.add("timing", "unchecked", "the machine is too busy to measure on: --wait waits for quiet")
    elif timing is not None:
        _check_timing(report, timing, win_threshold(opened.settings.win_floor, calibration.noise_floor))


def _judge_elsewhere(report: Recheck, proof: Proof, opened: OpenTask) -> None:
    """Another device: its answers can be judged, its speed says nothing about the certificate's."""
    found = _evaluated(proof, opened, {"judging": Judging(level="full")})
    _check_build(report, found)
    if found.verdict is not None:
        _check_verdict(report, found.verdict)
        report.add("timing", "unchecked", "another device than the certificate's: its figures are not this one's")


def _evaluated(proof: Proof, opened: OpenTask, asked: dict[str, Any]) -> TrialRecord:
    dims = in_order(proof.trial.dims, opened.task)
    return opened.evaluate(opened.request(dims, _candidate(proof), proof.trial.proposal.params, **asked))


def _check_build(report: Recheck, found: TrialRecord) -> None:
    if found.artifact is None:
        report.add("build", "failed", f"{found.status}: {found.reason}")
    elif certified := report.certificate.shapes.parts:
        _check_parts(report, certified, found.artifact)
    elif found.artifact.code == report.certificate.kernel.code:
        report.add("build", "same", "the same machine code, byte for byte")
    else:
        report.add("build", "drifted", f"other machine code, made by {found.artifact.compiler}")


def _check_parts(report: Recheck, certified: dict[str, CertifiedPart], artifact: Artifact) -> None:
    """Shape by shape: what was certified there against what comes out of the same text now."""
    now = {label: part.id for label, part in artifact.parts.items()}
    other = [label for label, part in certified.items() if now.get(label) != part.id]
    if not other:
        report.add("build", "same", f"the same machine code and plans at all {len(certified)} shapes, byte for byte")
    else:
        report.add("build", "drifted", f"other machine code or another plan at {len(other)} of {len(certified)} shapes "
                   f"({', '.join(other[:3])}), made by {artifact.compiler}")  # fmt: skip


def _check_verdict(report: Recheck, verdict: Verdict) -> None:
    if isinstance(verdict, Rejected):
        report.add("verdict", "failed", f"{verdict.cause}: {verdict.reason}")
        return
    report.figures |= {"max_abs_err": verdict.max_abs_err, "max_ulp": verdict.max_ulp}
    error = f"{verdict.max_ulp:.3g} of {verdict.budget_ulp:.3g} ULP"
    report.add("verdict", "same", f"passes all {verdict.cases} cases on fresh inputs, error up to {error}")


def _check_timing(report: Recheck, timing: Timing, threshold: float) -> None:
    """Slower: no longer a win by the rule, or the whole interval below the certified one by more than the tolerance."""
    then = report.certificate.speed
    report.figures |= {
        k: getattr(timing, k) for k in ("speedup", "speedup_low", "speedup_high", "baseline", "latency_s")
    }
    kept = pairs_kept(len(timing.candidate_s), len(timing.dropped))
    figure = (
        f"{timing.speedup:.3f}x of {timing.baseline} [{timing.speedup_low:.3f}, {timing.speedup_high:.3f}] ({kept})"
    )
    detail = (
        f"{figure}, certified {then.speedup:.3f}x [{then.speedup_low:.3f}, {then.speedup_high:.3f}] of {then.baseline}"
    )
    same_yardstick = timing.baseline == then.baseline
    if then.win and timing.speedup_low <= threshold:
        report.add("timing", "failed", f"no longer faster by the rule (threshold {threshold:.3f}): {detail}")
    elif same_yardstick and timing.speedup_high < then.speedup_low * (1 - TOLERANCE):
        report.add("timing", "failed", f"slower than certified by more than {TOLERANCE:.0%}: {detail}")
    elif not same_yardstick:
        report.add("timing", "drifted", f"another baseline is the fastest here: {detail}")
    else:
        near = timing.speedup_low <= then.speedup_high / (1 - TOLERANCE)
        report.add("timing", "same" if near else "drifted", detail)
