"""What a ledger of rewards comes to, in a few numbers."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import Any

from kernellab.learn.book import book_of
from kernellab.ledger.reward_records import REWARD
from kernellab.ledger.run import Run


@dataclass(frozen=True)
class RewardSummary:
    """Samples that were paid, that got nothing, and that could not be rewarded. `mean`: of those with a reward.
    `refused_later`: paid ones whose text failed a look afterwards."""

    samples: int
    paid: int
    nothing: int
    masked: int
    mean: float | None
    refused_later: int

    @property
    def words(self) -> str:
        mean = "" if self.mean is None else f", {self.mean:.3f} on average"
        later = f"; {self.refused_later} of the paid failed a look later" if self.refused_later else ""
        return (
            f"{self.samples} samples: {self.paid} paid, {self.nothing} got nothing, {self.masked} masked{mean}{later}"
        )

    def data(self) -> dict[str, Any]:
        return asdict(self)


def summary_of(run: Run) -> RewardSummary | None:
    """None where a run holds no rewards."""
    given = run.records(REWARD)
    if not given:
        return None
    book = book_of(run)
    known = [record.reward for record in given if record.reward is not None]
    paid = [record for record in given if record.reward]
    return RewardSummary(
        samples=len(given), paid=len(paid), nothing=len(known) - len(paid), masked=len(given) - len(known),
        mean=statistics.fmean(known) if known else None,
        refused_later=sum((book.text(record.trials[-1]) or "") in book.refused for record in paid),
    )  # fmt: skip
