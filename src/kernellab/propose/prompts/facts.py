"""What a prompt may hold, and nothing else: templates see these and no record, task or path.

Held-out shapes, edge shapes, seeds and file paths have no field here, so no template, a user's own
included, can show them. Free text that comes with a task is cleaned on the way (withhold.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from kernellab.core.records import FailedTrial, MeasuredTrial, Param, RejectedTrial, UntimedTrial
from kernellab.core.targets import backend_of
from kernellab.measurement.roofline import Ceilings
from kernellab.propose.prompts.reference import UNAVAILABLE, reference_text
from kernellab.propose.prompts.withhold import Withheld, without_paths
from kernellab.tasks.dtypes import is_short
from kernellab.tasks.spec import IEEE, Task, dims_label
from kernellab.tasks.tunable import Tunable

MOST_DIFF_LINES = 120
Stage = Literal["format", "build", "launch", "verify", "measure"]


@dataclass(frozen=True)
class Interval:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class BufferFacts:
    name: str
    extents: tuple[str, ...]
    dtype: str
    constant: bool = False


@dataclass(frozen=True)
class ShapeFacts:
    """A shape that is tuned for, and the least it costs: bytes any kernel must move, operations it must do."""

    label: str
    megabytes: float
    gigaflops: float


@dataclass(frozen=True)
class TaskFacts:
    name: str
    about: str
    reference: str
    inputs: tuple[BufferFacts, ...]
    outputs: tuple[BufferFacts, ...]
    shapes: tuple[ShapeFacts, ...]
    distributions: tuple[str, ...]
    accuracy: str

    @staticmethod
    def of(task: Task, kind: str = "cpu") -> TaskFacts:
        """The task on a kind of device. Of its shapes it reads `tune` alone."""
        here = task.on(kind)
        secret = Withheld.of(here)
        return TaskFacts(
            name=here.name,
            about=shown(here.about, secret),
            reference=shown(here.captured.text if here.captured else reference_text(here.reference), secret),
            inputs=tuple(BufferFacts(b.name, tuple(map(str, b.extents)), b.dtype, b.constant) for b in here.inputs),
            outputs=tuple(BufferFacts(b.name, tuple(map(str, b.extents)), b.dtype, b.constant) for b in here.outputs),
            shapes=tuple(
                ShapeFacts(dims_label(d), here.least_bytes(d) / 1e6, here.least_flops(d) / 1e9) for d in here.tune
            ),
            distributions=tuple(here.distributions),
            accuracy=accuracy_rule(here),
        )

    @property
    def signature(self) -> str:
        """The order of launch()'s buffers: inputs, then outputs."""
        return ", ".join(b.name for b in (*self.inputs, *self.outputs))


def shown(text: str, secret: Withheld) -> str:
    """Free text (a description, a PyTorch file, a reason) as a prompt may quote it."""
    return without_paths(secret.clean(text))


def accuracy_rule(task: Task) -> str:
    """The error budget of docs/tasks.md in words, for this task's outputs."""
    if task.exact:
        return "Outputs must match the reference bit for bit."
    rule = "Every element is compared with a float64 reference, in ULPs of its scale. "
    if any(is_short(b.dtype) for b in task.outputs):
        rule += (
            "16-bit outputs must be within about two ULP: compute, sum and take exponentials in float32 and round once, "
            "at the store. Sums, maxima or intermediate fields kept in 16 bits fail."
        )
    else:
        rule += (
            "The budget is a few ULP plus the square root of the number of terms summed: another order of summation or "
            "a good fast exponential passes, 16-bit arithmetic in disguise and crude approximations fail."
        )
        if any(is_short(b.dtype) for b in task.inputs):
            rule += " 16-bit inputs are exact: widen them to float32 before any arithmetic."
    if task.precision != IEEE:
        rule += f" Operands of products may be rounded to {task.precision} first."
    return rule + " NaN, infinity and elements never written fail."


@dataclass(frozen=True)
class DeviceFacts:
    """`target` is "cpu" or an architecture such as "sm_90"; ceilings are measured, in GB/s and GFLOP/s."""

    name: str
    target: str
    processors: int
    copy_gb_per_s: float | None = None
    read_gb_per_s: float | None = None
    gflops: float | None = None
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(
        name: str, target: str, processors: int, ceilings: Ceilings | None = None, notes: tuple[str, ...] = ()
    ) -> DeviceFacts:
        if ceilings is None:
            return DeviceFacts(name, target, processors, notes=notes)
        rates = (ceilings.copy / 1e9, ceilings.read / 1e9, ceilings.flops / 1e9)
        return DeviceFacts(name, target, processors, *rates, notes=notes)

    @property
    def is_gpu(self) -> bool:
        return self.target != "cpu"


@dataclass(frozen=True)
class BaselineFacts:
    """What a kernel is compared with. `latency_us` is None where nothing was timed, `source` '' where it is not the task's
    own."""

    name: str
    latency_us: float | None = None
    source: str = ""

    @staticmethod
    def of(
        task: Task, baselines: Mapping[str, Callable[..., object]], name: str, latency_s: float | None
    ) -> BaselineFacts:
        """`name`: as a calibration has it, with the settings of its knobs."""
        found = baselines.get(name.partition("[")[0])
        function = found.function if isinstance(found, Tunable) else found
        own = function is not None and not task.captured and not name.startswith("torch.")
        source = shown(reference_text(function), Withheld.of(task)) if own and function is not None else ""
        plain = "" if source == UNAVAILABLE else source
        return BaselineFacts(name, None if latency_s is None else latency_s * 1e6, plain)


@dataclass(frozen=True)
class KernelFacts:
    """A kernel that was tried. What was not measured is None; `reason` says why where it failed."""

    id: str
    source: str
    params: Mapping[str, Param]
    status: Literal["measured", "rejected", "build-failed", "invalid", "failed", "untried", "busy"]
    shape: str = ""
    speedup: Interval | None = None
    latency_us: float | None = None
    of_floor: float | None = None
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    reason: str = ""
    why: str = ""
    bound: str = ""
    loop: str = ""

    @property
    def backend(self) -> str:
        return backend_of(self.source)

    @staticmethod
    def of(
        trial: MeasuredTrial | RejectedTrial | FailedTrial | UntimedTrial,
        source: str,
        task: TaskFacts,
        secret: Withheld,
    ) -> KernelFacts:
        """From a trial and its source. The shape is named only where it is one of the task's tuning shapes."""
        named = sorted(dims_label(trial.dims).split(","))  # records sort their keys, live trials do not
        shape = next((s.label for s in task.shapes if sorted(s.label.split(",")) == named), "")
        proposal = trial.proposal
        why = shown(proposal.why, secret)
        common = (f"trial {trial.trial}", source, dict(sorted(proposal.params.items())))
        if isinstance(trial, FailedTrial):
            reason = shown(trial.reason, secret)
            return KernelFacts(*common, trial.status, shape, reason=reason, why=why)
        used = trial.artifact.resources
        static = (used.get("registers"), used.get("spill_bytes"), used.get("shared"))
        if isinstance(trial, RejectedTrial):
            reason = f"{trial.verdict.cause}: {shown(trial.verdict.reason, secret)}"
            return KernelFacts(*common, "rejected", shape, None, None, None, *static, reason, why)
        if isinstance(trial, UntimedTrial):
            return KernelFacts(*common, "busy", shape, None, None, None, *static, trial.reason, why)
        timing = trial.timing
        speedup = Interval(timing.speedup, timing.speedup_low, timing.speedup_high)
        bound = "memory" if timing.memory_floor_s >= 0.999 * timing.floor_s else "arithmetic"
        return KernelFacts(
            *common, "measured", shape, speedup, timing.latency_s * 1e6, timing.of_floor, *static, why=why, bound=bound
        )


@dataclass(frozen=True)
class Contrast:
    """Two kernels that differ little in code and clearly in time. `ratio` is slower / faster, above 1."""

    faster: str
    slower: str
    diff: str
    ratio: Interval
    deltas: Mapping[str, int]

    @staticmethod
    def of(faster: KernelFacts, slower: KernelFacts, ratio: Interval) -> Contrast:
        """Deltas are the faster one's figures minus the slower one's."""
        pairs = {
            "registers": (faster.registers, slower.registers),
            "spill bytes": (faster.spill_bytes, slower.spill_bytes),
            "shared bytes": (faster.shared_bytes, slower.shared_bytes),
        }
        deltas = {k: a - b for k, (a, b) in pairs.items() if a is not None and b is not None and a != b}
        return Contrast(faster.id, slower.id, _diff(slower, faster), ratio, deltas)


def _diff(old: KernelFacts, new: KernelFacts) -> str:
    """Parameters first, then the source, cut after MOST_DIFF_LINES lines."""
    head = [f"# parameters: {dict(old.params)} -> {dict(new.params)}"] if old.params != new.params else []
    lines = list(difflib.unified_diff(old.source.splitlines(), new.source.splitlines(), old.id, new.id, "", "", 2, ""))
    lines = ["@@" if line.startswith("@@ ") else line for line in lines]
    if len(lines) > MOST_DIFF_LINES:
        lines = [*lines[:MOST_DIFF_LINES], f"# ... {len(lines) - MOST_DIFF_LINES} more lines"]
    return "\n".join(head + lines) or "# the same text and parameters"


@dataclass(frozen=True)
class TestedHypothesis:
    """What the numbers said of a claim, on which device, and the trials that say so."""

    claim: str
    verdict: Literal["held", "refuted", "undecided"]
    effect: Interval | None
    trials: tuple[int, ...]
    device: str


@dataclass(frozen=True)
class Experiment:
    """`gain_low` to `gain_high` is the expected speed-up over the base kernel (1.1 is 10 % faster)."""

    hypothesis: str
    change: str
    gain_low: float
    gain_high: float
    risk: str
    refuted_if: str


@dataclass(frozen=True)
class Failure:
    """Why a candidate came to nothing; `summary` is a few lines for whoever repairs it."""

    stage: Stage
    cause: str
    summary: str


@dataclass(frozen=True)
class VerifierFacts:
    """A soft verifier's prompt as it is, and how it stands against the hard verdicts."""

    kind: str
    template: str
    standing: str


@dataclass(frozen=True)
class Mistake:
    """What a soft verifier said of a kernel, and what building and judging it said."""

    task: TaskFacts
    source: str
    params: Mapping[str, Param]
    said: str
    failed: bool
    truth: str

    @property
    def backend(self) -> str:
        return backend_of(self.source)
