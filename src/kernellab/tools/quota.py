"""Quotas: seconds for a call, memory for a candidate. What the machine does not have is refused with what it has."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, field
from threading import Event as Flag

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.settings import EFFORTS
from kernellab.targets.base import platform
from kernellab.tasks.spec import Dims, Task

LONGEST_S = 24 * 3600.0


class TimeSpent(EnvironmentFault):
    """Ends a laboratory the way Ctrl-C would: everything recorded until then stays."""


@dataclass
class Deadline:
    """A listener that ends the work when its seconds are spent or `cancel` is set.

    It looks whenever the laboratory says something: between baselines, before and after each trial and confirmation. What
    one of these takes is bounded by the judge's own time-outs. Zero seconds: no limit.
    """

    seconds: float = 0.0
    cancel: Flag = field(default_factory=Flag)
    then: Listener = silent
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if not math.isfinite(self.seconds) or not 0 <= self.seconds <= LONGEST_S:
            raise UsageError(
                f"a quota of {self.seconds:g} s makes no sense", f"give 0 (none) to {LONGEST_S:.0f} seconds"
            )

    def __call__(self, event: Event) -> None:
        self.check()
        self.then(event)

    def check(self) -> None:
        if self.cancel.is_set():
            raise TimeSpent("the caller took the call back", "call again")
        if self.seconds and self.left <= 0:
            raise TimeSpent(f"the quota of {self.seconds:g} s is spent", "give more seconds, or ask for less")

    @property
    def left(self) -> float:
        return self.seconds - (time.monotonic() - self.started)

    @property
    def limit(self) -> float | None:
        """The seconds that are left, for those who want None where there is no limit."""
        return max(self.left, 0.0) if self.seconds else None

    def sooner(self, seconds: float) -> Deadline:
        """This one, or another that ends earlier, so many seconds from now; both listen to the same cancellation."""
        other = Deadline(seconds, self.cancel, self.then)
        return other if seconds and (not self.seconds or seconds < self.left) else self


def effort_for(repeats: int) -> str:
    """The effort whose confirmation makes at least so many pairs: samples come in the lab's own numbers, never fewer."""
    for name, effort in EFFORTS.items():
        if 0 < repeats <= effort.confirm_pairs:
            return name
    most = max(effort.confirm_pairs for effort in EFFORTS.values())
    raise UsageError(f"{repeats} repeats cannot be had", f"ask for 1 to {most}: paired samples of the confirmation")


def memory_gb(device: str) -> float:
    """Of the GPU, or of this machine where candidates run on the processor."""
    return platform(device).memory_gb()


def check_memory(vram_gb: float, device: str) -> None:
    if not math.isfinite(vram_gb) or vram_gb < 0:
        raise UsageError(f"a quota of {vram_gb} GB makes no sense", "give 0 (none) or more")
    have = memory_gb(device) if vram_gb else 0.0
    if vram_gb > have:
        found = platform(device)
        place = f"the {found.title}" if found.accelerator else "this machine"
        raise UsageError(
            f"a quota of {vram_gb:g} GB is above what {place} has: {have:.1f} GB", f"ask for {have:.1f} at most"
        )


def check_threads(threads: int) -> None:
    have = len(os.sched_getaffinity(0))
    if threads > have:
        raise UsageError(
            f"a quota of {threads} threads is above what this machine has: {have}", f"ask for {have} at most"
        )


def over_memory(task: Task, dims: Dims, vram_gb: float) -> str:
    """Why one call at this shape does not fit the quota, or ''. A GPU's device holds scratch against it too."""
    needed = sum(b.nbytes(dims) for b in (*task.inputs, *task.outputs)) / 1e9
    return (
        f"one call needs {needed:.3g} GB for its buffers, the quota is {vram_gb:g} GB" if 0 < vram_gb < needed else ""
    )
