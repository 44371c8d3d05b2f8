"""The residual band: certificates that a person should look at first, each with the reasons; and the list of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernellab.build.abilities import for_review
from kernellab.certify.certificate import Certificate, read_certificate
from kernellab.certify.confirmed_trial import CERTIFICATES
from kernellab.certify.history import History, read_history
from kernellab.core.errors import KlabError, UsageError
from kernellab.core.targets import devices_of, platform_facts
from kernellab.core.trust import LEVELS
from kernellab.sandbox.zygote import Tier

BORDERLINE = 0.5
NEAR = 0.02
NO_SANDBOX: Tier = "T0"


@dataclass(frozen=True)
class Row:
    """One certificate in the list; `problem` says why nothing can be decided about it."""

    path: Path
    certificate: Certificate | None
    history: History
    reasons: tuple[str, ...]
    problem: str = ""


def residual(certificate: Certificate) -> tuple[str, ...]:
    """Why this one is not beyond doubt; empty for the plain case."""
    accuracy, speed = certificate.accuracy, certificate.speed
    reasons = []
    if accuracy.budget_ulp and accuracy.max_ulp > BORDERLINE * accuracy.budget_ulp:
        reasons.append(f"borderline error: {accuracy.max_ulp:.3g} of {accuracy.budget_ulp:.3g} ULP allowed")
    if not accuracy.deterministic:
        reasons.append("its outputs differ in bits from call to call")
    if not speed.win:
        reasons.append(f"not faster by the rule: lower bound {speed.speedup_low:.3f}, threshold {speed.threshold:.3f}")
    elif speed.speedup_low < speed.threshold * (1 + NEAR):
        reasons.append(
            f"noisy timing: lower bound {speed.speedup_low:.3f} within 2 % of the threshold {speed.threshold:.3f}"
        )
    reasons += [f"what its judge cannot tell: {remark}" for remark in certificate.subject.remarks]
    reasons += _trust(certificate)
    reasons += [f"its machine code {ability}" for ability in for_review(certificate.kernel.abilities or ())]
    if certificate.tier == NO_SANDBOX:
        reasons.append("measured without a sandbox")
    return tuple(reasons)


def _trust(certificate: Certificate) -> list[str]:
    """A level that leaves a doubt by itself, or that is not the one of any device for such a kernel."""
    level, backend = LEVELS[certificate.trust], certificate.kernel.backend
    if level.doubt:
        return [f"trust level {level.name}: {level.doubt}"]
    usual = {platform_facts(kind).trust for kind in devices_of(backend)}
    return [] if level.name in usual else [f"trust level {level.name} is not that of a kernel written in {backend}"]


def review_list(places: Iterable[Path]) -> list[Row]:
    """Certificates under these files and folders: undecided ones of the band first, then undecided, then the rest."""
    paths: dict[Path, None] = {}
    for place in places:
        if not place.exists():
            raise UsageError(f"there is nothing at {place}", "name certificates, or folders of runs")
        found = sorted(place.rglob(f"{CERTIFICATES}/*.json")) if place.is_dir() else [place]
        paths |= dict.fromkeys(found or (sorted(place.glob("*.json")) if place.name == CERTIFICATES else []))
    return sorted((_row(path) for path in paths), key=_order)


def _row(path: Path) -> Row:
    try:
        certificate = read_certificate(path)
        return Row(path, certificate, read_history(path, certificate), residual(certificate))
    except KlabError as fault:
        return Row(path, None, History(), (), fault.what)


def _order(row: Row) -> tuple[bool, bool, int, str]:
    decided = row.history.state not in ("unreviewed", "unknown")
    return decided, not (row.reasons or row.problem), -len(row.reasons), str(row.path)
