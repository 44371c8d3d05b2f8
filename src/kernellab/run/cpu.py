"""The CPU runner: starts a confined worker for an artifact and binds its plans to shared buffers (trust level native)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernellab.build.base import Built
from kernellab.build.plan import BufferArg, FloatArg, IntArg, Plan, ScratchArg
from kernellab.core.ids import canonical_json
from kernellab.run.arena import Arena, Region
from kernellab.run.worker import Worker
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.tasks.spec import Dims

PRELOAD = ("kernellab.run.serve",)
_LOG_BYTES = 1 << 20


@dataclass(frozen=True)
class Call:
    """One ready-made call: a shape and the regions of its inputs and outputs, in the task's order."""

    dims: Dims
    inputs: tuple[Region, ...]
    outputs: tuple[Region, ...]


def start(
    sandbox: Sandbox,
    built: Built,
    inputs: Arena,
    outputs: Arena,
    calls: Sequence[Call],
    threads: int,
    cpus: Sequence[int],
    memory: int = 2 << 30,
) -> Worker:
    """Load the machine code in a fresh confined process. Raises WorkerFault when that already goes wrong."""
    setup = _setup(built, calls, threads)
    shared = sum(r.length for arena in (inputs, outputs) for r in arena.regions)
    scratch = max(sum(plan.scratch) for plan in built.plans) * 2
    limits = Limits(
        cpu_s=3600,
        memory=(1 << 30) + shared + scratch + memory,
        file_size=_LOG_BYTES,
        files=32,
        processes=2 * threads + 8 if threads > 1 else 8,
        scratch=len(built.code) + (1 << 20),
    )
    command_read, command_write = os.pipe2(os.O_CLOEXEC)
    reply_read, reply_write = os.pipe2(os.O_CLOEXEC)
    reader = inputs.reader()
    setup_fd, code_fd = (os.memfd_create(n, os.MFD_CLOEXEC) for n in ("setup", "code"))
    try:
        os.write(setup_fd, canonical_json(setup))
        os.write(code_fd, built.code)
        given = [setup_fd, command_read, reply_write, reader, outputs.fd, code_fd]
        job = sandbox.spawn(
            "kernellab.run.serve:main", "run", limits, given, threads=threads, cpus=cpus, files={"candidate.so": 8}
        )
    finally:
        for fd in (setup_fd, code_fd, reader, command_read, reply_write):
            os.close(fd)
    try:
        return Worker(job, command_write, reply_read, len(calls), threads, boot_timeout_s=10.0)
    except BaseException:
        job.close()
        os.close(command_write)
        os.close(reply_read)
        raise


def _setup(built: Built, calls: Sequence[Call], threads: int) -> dict[str, Any]:
    numbers: dict[tuple[str, int], int] = {}
    buffers: list[list[Any]] = []

    def number(kind: str, region: Region) -> int:
        key = (kind, region.start)
        if key not in numbers:
            numbers[key] = len(buffers)
            buffers.append([kind, region.wire()])
        return numbers[key]

    bound = [
        {
            "plan": built.shapes.index(call.dims),
            "buffers": [*(number("in", r) for r in call.inputs), *(number("out", r) for r in call.outputs)],
        }
        for call in calls
    ]
    plans = [_plan(plan, built.stubs) for plan in built.plans]
    return {"threads": threads, "buffers": buffers, "calls": bound, "plans": plans}


def _plan(plan: Plan, stubs: dict[tuple[str, bool, str], str]) -> dict[str, Any]:
    def argument(arg: BufferArg | ScratchArg | IntArg | FloatArg) -> list[Any]:
        return [arg.kind, arg.value if isinstance(arg, (IntArg, FloatArg)) else arg.index]

    steps = [
        {
            "stub": stubs[step.signature],
            "grid": [*(step.grid or []), 1, 1, 1][:3],
            "args": [argument(a) for a in step.args],
        }
        for step in plan.steps
    ]
    return {"scratch": plan.scratch, "steps": steps}
