"""What the tools answer: small frozen records. The status decides which fields exist; long things go by reference."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kernellab.core.choices import OneOf
from kernellab.core.records import Cause, Dims, Param, Record, Trust
from kernellab.core.targets import backends

Backend = Annotated[str, OneOf(lambda: ["auto", *backends()])]
Strategy = Literal["recipe", "lower", "write", "translate"]
Space = dict[str, list[Param]]


class Spec(Record):
    """What a kernel is for: a task (a built-in name or a task file), its dtype, and the shape that is timed."""

    task: str
    dtype: str = ""
    shape: str = ""


class Generated(Record):
    """A kernel's source, kept under the id `kernel`. `params` are the first choices of its space."""

    status: Literal["generated"] = "generated"
    kernel: str
    name: str
    backend: str
    task: str
    space: Space
    params: dict[str, Param]
    why: str
    others: tuple[str, ...] = ()
    tokens: int = 0
    folder: str = ""
    ledger_root: str = ""


class NotGenerated(Record):
    """A model that was asked and gave nothing that can be read. What it cost is on record."""

    status: Literal["format-failure", "no-reply"]
    task: str
    reason: str
    attempts: int
    tokens: int
    folder: str
    ledger_root: str


class Compiled(Record):
    """Machine code and plans, kept under the id `artifact` for the other tools. `loop`: the innermost loop of a C kernel
    as it was compiled."""

    status: Literal["built"] = "built"
    artifact: str
    kernel: str
    backend: str
    target: str
    task: str
    dims: Dims
    params: dict[str, Param]
    compiler: str
    build_s: float
    code: str
    resources: dict[str, int]
    scratch_bytes: int
    kernels: tuple[str, ...]
    loop: str = ""


class NotCompiled(Record):
    """What does not build is a result too: why, with the lines of the source that are at fault."""

    status: Literal["invalid", "build-failed"]
    kernel: str
    backend: str
    task: str
    params: dict[str, Param]
    reason: str


class _Recorded(Record):
    """`folder` is the run folder of the session, `trial` its number there; `ledger_root` is worth writing down: an audit
    can be held against it."""

    artifact: str
    trial: int | None = None
    folder: str
    ledger_root: str


class Verified(_Recorded):
    """Every case of the task passed, held-out shapes included. `tol` is the ULP bound that was applied on top."""

    status: Literal["passed"] = "passed"
    cases: int
    max_abs_err: float
    max_ulp: float
    budget_ulp: float
    tol: float | None
    deterministic: bool
    trust: Trust
    tier: str
    note: str = ""


class Refused(_Recorded):
    """The judge's rejection, or a tolerance tighter than the task's that was missed ("tolerance")."""

    status: Literal["rejected"] = "rejected"
    cause: Cause | Literal["tolerance", "build"]
    reason: str
    case: str = ""
    max_ulp: float | None = None


class OutOfTime(_Recorded):
    """The quota of seconds was spent; what was recorded until then stays and `klab resume` goes on."""

    status: Literal["out-of-time"] = "out-of-time"
    timeout_s: float
    reason: str


Verification = Verified | Refused | OutOfTime


class Timed(Record):
    """The confirmed measurement at one shape: `speedup` over the fastest baseline with its 95 % interval; `bound`: what the
    shape is bound by."""

    status: Literal["better", "nothing-better"]
    shape: str
    speedup: float
    speedup_low: float
    speedup_high: float
    baseline: str
    baseline_us: float
    latency_us: float
    bound: str
    gb_per_s: float
    of_floor: float
    max_ulp: float
    trial: int | None = None
    folder: str
    ledger_root: str


class NotTimed(Record):
    """Nothing is timed that is not right; on a busy machine nothing is said of the speed of what is."""

    status: Literal["busy", "nothing-verified", "out-of-time", "over-quota"]
    shape: str
    reason: str
    trial: int | None = None
    folder: str = ""
    ledger_root: str = ""


class Benchmarked(Record):
    """One row a shape. `effort` is what the wanted repeats came to."""

    artifact: str
    effort: str
    rows: tuple[Annotated[Timed | NotTimed, Field(discriminator="status")], ...]

    @property
    def status(self) -> str:
        """The row that matters most: trouble first, then what was not faster."""
        order = ("out-of-time", "over-quota", "nothing-verified", "busy", "nothing-better", "better")
        return min((row.status for row in self.rows), key=order.index)


class Chosen(Record):
    """An exemplar: how fast, why it is shown, and what sets it apart from the trial `beside`. `kernel` and `artifact`: its
    ids, where a tool made it."""

    trial: int
    kernel: str = ""
    artifact: str = ""
    name: str
    params: dict[str, Param]
    bucket: int
    island: int | None
    speedup: tuple[float, float, float] | None
    why: str
    beside: int | None = None
    contrast: str = ""


class Exemplars(Record):
    run: str
    scheme: Literal["bucket", "island"]
    tau: float
    trials: int
    chosen: tuple[Chosen, ...]


class TaskLine(Record):
    name: str
    about: str
    dtypes: tuple[str, ...]
    shapes: tuple[str, ...]
    recipes: tuple[str, ...]


class TaskList(Record):
    tasks: tuple[TaskLine, ...]


class BestRow(Record):
    """The best confirmed kernel of a task and shape among the runs that were looked at."""

    task: str
    shape: str
    status: Literal["better", "nothing-better"]
    speedup: float
    speedup_low: float
    speedup_high: float
    baseline: str
    run: str
    trial: int
    kernel: str = ""
    artifact: str = ""
    name: str
    params: dict[str, Param]


class BestList(Record):
    """`unconfirmed`: runs without a confirmed result."""

    rows: tuple[BestRow, ...]
    unconfirmed: tuple[str, ...] = ()


class Explanation(Record):
    """A trial in words: what it is, the verdict, the time, what bounds it, and how it differs from the best."""

    run: str
    trial: int
    kernel: str = ""
    artifact: str = ""
    status: str
    words: tuple[str, ...]
    best: int | None
    ledger_root: str
