"""The nouns of a run. Frozen; the status decides which fields exist, so an illegal state cannot be built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from kernellab.core.ids import digest

Dims = dict[str, int]
Trust = Literal["native", "device-only", "host"]
Param = int | float | str | bool
Cause = Literal[
    "wrong-output", "non-finite", "nondeterministic", "out-of-bounds", "input-written", "crash", "timeout",
    "output-flood", "unwritten", "early-reply", "hidden-work", "too-good", "sandbox", "memory", "static-memory",
    "plan", "lost-worker", "stood-still",
]  # fmt: skip
STOOD_STILL: Cause = "stood-still"
"""It could not be stopped, and did nothing meanwhile: others had the processors, or the machine had other things to do.
Nobody is rejected for that."""


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def part_id(code: str, plan: str) -> str:
    """The name of what one shape runs, from the SHA-256 of its machine code and of its plan file."""
    return digest([code, plan])


def artifact_id(parts: Mapping[str, str]) -> str:
    """The name of an artifact: its shapes, each with the id of its part."""
    return digest(dict(parts))


class Proposal(Record):
    """What is tried and why. `source` is the SHA-256 of the candidate file in the run's store.

    `origin`: "recipe", "user", "warm-start", "replay", "llm", "policy" (a learned one), or another proposer's own word.
    """

    source: str
    name: str
    params: dict[str, Param] = {}
    why: str = ""
    origin: str = "recipe"


class PartRecord(Record):
    """What one shape runs: the SHA-256 of its machine code, of its plan file and of its build log."""

    code: str
    plan: str
    log: str

    @property
    def id(self) -> str:
        return part_id(self.code, self.plan)


class Artifact(Record):
    """Machine code and launch plan of every shape that was built, by the shape's sorted label; `id` names them all.

    `code`, `plans` and `log` are the timed shape's; `text` hashes SOURCE and FLAGS, which all shapes share. Records of older
    versions have no `parts`: one `code` for all shapes, one file of `plans`, and an `id` that names the two.
    `abilities`: what the code can do besides computing, by the rules of that edition; 0 in records older than such lists.
    """

    id: str
    backend: str
    code: str
    plans: str
    log: str
    parts: dict[str, PartRecord] = {}
    text: str = ""
    compiler: str
    flags: list[str]
    static_bytes: int
    resources: dict[str, int] = {}
    abilities: list[str] = []
    abilities_edition: int = 0
    build_s: float
    cached: bool = False


class Passed(Record):
    """`judged`: by shape, the part of the artifact that was judged there, hashed from the bytes that ran."""

    status: Literal["passed"] = "passed"
    level: Literal["screen", "full"]
    cases: int
    max_abs_err: float
    max_ulp: float
    budget_ulp: float
    deterministic: bool
    judged: dict[str, str] = {}


class Rejected(Record):
    status: Literal["rejected"] = "rejected"
    cause: Cause
    reason: str
    case: str = ""
    max_abs_err: float | None = None
    max_ulp: float | None = None


Verdict = Annotated[Passed | Rejected, Field(discriminator="status")]


class Timing(Record):
    """Raw paired samples (seconds a call, candidate and baseline) and the figures derived from them.

    `speedup` is the median of the paired ratios baseline/candidate with its exact-bootstrap 95 % interval.
    `dropped` holds pairs in which a process was preempted: kept for audit, not in the figures. `disturbed`: half of all
    tries or more were; no speed-up is claimed by such figures.
    `processes`: how many of the pairs each fresh process gave, in order; the interval then covers the spread between
    them. Empty: a trial's, of one process. `checked`: how many timed calls were judged in full.
    `floor_s` is the least time that the device's measured ceilings allow for one call.
    `conditions`: clocks, heat and what held the device back, read right after the last pair.
    `part`: the part of the artifact that was timed, hashed from the bytes that ran.
    """

    baseline: str
    threads: int
    calls: int
    candidate_s: list[float]
    baseline_s: list[float]
    dropped: list[tuple[float, float]] = []
    disturbed: bool = False
    speedup: float
    speedup_low: float
    speedup_high: float
    latency_s: float
    gb_per_s: float
    floor_s: float
    memory_floor_s: float
    of_floor: float
    of_memory_floor: float
    checked: int
    stopped: Literal["raced", "narrow", "budget"]
    conditions: dict[str, int | str] = {}
    processes: list[int] = []
    part: str = ""

    @model_validator(mode="after")
    def _paired(self) -> Timing:
        if len(self.candidate_s) != len(self.baseline_s) or not self.candidate_s:
            raise ValueError("samples come in pairs, and at least one pair")
        if self.processes and (sum(self.processes) != len(self.candidate_s) or min(self.processes) < 1):
            raise ValueError("every pair belongs to one process, and every process gave one")
        return self


class _Trial(Record):
    """Common to every trial. `trial` is its ordinal in the run; `seed` steers search, `inputs_seed` the judge."""

    trial: int
    task: str
    dims: Dims
    proposal: Proposal
    tier: str
    seed: int
    device: str
    environment: str
    wall_s: float = 0.0


class FailedTrial(_Trial):
    status: Literal["invalid", "build-failed"]
    reason: str
    log: str = ""


class RejectedTrial(_Trial):
    status: Literal["rejected"] = "rejected"
    artifact: Artifact
    verdict: Rejected
    inputs_seed: str


class DuplicateTrial(_Trial):
    """Machine code and plans equal to an earlier trial's: its outcome stands for this one."""

    status: Literal["duplicate"] = "duplicate"
    artifact: Artifact
    of: int


class MeasuredTrial(_Trial):
    status: Literal["measured"] = "measured"
    trust: Trust
    artifact: Artifact
    verdict: Passed
    inputs_seed: str
    timing: Timing


class UntimedTrial(_Trial):
    """Right on every case that it was judged on. `busy`: how fast it is could not be told while others used the machine;
    `verified`: judged in full, and nobody asked how fast it is."""

    status: Literal["busy", "verified"] = "busy"
    artifact: Artifact
    verdict: Passed
    inputs_seed: str
    reason: str


AnyTrial = FailedTrial | RejectedTrial | DuplicateTrial | MeasuredTrial | UntimedTrial
Trial = Annotated[AnyTrial, Field(discriminator="status")]
TRIAL: TypeAdapter[AnyTrial] = TypeAdapter(Trial)


class Confirmation(Record):
    """A second look at a trial: fresh processes, fresh inputs, every case; the only source of a claim.

    `artifact` holds every shape of the claim; its parts are what was judged, and the timed one is what was timed.
    `busy`: why nothing can be said of its speed, although it is right.
    """

    trial: int = Field(ge=0)
    task: str
    dims: Dims
    verdict: Verdict
    timing: Timing | None = None
    win: bool
    inputs_seed: str
    busy: str = ""
    artifact: Artifact | None = None

    @model_validator(mode="after")
    def _win_is_earned(self) -> Confirmation:
        if self.win and (self.timing is None or self.verdict.status != "passed"):
            raise ValueError("a win needs a passed verdict and a timing")
        if self.timing is not None and self.verdict.status != "passed":
            raise ValueError("what was rejected has no timing")
        return self


def dump(record: Record) -> dict[str, Any]:
    """The record as plain data, ready for canonical JSON."""
    return record.model_dump(mode="json")
