"""A trial as plain data: what an evaluator is asked, and what it answers. Both travel as JSON.

A request holds everything that its answer depends on. What was tried before does not matter unless it is a field: the best
speed so far to race against, machine code that is known already.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from kernellab.core.ids import digest
from kernellab.core.records import Artifact, Dims, Param, Passed, Record, Rejected, Timing, Trust, Verdict
from kernellab.core.settings import Effort, Settings
from kernellab.ledger.records import Calibration


class Place(Record):
    """Where a kernel is tried: the device, the processor or GPU model it is built for, and how many threads it has."""

    device: str
    target: str = ""
    threads: int = 1

    @classmethod
    def of(cls, settings: Settings) -> Place:
        return cls(device=settings.device, target=settings.target, threads=settings.threads)


class Judging(Record):
    """What is judged. `screen`: the tuned and the edge shapes; `full`: every shape, those kept back too.

    `inputs_seed`: draw the inputs from it (hexadecimal), as a replay does; empty: from a secret of the evaluator's.
    `distribution`: only the timed shape, under this distribution.
    """

    level: Literal["screen", "full"] = "screen"
    inputs_seed: str = ""
    distribution: str = ""


class Clocking(Record):
    """What is timed. `race`: until the interval is narrow, or the kernel is clearly slower than the `incumbent` speed-up.
    `fixed`: so many pairs as the effort says, in fresh processes. The opponent is the fastest baseline of the task here."""

    how: Literal["race", "fixed"]
    incumbent: float = 0.0


class TrialRequest(Record):
    """`task`: the name of a built-in task or the path of a task file; `fingerprint`: which task exactly.

    `dims`: the shape that is timed. `known`: artifacts whose outcome is known; one that is built again is not judged again.
    `expected`: the artifact that the build must give again. `torch`: whether its baselines are among the opponents.
    `deadline_s`: nothing new is begun later than that.
    """

    task: str
    fingerprint: str
    place: Place
    dims: Dims
    source: str
    name: str
    params: dict[str, Param] = Field(default_factory=dict)
    judging: Judging = Judging()
    clocking: Clocking | None = None
    effort: Effort
    known: tuple[str, ...] = ()
    expected: Artifact | None = None
    torch: bool = True
    deadline_s: float = Field(0.0, ge=0)

    @model_validator(mode="after")
    def _confirmed_in_full(self) -> TrialRequest:
        race = self.clocking is not None and self.clocking.how == "race"
        if race and self.judging.level == "full" and not self.judging.inputs_seed:
            raise ValueError("what is judged in full on secret inputs is timed with a fixed number of pairs")
        return self

    @property
    def build_key(self) -> str:
        """The same for requests that build the same thing."""
        shapes = "one" if self.judging.distribution else self.judging.level
        return digest([self.task, self.fingerprint, self.place.model_dump(), self.dims, self.source, self.params,
                       shapes])  # fmt: skip

    @property
    def usable_builds(self) -> tuple[str, ...]:
        """The keys of builds that hold what this request needs, its own first: one case at a shape is a part of what a
        trial at that shape builds."""
        if not self.judging.distribution:
            return (self.build_key,)
        trial = self.judging.model_copy(update={"distribution": ""})
        return self.build_key, self.model_copy(update={"judging": trial}).build_key


Status = Literal["invalid", "build-failed", "duplicate", "rejected", "passed", "measured", "busy", "out-of-time"]


class TrialRecord(Record):
    """What came of a request. `passed`: judged right, and no timing was asked for; `busy`: right, and too noisy to time.

    `evidence`: machine code, plans and build logs by their SHA-256; `listing`: the machine code in words, where there is
    one. `calibration`: of the shape, where something was to be timed.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    status: Status
    reason: str = ""
    log: str = ""
    failed_at: Dims | None = None
    artifact: Artifact | None = None
    verdict: Verdict | None = None
    timing: Timing | None = None
    inputs_seed: str = ""
    trust: Trust
    tier: str
    device: str
    environment: str
    calibration: Calibration | None = None
    evidence: dict[str, bytes] = Field(default_factory=dict)
    listing: str = ""
    wall_s: float = 0.0

    @property
    def passed(self) -> Passed | None:
        return self.verdict if isinstance(self.verdict, Passed) else None

    @property
    def rejected(self) -> Rejected | None:
        return self.verdict if isinstance(self.verdict, Rejected) else None
