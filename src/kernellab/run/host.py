"""Somebody else's host code as a device: each command runs in a fresh confined process that serves ModelNew (trust host).

A process knows the buffers of its own calls alone, is stopped whenever it is not told to run, and is never used for a
second sample. What its outputs hold is read when it has replied and again when it is gone.
Covered: answers kept from earlier calls (memory goes with the process; in the second pass the same buffers hold other
inputs first), late and early work, forged replies, writes outside the outputs and to inputs, hangs, crashes, floods.
Not covered: what leaves all outputs right and the clock honest. One process's calls may share work that their inputs share.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernellab.build.base import Built
from kernellab.core.errors import TaskRefused
from kernellab.core.ids import canonical_json
from kernellab.core.records import Trust
from kernellab.graph.record import TensorType
from kernellab.graph.source import Request
from kernellab.run.arena import Arena
from kernellab.run.base import SLOWNESS, Call, Memory, Region
from kernellab.run.cpu import cpu_name
from kernellab.run.cuda_process import files_of
from kernellab.run.host_build import Caches
from kernellab.run.host_samples import HostSamples
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits

JOB = "kernellab.run.host_job"
_MEMORY = 24 << 30
_LOG_BYTES = 1 << 20
_BUILT_FD = 7
_DESCRIBE_S = 300.0
_MOST_REPLY = 1 << 20


@dataclass(frozen=True)
class Problem:
    """How ModelNew is made and called. `request`: the problem's own file, whose text is None where there is none.

    `arguments`: of forward(), None for a tensor, else {"value": plain}. `places`: for each input of the task the name of the
    parameter or buffer that it is, '' for an argument.
    """

    request: Request
    arguments: tuple[dict[str, Any] | None, ...]
    places: tuple[str, ...]
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]

    def setup(self, file: str, text: str) -> dict[str, Any]:
        """What any process of a solution is told."""
        return {"file": file, "text": text, "request": asdict(self.request), "places": self.places,
                "arguments": self.arguments}  # fmt: skip

    def sizes(self, dims: Mapping[str, int]) -> dict[str, list[dict[str, Any]]]:
        """Shapes and dtypes of what a call gets and gives."""

        def said(kinds: tuple[TensorType, ...]) -> list[dict[str, Any]]:
            return [{"shape": list(k.shape(dims)), "dtype": k.dtype} for k in kinds]

        return {"inputs": said(self.inputs), "outputs": said(self.outputs)}


class HostDevice:
    """This machine's processors under a solution's own Python. `file`: where the solution lies, for its imports."""

    kind = "cpu"
    slowness = SLOWNESS
    thrifty = False
    trust: Trust = "host"

    def __init__(
        self, sandbox: Sandbox, problem: Problem, file: str, threads: int, cpus: Sequence[int],
        caches: Caches | None = None,
    ) -> None:  # fmt: skip
        self.name = cpu_name()
        self._caches = caches
        self.threads = threads
        self.cpus = cpus
        self._sandbox = sandbox
        self._problem = problem
        self._file = file

    def memory(self, name: str, seed: bytes) -> Arena:
        return Arena(name, seed)

    def start(
        self, built: Built, inputs: Memory, outputs: Memory, calls: Sequence[Call], wait: bool = True
    ) -> HostSamples:
        assert isinstance(inputs, Arena)
        assert isinstance(outputs, Arena)
        spawn = _Spawner(
            self._sandbox,
            self._problem,
            self._file,
            built,
            inputs,
            outputs,
            calls,
            self.threads,
            self.cpus,
            self._caches,
        )
        samples = HostSamples(spawn, inputs, outputs, calls, self.threads)
        try:
            return samples.ready() if wait else samples
        except BaseException:
            samples.close()
            raise

    def fresh(self) -> None:
        """Every sample is a new process anyway."""

    def expect(self, runners: int) -> None:
        """A process loads when its calls are known."""

    def close(self) -> None:
        """The sandbox belongs to whoever opened it."""


@dataclass(frozen=True)
class _Spawner:
    """Starts a process for the numbered calls; `scrub`: what their outputs hold is wiped out first."""

    sandbox: Sandbox
    problem: Problem
    file: str
    built: Built
    inputs: Arena
    outputs: Arena
    calls: Sequence[Call]
    threads: int
    cpus: Sequence[int]
    caches: Caches | None

    def __call__(self, numbers: Sequence[int], scrub: bool) -> tuple[Any, socket.socket]:
        shared = sum(r.length for n in set(numbers) for r in (*self.calls[n].inputs, *self.calls[n].outputs))
        limits = Limits(cpu_s=3600, memory=_MEMORY + shared, file_size=_LOG_BYTES, processes=512)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        reader = self.inputs.reader()
        try:
            left = self.caches.data if self.caches else b""
            with theirs, files_of(canonical_json(self._setup(numbers, scrub)), left) as (setup, built):
                given = [setup, theirs.fileno(), reader, self.outputs.fd, built]
                job = self.sandbox.spawn(f"{JOB}:main", "run", limits, given, threads=self.threads, cpus=self.cpus,
                                         files=self._files())  # fmt: skip
        except BaseException:
            ours.close()
            raise
        finally:
            os.close(reader)
        return job, ours

    def _files(self) -> dict[str, tuple[int, int, int]]:
        """What the build left, by its descriptor in the job."""
        return {name: (_BUILT_FD, *place) for name, place in self.caches.places().items()} if self.caches else {}

    def _setup(self, numbers: Sequence[int], scrub: bool) -> dict[str, Any]:
        problem = self.problem
        calls = {
            str(n): {
                "inputs": [_told(*one, False) for one in zip(self.calls[n].inputs, problem.inputs, strict=True)],
                "outputs": [_told(*one, scrub) for one in zip(self.calls[n].outputs, problem.outputs, strict=True)],
            }
            for n in dict.fromkeys(numbers)
        }
        made = problem.setup(self.file, self.built.timed.code.decode())
        return {**made, "threads": self.threads, "built": self.caches is not None, "calls": calls}


def _told(region: Region, kind: TensorType, scrub: bool) -> dict[str, Any]:
    """A buffer for the process: single numbers and booleans as the module knows them."""
    shape = list(region.shape) if kind.extents else []
    return {"wire": region.wire(), "shape": shape, "dtype": kind.dtype, "scrub": scrub}


def arguments_of(sandbox: Sandbox, request: Request) -> tuple[dict[str, Any] | None, ...]:
    """What the problem's get_inputs() gives forward(), seen in the sandbox before any solution runs."""
    reply = os.memfd_create("klab-reply", os.MFD_CLOEXEC)
    limits = Limits(wall_s=_DESCRIBE_S, cpu_s=300, memory=_MEMORY, files=256)
    try:
        with files_of(canonical_json(asdict(request))) as (asked,):
            with sandbox.spawn(f"{JOB}:arguments", "build", limits, [asked, reply]) as job:
                job.wait()
                said = (job.log().strip().splitlines() or ["it printed nothing"])[-1]
        found = json.loads(os.pread(reply, _MOST_REPLY, 0) or b"{}").get("arguments")
        canonical_json(found)  # it goes on as one
    except (ValueError, AttributeError, RecursionError):
        found, said = None, "its reply cannot be read"
    finally:
        os.close(reply)
    if not isinstance(found, list) or not all(
        one is None or (isinstance(one, dict) and "value" in one) for one in found
    ):
        raise TaskRefused(f"{os.path.basename(request.file)}: its inputs cannot be made: {said[:300]}",
                          "run the file on its own to see what happens")  # fmt: skip
    return tuple(found)
