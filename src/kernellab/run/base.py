"""What a device offers the judge and the bench: buffers that only the laboratory fills, and runners of bound calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from kernellab.build.base import Built
from kernellab.core.records import Cause, Trust
from kernellab.tasks.spec import Array, Dims


@dataclass(frozen=True)
class Region:
    """One buffer: bytes [start, start+length) of its memory, `count` elements in `nbytes` bytes at `data`."""

    start: int
    length: int
    data: int
    shape: tuple[int, ...]
    dtype: str
    count: int
    nbytes: int

    def wire(self) -> list[int]:
        """What a runner needs: where to map from, how much, where the data starts, and how long it is."""
        return [self.start, self.length, self.data - self.start, self.nbytes]


@dataclass(frozen=True)
class Call:
    """One ready-made call: a shape and the regions of its inputs and outputs, in the task's order."""

    dims: Dims
    inputs: tuple[Region, ...]
    outputs: tuple[Region, ...]


class Memory(Protocol):
    """Buffers with guard bands. Declare all regions, then `open()`; the contents live until `close()`."""

    regions: list[Region]

    def declare(self, shape: tuple[int, ...], dtype: str) -> Region: ...

    def open(self) -> None: ...

    def write(self, region: Region, values: Array) -> None: ...

    def read(self, region: Region) -> Array:
        """The contents as they are now; not to be kept beyond the next write."""

    def fill(self, region: Region, pattern: int) -> None:
        """Every element gets these bits, and the guard bands are written anew."""

    def intact(self, region: Region) -> str:
        """Which guard band was overwritten, or ''."""

    def fill_all(self, regions: Sequence[Region], patterns: Sequence[int]) -> None:
        """`fill` for each of them, in as few steps as the device allows."""

    def take_all(self, regions: Sequence[Region], copied: bool = True) -> list[tuple[Array, str]]:
        """A copy of each one's contents, and what `intact` says of it. Not `copied`: the contents themselves will do, where
        they can be read: they are looked at before anybody may write them again."""

    def close(self) -> None: ...


@runtime_checkable
class TensorMemory(Memory, Protocol):
    """Memory of a device on which torch computes: contents come and are looked at there."""

    def adopt(self, region: Region, tensor: Any) -> None:
        """`write` for a tensor of the device that is complete."""

    def tensor(self, region: Region) -> Any:
        """The contents as they are now, not a copy."""

    def digests(self, regions: Sequence[Region], secret: int) -> list[int]:
        """A number for each one's contents that tells whether they are as before."""


@dataclass(frozen=True)
class Sample:
    """One clocked command: seconds, and whether something other than the kernel disturbed it (the scheduler, heat)."""

    seconds: float
    preempted: bool


class WorkerFault(Exception):
    """The runner broke off: what it did, in the judge's words."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(reason)
        self.cause: Cause = cause
        self.reason = reason


class Runner(Protocol):
    """Runs calls that were bound when it was started. Raises WorkerFault whenever that goes wrong."""

    def ready(self) -> Runner:
        """Wait until everything is loaded."""

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False, steady: bool = False) -> Sample:
        """Run the numbered calls. `counted`: this is a timed sample, with cold caches and a note of disturbances.

        `steady`: where it applies, make the calls once more and compare what they leave in static memory.
        """

    def begin(self, calls: Sequence[int], scrub: bool = True) -> bool:
        """Start on what `prepare` will do for these calls, in the background; without `scrub`, on what `run` will do, and
        leave their outputs alone. False: there is nothing to start on."""

    def prepare(self, calls: Sequence[int], timeout_s: float) -> float:
        """Do what is done once for these calls, before their inputs are written and their outputs poisoned.

        Where that includes an uncounted call: its seconds. Else 0.
        """

    def interrupt(self, calls: Sequence[int], after_s: float) -> bool:
        """Begin the numbered calls as for a sample and stop for good after so long. False: calls here are launches of the
        laboratory's own, one after the other."""

    def pin(self, cpu: int) -> None:
        """Run on this processor from now on, where that means something."""

    def remarks(self) -> dict[str, int | str]:
        """What else is worth a place in the record."""

    def end(self) -> None:
        """No further call will come: the runner may go while its outputs are looked at."""

    def close(self) -> None: ...


@runtime_checkable
class RefillingRunner(Runner, Protocol):
    """A runner that gives outputs and work memory other contents between the calls of one command."""

    def run_rounds(self, rounds: Sequence[Sequence[int]], timeout_s: float) -> Sample:
        """Run the numbered calls, round after round. Before every round but the first, each output and each piece of work
        memory is filled with what somebody else may have left there, of a kind drawn in secret."""


SLOWNESS = 100.0


class Device(Protocol):
    """A place where artifacts run. `fresh` makes sure that the next runner shares no process with the ones before.
    `expect`: so many runners will be wanted soon, and what can be done ahead may be done while the caller is busy.

    `slowness`: how many times the oracle's own time a call may take before it counts as hanging.
    `thrifty`: a shape may cost a compilation of its own, so that trials are screened on few.
    """

    kind: str
    slowness: float
    thrifty: bool
    trust: Trust
    name: str

    def memory(self, name: str, seed: bytes) -> Memory: ...

    def start(
        self, built: Built, inputs: Memory, outputs: Memory, calls: Sequence[Call], wait: bool = True
    ) -> Runner: ...

    def fresh(self) -> None: ...

    def expect(self, runners: int) -> None: ...

    def close(self) -> None: ...
