"""What a run holds about one confirmed trial, after its ledger has verified."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernellab.core.records import Confirmation, MeasuredTrial, Passed, Timing
from kernellab.ledger.check import LedgerCheck
from kernellab.ledger.records import Environment, Genesis


@dataclass(frozen=True)
class Proof:
    """Everything behind one confirmed trial; `environment` is the one in force when it was confirmed."""

    folder: Path
    ledger: LedgerCheck
    genesis: Genesis
    environment: Environment
    trial: MeasuredTrial
    confirmation: Confirmation
    verdict: Passed
    timing: Timing
    threshold: float
    source: str
