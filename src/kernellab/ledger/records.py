"""What a laboratory's ledger holds beside trials and confirmations: one record for each kind of entry.

Only what was given is written, so a record of an older version is the same again. Strict: a number in quotes is no number.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictFloat,
    Tag,
    TypeAdapter,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.dataclasses import dataclass

from kernellab.core.ids import digest
from kernellab.core.records import Dims, Param, Record
from kernellab.core.settings import Settings

_STATED = ("effort", "device", "seed", "win_floor")
FIGURES = ("speedup", "speedup_low", "speedup_high", "latency_s", "gb_per_s", "of_floor", "of_memory_floor")


class AsGiven(BaseModel):
    """Only what was given is written."""

    @model_serializer(mode="wrap")
    def _as_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {k: v for k, v in handler(self).items() if k in self.model_fields_set}


class EntryRecord(AsGiven, Record):
    model_config = ConfigDict(strict=True)


class Environment(EntryRecord):
    """The machine, its libraries and the laboratory's own code. Other facts of a GPU are kept as they are."""

    model_config = ConfigDict(extra="allow")
    device: str = ""
    kernel: str = ""
    python: str = ""
    libc: str = ""
    compiler: str = ""
    packages: dict[str, str] = {}
    code: str = ""
    tier: str = ""
    threads: int = 1
    digest: str = ""

    @property
    def facts(self) -> dict[str, Any]:
        """What was recorded, as plain data."""
        return self.model_dump(mode="json")

    @property
    def sound(self) -> bool:
        """Whether it is the one that its digest names; an older one has none."""
        facts = self.facts
        named = facts.pop("digest", "")
        return not named or digest(facts) == named

    def made(self, device: str, environment: str, tier: str) -> bool:
        """Whether a trial that names these was made in it."""
        return not self.digest or (device, environment, tier) == (self.device, self.digest, self.tier)

    @property
    def version(self) -> str:
        """Of the laboratory; '' where it did not say."""
        return self.packages.get("kernellab", "")


class RunSettings(AsGiven, Settings):
    """Settings as a run recorded them. Those that other versions have beside ours are kept as they are."""

    model_config = ConfigDict(extra="allow", strict=True)


class TaskFacts(EntryRecord):
    """`builtin`: False for a task file, of which the run's folder keeps a copy. `remarks`: what its outputs cannot show, so
    that a kernel which does it would pass; found when the judge was proved on it."""

    name: str
    fingerprint: str
    builtin: bool
    remarks: list[str] = []


class NamedSource(EntryRecord):
    name: str
    source: str


class _Started(EntryRecord):
    """Common to every first entry. `format`: of the records; 1 where the run is too old to say."""

    format: int = 1
    purpose: str
    settings: RunSettings
    environment: Environment
    candidates: list[NamedSource]
    public_key: str = ""
    nonce: str = ""


class Genesis(_Started):
    """What a laboratory was asked for. `files`: copies beside the ledger, by name, with their SHA-256; None in runs that did
    not record any. `science`: how a model was to be used, if one was."""

    params: dict[str, Param] = {}
    task: TaskFacts
    shapes: list[Dims]
    missing_baselines: dict[str, str] = {}
    files: dict[str, str] | None = None
    science: dict[str, Any] | None = None

    @field_validator("settings", mode="before")
    @classmethod
    def _settings_say_what_a_claim_rests_on(cls, given: Any) -> Any:
        if isinstance(given, dict) and (missing := [name for name in _STATED if name not in given]):
            raise ValueError(f"they do not say {', '.join(missing)}")
        return given


class OtherGenesis(_Started):
    """The first entry of a run without a task: whoever made it knows what else it says."""

    model_config = ConfigDict(extra="allow")


AnyGenesis = Genesis | OtherGenesis


def _whose(body: Any) -> str:
    """A laboratory has a task."""
    has_task = "task" in body if isinstance(body, dict) else isinstance(body, Genesis)
    return "laboratory" if has_task else "other"


ANY_GENESIS: TypeAdapter[AnyGenesis] = TypeAdapter(
    Annotated[
        Annotated[Genesis, Tag("laboratory")] | Annotated[OtherGenesis, Tag("other")],
        Discriminator(_whose),
    ]
)


class Resume(EntryRecord):
    """The run was gone on with, in this environment and with so many trials."""

    environment: Environment
    trials: int = 0


class Adopted(EntryRecord):
    """Entries that a killed writer left unsigned."""

    first: int
    last: int


class Note(EntryRecord):
    """A remark that nothing is derived from: a candidate that cannot be used, and why."""

    model_config = ConfigDict(extra="allow")
    candidate: str = ""
    unusable: str = ""


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class CeilingRates:
    """Bytes a second for copying and for reading, floating-point operations a second."""

    copy: StrictFloat
    read: StrictFloat
    flops: StrictFloat


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class MeasuredRates(CeilingRates):
    """The ceilings of this one measurement, and whether others used the machine meanwhile."""

    disturbed: StrictBool


class Calibration(EntryRecord):
    """One shape set up for measuring: its ceilings and floor, every baseline timed, the fastest against itself.

    `baselines`: seconds a call of each, and of the first one in the same pairs. `failed`: those that do not run or are
    wrong. `rough`: those that are timed although their errors are larger than a candidate's may be. `aa`: the fastest in
    both places. `disturbed`: baselines that were timed while others used the machine.
    """

    task: str
    dims: Dims
    bytes: int
    written: int
    flops: int
    threads: int
    slots: int
    ceilings: CeilingRates
    measured: MeasuredRates | None = None
    floor_s: float
    memory_floor_s: float
    bound: str
    inputs_seed: str
    conditions: dict[str, int | str] = {}
    baselines: dict[str, list[list[float]]]
    failed: dict[str, str]
    fastest: str
    noise_floor: float
    aa: list[list[float]]
    disturbed: list[str] = []
    rough: dict[str, str] = {}

    @model_validator(mode="after")
    def _pairs(self) -> Calibration:
        for pairs in (self.aa, *self.baselines.values()):
            if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]) or not pairs[0]:
                raise ValueError("samples come in pairs, and at least one pair")
        if unknown := {self.fastest, *self.disturbed, *self.rough} - self.baselines.keys():
            raise ValueError(f"{min(unknown)} is no baseline that was timed")
        return self


class Listing(EntryRecord):
    """The machine code of an artifact in words: the SHA-256 of the text."""

    artifact: str
    text: str


class _Result(EntryRecord):
    task: str
    dims: Dims
    dtype: str = ""
    status: Literal["better", "busy", "nothing-better", "nothing-verified", "verified"]
    reason: str
    threads: int


class Published(_Result):
    """A shape's best confirmed kernel; every figure is its confirmation's."""

    status: Literal["better", "busy", "nothing-better"]
    trial: int = Field(ge=0)
    win: bool
    baseline: str
    speedup: float
    speedup_low: float
    speedup_high: float
    latency_s: float
    gb_per_s: float
    of_floor: float
    of_memory_floor: float
    max_abs_err: float
    max_ulp: float


class Unpublished(_Result):
    """Nothing that holds: no candidate passed, or the machine was too busy to time one."""

    status: Literal["busy", "nothing-verified"]
    trial: None = None


class Judged(_Result):
    """A kernel that was judged in full and is right; nothing was timed, and nothing is claimed of its speed."""

    status: Literal["verified"]
    trial: int = Field(ge=0)
    cases: int
    max_abs_err: float
    max_ulp: float
    budget_ulp: float
    deterministic: bool


AnyResult = Published | Unpublished | Judged


def _published(body: Any) -> str:
    """Of whatever stands there: what is no result is refused by the model that this names."""
    said = body if isinstance(body, dict) else {name: getattr(body, name, None) for name in ("status", "trial")}
    if said.get("status") == "verified":
        return "judged"
    return "unpublished" if said.get("trial") is None else "published"


Result = Annotated[
    Annotated[Published, Tag("published")]
    | Annotated[Unpublished, Tag("unpublished")]
    | Annotated[Judged, Tag("judged")],
    Discriminator(_published),
]
ANY_RESULT: TypeAdapter[AnyResult] = TypeAdapter(Result)


class ProfiledKernel(EntryRecord):
    name: str
    bound: str
    metrics: dict[str, float]


class ProfileReport(EntryRecord):
    """What bounds a confirmed kernel. `source`: counters, or the clock alone for the given reason."""

    trial: int = Field(ge=0)
    task: str
    dims: Dims
    artifact: str
    source: str
    tool: str
    kernels: list[ProfiledKernel]
    figures: dict[str, float]
    reason: str
    lines: list[str]


class SanitizerError(EntryRecord):
    """What one tool found: how many errors, the first of them, and the kernel it lies in."""

    tool: str
    count: int
    message: str
    kernel: str

    def __str__(self) -> str:
        where = f" in {self.kernel}" if self.kernel else ""
        return f"{self.tool}{where}: {self.message} ({self.count} error{'' if self.count == 1 else 's'})"


class SanitizerReport(EntryRecord):
    """What compute-sanitizer said of an artifact; `reason`: why it did not look. `unfinished`: tools without an answer."""

    artifact: str
    task: str
    dims: Dims
    reason: str
    tools: list[str]
    findings: list[SanitizerError]
    unfinished: dict[str, str]
    version: str
    cases: list[str] = []


class End(EntryRecord):
    """The run is over; `results` are those recorded before. What else a tuning came to is kept as it is."""

    model_config = ConfigDict(extra="allow")
    results: list[Result]
    extras: dict[str, Any] = {}


class Pruned(EntryRecord):
    """Stored blobs that were let go."""

    blobs: list[str]
