"""The CPU runner: starts a confined worker for an artifact and binds its plans to shared buffers (trust level native)."""

from __future__ import annotations

import os
import platform
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernellab.build.base import Built, Part
from kernellab.build.own import own_object
from kernellab.build.plan import BufferArg, FloatArg, IntArg, ScratchArg
from kernellab.core.hardware import cpu_model
from kernellab.core.records import Trust
from kernellab.run import nest
from kernellab.run.arena import Arena
from kernellab.run.base import SLOWNESS, Call, Memory, Region
from kernellab.run.cuda_process import files_of
from kernellab.run.samples import Nest, Samples
from kernellab.run.statics import layout
from kernellab.run.worker import Worker
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.sandbox.zygote import NAMESPACED
from kernellab.tasks.dtypes import is_float, limits

PRELOAD = ("kernellab.run.nest",)
_NEST = Path(nest.__file__).with_name("nest.c")
_LOG_BYTES = 1 << 20
_CODE_FD = 7  # of a job's descriptors, the last
_LOAD_S = 10.0
_PROCESSES = 512  # of all jobs of this user together, compilers included: samples fork nothing, threads are few


class CpuDevice:
    """This machine's processors: each runner is a confined process of its own."""

    kind = "cpu"
    slowness = SLOWNESS
    thrifty = False
    trust: Trust = "native"

    def __init__(self, sandbox: Sandbox, threads: int, cpus: Sequence[int]) -> None:
        self.name = cpu_name()
        self.threads = threads
        self.cpus = cpus
        self._sandbox = sandbox

    def memory(self, name: str, seed: bytes) -> Arena:
        return Arena(name, seed)

    def start(self, built: Built, inputs: Memory, outputs: Memory, calls: Sequence[Call], wait: bool = True) -> Samples:
        assert isinstance(inputs, Arena)
        assert isinstance(outputs, Arena)
        return start(self._sandbox, built, inputs, outputs, calls, self.threads, self.cpus, wait=wait)

    def fresh(self) -> None:
        """Every runner is a new process anyway."""

    def expect(self, runners: int) -> None:
        self._sandbox.spare(runners)

    def close(self) -> None:
        """The sandbox belongs to the laboratory."""


def cpu_name() -> str:
    return f"{cpu_model()} ({platform.machine()}, {os.cpu_count()} cores)"


def start(
    sandbox: Sandbox,
    built: Built,
    inputs: Arena,
    outputs: Arena,
    calls: Sequence[Call],
    threads: int,
    cpus: Sequence[int],
    memory: int = 2 << 30,
    wait: bool = True,
) -> Samples:
    """Start a confined process that forks a sample for each command. Raises WorkerFault when loading already fails."""
    shared = sum(r.length for arena in (inputs, outputs) for r in arena.regions)
    scratch = max(sum(plan.scratch) for plan in built.plans) * 2
    limits = Limits(
        cpu_s=3600,
        memory=(1 << 30) + shared + scratch + memory,
        file_size=_LOG_BYTES,
        files=32,
        processes=_PROCESSES + 2 * threads,
        scratch=sum(map(len, built.codes)) + (2 << 20),
    )
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reader = inputs.reader()
    codes = [*built.codes, own_object(_NEST)]
    names = [*(f"candidate-{number}.so" for number in range(len(built.codes))), nest.OBJECT]
    told = _table(built, calls, threads, sandbox.tier in NAMESPACED)
    with theirs, files_of(told, b"".join(codes)) as (table, code):
        try:
            given = [table, theirs.fileno(), reader, outputs.fd, code]
            job = sandbox.spawn("kernellab.run.nest:main", "nest", limits, given, threads=threads, cpus=cpus,
                                files=_files(names, codes))  # fmt: skip
        except BaseException:
            ours.close()
            raise
        finally:
            os.close(reader)
    samples = Samples(Nest(job, ours, sandbox.discard), threads, [layout(code) for code in built.codes], _LOAD_S)
    try:
        return samples.ready() if wait else samples
    except BaseException:
        samples.close()
        raise


@dataclass(frozen=True)
class Entry:
    """What a worker's process runs: its function, its set-up, its further descriptors, files laid out for it."""

    function: str
    setup: bytes
    fds: tuple[int, ...]
    files: dict[str, tuple[int, int, int]]


def connect(
    sandbox: Sandbox,
    entry: Entry,
    limits: Limits,
    calls: int,
    threads: int,
    cpus: Sequence[int],
    boot_s: float,
    wait: bool = True,
) -> Worker:
    """Start a trusted process with a command and a reply pipe, and wait until it has loaded, unless the caller will."""
    command_read, command_write = os.pipe2(os.O_CLOEXEC)
    reply_read, reply_write = os.pipe2(os.O_CLOEXEC)
    setup = os.memfd_create("setup", os.MFD_CLOEXEC)
    job = None
    try:
        os.write(setup, entry.setup)
        given = [setup, command_read, reply_write, *entry.fds]
        job = sandbox.spawn(entry.function, "run", limits, given, threads=threads, cpus=cpus, files=entry.files)
        os.close(reply_write)  # so that the end of the process is the end of the pipe
        reply_write = -1
        worker = Worker(job, command_write, reply_read, calls, threads, boot_s)
        return worker.ready() if wait else worker
    except BaseException:
        if job is not None:
            job.close()
        os.close(command_write)
        os.close(reply_read)
        raise
    finally:
        for fd in (setup, command_read, reply_write):
            if fd >= 0:
                os.close(fd)


def _files(names: Sequence[str], codes: Sequence[bytes]) -> dict[str, tuple[int, int, int]]:
    """Each machine code as a file of its own, all of them from one descriptor: few travel to a job."""
    files, at = {}, 0
    for name, code in zip(names, codes, strict=True):
        files[name] = (_CODE_FD, at, len(code))
        at += len(code)
    return files


def _table(built: Built, calls: Sequence[Call], threads: int, namespaced: bool) -> bytes:
    numbers: dict[tuple[bool, int], int] = {}
    regions: list[nest.Placed] = []

    def number(written: bool, region: Region) -> int:
        key = (written, region.start)
        if key not in numbers:
            numbers[key] = len(regions)
            regions.append(nest.Placed(written, *_format(region.dtype), region.wire()))
        return numbers[key]

    bound = [
        (built.number(call.dims), [*(number(False, r) for r in call.inputs), *(number(True, r) for r in call.outputs)])
        for call in calls
    ]
    plans = [_steps(part, built.codes.index(part.code)) for part in built.parts]
    return nest.table(threads, namespaced, len(built.codes), regions, plans, bound)


def _format(dtype: str) -> tuple[int, int]:
    """Bytes of an element, and bits of its exponent; of integers none."""
    width = np.dtype(dtype).itemsize
    return width, 8 * width - 1 - limits(dtype).nmant if is_float(dtype) else 0


def _steps(part: Part, library: int) -> nest.Steps:
    steps = [
        nest.Step(
            stub=part.stubs[step.signature],
            pointers=[(int(a.kind == "scratch"), a.index) for a in step.args if isinstance(a, (BufferArg, ScratchArg))],
            integers=[a.value for a in step.args if isinstance(a, IntArg)],
            floats=[struct.unpack("<q", struct.pack("<d", a.value))[0] for a in step.args if isinstance(a, FloatArg)],
            grid=[*(step.grid or []), 1, 1, 1][:3],
        )
        for step in part.plan.steps
    ]
    return nest.Steps(library, part.plan.scratch, steps)
