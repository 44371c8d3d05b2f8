"""The laboratory's side of a solution's processes: one a command, each looked at twice when it has replied.

The second pass of a verdict (`steady`) is made harder than for machine code, which is compared by its static memory: a
process's heap cannot be. Its calls are first made on the same buffers with other contents, so that whatever is remembered
by a pointer, or by a few elements that were left as they were, is the wrong thing: answers, and what was made of one input
on the way to them (places, masks, signs).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernellab.core.printable import printable
from kernellab.run.arena import Arena
from kernellab.run.base import Call, Region, Sample, WorkerFault
from kernellab.run.nest import FAILED, LOADED
from kernellab.run.worker import ClockedProcess
from kernellab.sandbox.job import Job
from kernellab.tasks.spec import Array

LOAD_S = 120.0
_FIRST_CALL_S = 8.0
"""Beyond what a call may take: a fresh process sets up what libraries set up once."""
_LEFTOVER = 0x7B
_WAITING = 2
_FLOOD = "printed more than the laboratory keeps during a call"
Spawn = Callable[[Sequence[int], bool], tuple[Job, socket.socket]]


class NotLoaded(WorkerFault):
    """The solution cannot be made at all: what it said."""


@dataclass(eq=False)
class _Process:
    """`seen`: what the outputs of its last calls held when it had replied."""

    job: Job
    channel: socket.socket
    line: ClockedProcess
    calls: frozenset[int]
    loaded: bool = False
    warm_s: float = 0.0
    used: bool = False
    seen: tuple[list[Region], list[Array]] | None = None


class HostSamples:
    """Runs calls of one solution, each command in a process of its own."""

    def __init__(self, spawn: Spawn, inputs: Arena, outputs: Arena, calls: Sequence[Call], threads: int) -> None:
        self._spawn, self._inputs, self._outputs, self._calls = spawn, inputs, outputs, calls
        self._threads = threads
        self._cpu: int | None = None
        self._processes: list[_Process] = []

    def ready(self) -> HostSamples:
        """Make the solution once, to see that it can be. Raises NotLoaded, or WorkerFault."""
        self._loaded(self._start([0], True))
        return self

    def interrupt(self, calls: Sequence[int], after_s: float) -> bool:
        return False

    def begin(self, calls: Sequence[int], scrub: bool = True) -> bool:
        self._start(calls, scrub)
        return True

    def prepare(self, calls: Sequence[int], timeout_s: float) -> float:
        """A process that has loaded and made one uncounted call on what lies in the buffers before they are written anew."""
        self._settle()
        process = self._loaded(self._fitting(calls) or self._start(calls, True))
        if not process.warm_s:
            process.warm_s = self._clocked(process, calls[:1], timeout_s + _FIRST_CALL_S).seconds
        return process.warm_s

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False, steady: bool = False) -> Sample:
        """`steady`: other contents first, then the calls, then the calls backwards on outputs that hold something else."""
        self._settle()
        timeout_s += _FIRST_CALL_S
        process = self._loaded(self._fitting(calls) or self._start(calls, False))
        process.used = True
        if steady:
            self._strangers(process, calls, timeout_s)
        found = self._command(process, calls, timeout_s, counted)
        if steady:
            self._outputs.fill_all(self._regions(calls), self._leftovers(calls))
            self._command(process, list(reversed(calls)), timeout_s)
        if not counted:
            self._settle()
        return found

    def remarks(self) -> dict[str, int | str]:
        return {}

    def pin(self, cpu: int) -> None:
        """Run on this processor from the next command on (one thread only: several have their own set)."""
        self._cpu = cpu if self._threads == 1 else None

    def end(self) -> None:
        self.close()

    def close(self) -> None:
        for process in self._processes:
            _ended(process)
        self._processes = []

    def _command(self, process: _Process, calls: Sequence[int], timeout_s: float, counted: bool = False) -> Sample:
        found = self._clocked(process, calls, timeout_s, counted)
        regions = self._regions(calls)
        process.seen = regions, [taken for taken, _ in self._outputs.take_all(regions)]
        return found

    def _clocked(self, process: _Process, calls: Sequence[int], timeout_s: float, counted: bool = False) -> Sample:
        """What prints without end is told so, whatever it broke off with: its end may be an error like any other."""
        try:
            found = process.line.sample(calls, timeout_s, counted)
        except WorkerFault:
            if process.job.flooded():
                raise WorkerFault("output-flood", _FLOOD) from None
            raise
        if process.job.flooded():
            raise WorkerFault("output-flood", _FLOOD)
        return found

    def _settle(self) -> None:
        """End the processes that have done their work, and see whether anything was written after the reply."""
        done = [p for p in self._processes if p.used]
        self._processes = [p for p in self._processes if not p.used]
        for process in done:
            _ended(process)
        for regions, first in (p.seen for p in done if p.seen is not None):
            now = [taken for taken, _ in self._outputs.take_all(regions)]
            if not all(a.tobytes() == b.tobytes() for a, b in zip(first, now, strict=True)):
                raise WorkerFault("hidden-work", "wrote to its outputs after its reply")

    def _start(self, calls: Sequence[int], scrub: bool) -> _Process:
        self._settle()
        while len(self._processes) >= _WAITING:
            _ended(self._processes.pop(0))
        job, channel = self._spawn(calls, scrub)
        line = ClockedProcess(job, channel.fileno(), channel.fileno(), self._threads, trusted=False)
        process = _Process(job, channel, line, frozenset(calls))
        self._processes.append(process)
        return process

    def _fitting(self, calls: Sequence[int]) -> _Process | None:
        """The newest process that waits for work and holds these buffers."""
        return next((p for p in reversed(self._processes) if not p.used and p.calls.issuperset(calls)), None)

    def _loaded(self, process: _Process) -> _Process:
        """Wait until the solution is made, and stop it until it is told to run."""
        if not process.loaded:
            reply = process.line.receive(LOAD_S, "while it was loaded")
            if reply.startswith(FAILED):
                raise NotLoaded("crash", printable(reply.removeprefix(FAILED).decode(errors="replace")))
            if reply != LOADED:
                process.line.refuse()
            process.line.rest()
            process.loaded = True
        if self._cpu is not None and process.job.status is None:
            os.sched_setaffinity(process.job.pid, {self._cpu})
        return process

    def _strangers(self, process: _Process, calls: Sequence[int], timeout_s: float) -> None:
        """The calls once on other contents of their inputs; inputs and outputs are as before when it is done."""
        numbers = list(dict.fromkeys(calls))
        kept = {n: [taken for taken, _ in self._inputs.take_all(self._calls[n].inputs)] for n in numbers}
        outputs = self._regions(calls)
        poison = [taken for taken, _ in self._outputs.take_all(outputs)]
        for number in numbers:
            others = kept.get(self._like(number, numbers), [None] * len(kept[number]))
            for region, values, other in zip(self._calls[number].inputs, kept[number], others, strict=True):
                self._inputs.write(region, stranger(values, other))
        self._clocked(process, calls, timeout_s)
        for number in numbers:
            for region, values in zip(self._calls[number].inputs, kept[number], strict=True):
                self._inputs.write(region, values)
        for region, values in zip(outputs, poison, strict=True):
            self._outputs.write(region, values)

    def _like(self, number: int, numbers: Sequence[int]) -> int:
        """Another of these calls at the same shape, drawn in secret; -1 where there is none."""
        dims = self._calls[number].dims
        alike = [n for n in numbers if n != number and self._calls[n].dims == dims]
        return secrets.choice(alike) if alike else -1

    def _regions(self, calls: Sequence[int]) -> list[Region]:
        return [r for n in dict.fromkeys(calls) for r in self._calls[n].outputs]

    def _leftovers(self, calls: Sequence[int]) -> list[int]:
        """Large numbers, in every floating-point format."""
        sizes = [np.dtype(r.dtype).itemsize for r in self._regions(calls)]
        return [int.from_bytes(bytes([_LEFTOVER] * size), "little") for size in sizes]


def stranger(values: Array, other: Array | None = None) -> Array:
    """Other contents that any honest code takes as well: about half of the elements are another call's, the ends stay.

    `other`: what this input is in that call. Where there is none, or the same, floats are halved; integers may be places
    in something, and stay. Of one or two elements all change.
    """
    found = values.reshape(-1).copy()
    if other is None or other.tobytes() == values.tobytes():
        if values.dtype.kind in "iub":
            return values
        new = (found * found.dtype.type(0.5)).astype(found.dtype)
    else:
        new = other.reshape(-1)
    chosen = np.random.default_rng(secrets.randbits(64)).random(found.size) < 0.5
    if found.size > 2:
        chosen[0] = chosen[-1] = False
        chosen[found.size // 2] = True
    else:
        chosen[:] = True
    found[chosen] = new[chosen]
    return found.reshape(values.shape)


def _ended(process: _Process) -> None:
    process.job.close()
    with contextlib.suppress(OSError):
        process.channel.close()
