"""What a finished run came to: one result for each shape, and the exit code that they mean; and where a run goes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import EXIT_BETTER, EXIT_BUSY, EXIT_NOTHING_BETTER, EXIT_NOTHING_VERIFIED
from kernellab.core.records import Trust
from kernellab.ledger.records import AnyResult
from kernellab.search.outcome_page import outcome_html
from kernellab.search.result import plain

EXIT = {
    "better": EXIT_BETTER,
    "busy": EXIT_BUSY,
    "nothing-better": EXIT_NOTHING_BETTER,
    "verified": EXIT_BETTER,
    "nothing-verified": EXIT_NOTHING_VERIFIED,
}
"""What a run's shapes came to; the first of these that occurs is the run's own status."""
ORDER = tuple(EXIT)


@dataclass(frozen=True)
class Outcome:
    """A finished run: one result for each shape, the ledger's last root, and the exit code they mean.

    `extras` is what was asked for beyond that ("profiles", "sanitizer"), as --json carries it.
    """

    folder: Path
    tier: str
    trust: Trust
    ledger_root: str
    results: tuple[AnyResult, ...]
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> str:
        return min((r.status for r in self.results), key=ORDER.index)

    @property
    def exit_code(self) -> int:
        return EXIT[self.status]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return outcome_html(self.results, str(self.folder), self.ledger_root)

    def data(self) -> dict[str, Any]:
        """The object that --json ends with: the headline shape's figures, then every shape."""
        head = plain(next(r for r in self.results if r.status == self.status))
        keys = (
            "max_abs_err",
            "max_ulp",
            "cases",
            "speedup",
            "speedup_low",
            "speedup_high",
            "baseline",
            "of_floor",
            "of_memory_floor",
            "trial",
            "latency_s",
            "gb_per_s",
            "task",
            "dims",
            "dtype",
            "threads",
        )
        return {
            "status": self.status,
            "reason": head["reason"],
            "trust": self.trust,
            "tier": self.tier,
            **{k: head.get(k) for k in keys},
            "run": str(self.folder),
            "ledger_root": self.ledger_root,
            "shapes": [plain(r) for r in self.results],
            **self.extras,
        }


def default_folder(name: str, base: Path | None = None) -> Path:
    """klab-runs/<name>-<time>, never an existing one."""
    root = (base or Path("klab-runs")) / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder, number = root, 1
    while folder.exists():
        number += 1
        folder = root.with_name(f"{root.name}-{number}")
    return folder
