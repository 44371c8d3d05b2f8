"""What the ledger of a reward service holds beside trials: its plan, a look at the machine for each batch, further looks
at kernels, whose exam it is, and one reward a sample. Everything that a reward follows from is in the same ledger, before
it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, model_validator

from kernellab.core.records import Artifact, Dims, Verdict
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.records import EntryRecord

PURPOSE = "reward"
VERSION = 2
"""Of a plan. Since 2 a timing that the pairs set aside contradict is not paid."""
EXAM = "exam-"
"""How the ids of an exam's samples begin."""
RewardForm = Literal["seed", "log"]


class RewardTask(EntryRecord):
    """A task that samples may be for. `file`: the run folder's copy of it; "" for a built-in one."""

    name: str
    fingerprint: str
    file: str = ""
    shapes: list[Dims]


class RewardPlan(EntryRecord):
    """What the rewards of this ledger are: their form, how wide an interval still tells a speed, the language that
    replies are written in, and the tasks."""

    version: int = 1
    form: RewardForm
    widest: float
    backend: str
    tasks: list[RewardTask]


class RewardBatch(EntryRecord):
    """The fastest baseline of one shape paired with itself, before and after the trials of a batch, in seconds a call.

    `first`: its first trial; all from there on were made in it. `disturbed`: too many of the pairs were set aside. `masked`:
    why nothing that was timed in the batch is rewarded; "" where the machine was quiet."""

    batch: int
    first: int = Field(ge=0)
    task: str
    dims: Dims
    aa: list[list[float]]
    disturbed: bool
    masked: str

    @model_validator(mode="after")
    def _pairs(self) -> RewardBatch:
        if len(self.aa) != 2 or len(self.aa[0]) != len(self.aa[1]) or not self.aa[0]:
            raise ValueError("samples come in pairs, and at least one pair")
        return self


class RewardCheck(EntryRecord):
    """A further look at what a trial tried. "further": at one shape that was drawn in secret, or that a kernel with equal
    machine code failed at. "full": at every shape and distribution; then `artifact` holds all that was judged.

    A look holds for the trial's text: at the screened shapes another text may have the same machine code, and differ
    elsewhere. What fails a look is rewarded 0 from then on."""

    trial: int = Field(ge=0)
    level: Literal["further", "full"]
    dims: Dims
    distribution: str = ""
    inputs_seed: str
    verdict: Verdict
    artifact: Artifact | None = None


class RewardExam(EntryRecord):
    """Whose replies the samples of an exam are, and how they were drawn. `weights`: their digest; `record`: that of the
    model's own record of its training, "" for a model that was not trained here."""

    model: str
    weights: str
    record: str = ""
    count: int
    longest: int
    temperature: float
    seed: int


class RewardRecord(EntryRecord):
    """One sample's reward, once. `reply`: the SHA-256 of its text. `trials`: those it follows from, a second one only where
    the first told nothing; none where the reply could not be read or the laboratory failed.

    `fault`: of the reply's format; `failed`: what the laboratory could not do.
    """

    sample: str
    task: str
    dims: Dims
    reply: str
    fault: str = ""
    failed: str = ""
    trials: list[Annotated[int, Field(ge=0)]] = Field(default_factory=list)
    format: int
    accuracy: int | None
    speedup: float | None
    reward: float | None
    why: str

    @property
    def in_exam(self) -> bool:
        return self.sample.startswith(EXAM)


REWARD_PLAN = EntryKind("reward-plan", TypeAdapter(RewardPlan))
REWARD_BATCH = EntryKind("reward-batch", TypeAdapter(RewardBatch))
REWARD_CHECK = EntryKind("reward-check", TypeAdapter(RewardCheck))
REWARD_EXAM = EntryKind("reward-exam", TypeAdapter(RewardExam))
REWARD = EntryKind("reward", TypeAdapter(RewardRecord))
REWARD_KINDS: tuple[EntryKind[Any], ...] = (REWARD_PLAN, REWARD_BATCH, REWARD_CHECK, REWARD_EXAM, REWARD)
