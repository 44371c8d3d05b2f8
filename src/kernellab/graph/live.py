"""Capturing a live object: a module or a function of the caller's program, with example inputs.

The object cannot be sent to the sandbox, so the caller's process is forked: the child exports and replies, or is killed.
The parent's object is not touched. Covered: time, memory, crashes. Not covered: the child has the caller's rights.
"""

from __future__ import annotations

import copy
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import ValidationError

from kernellab.core.errors import TaskRefused
from kernellab.core.ids import canonical_json
from kernellab.graph.arrays import packed, unpacked_all
from kernellab.graph.export import capture_subject, explain
from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphRecord
from kernellab.graph.source import Subject, as_module, check_inputs
from kernellab.graph.witness_job import results_of


def capture_object(
    subject: Callable[..., Any],
    example_inputs: Sequence[Any],
    name: str = "",
    wall_s: float = 120.0,
    memory: int = 16 << 30,
    backward: bool = False,
) -> GraphRecord:
    """The graph of a torch.nn.Module or a function of tensors, in the mode it is in (training or not); or its backward."""
    found = live_subject(subject, example_inputs)
    called = name or name_of(subject)
    source = _file_of(found.module)

    def capture() -> bytes:
        try:
            record = capture_subject(lambda _: found, called, source, devices=("as it is",), backward=backward)
            return canonical_json({"graph": record.model_dump(mode="json")})
        except Exception as err:  # noqa: BLE001  the user's code: whatever it raises is a refusal
            refused = explain(err, source)
            return canonical_json({"refused": refused.what, "fix": refused.fix})

    reply, late, status = _in_a_child(capture, wall_s, memory)
    if late:
        raise TaskRefused(
            f"{called}: it did not end within {wall_s:g} s", "give smaller example inputs, or look for an endless loop"
        )
    return _record(reply, called, status)


def witness_object(
    subject: Callable[..., Any],
    example_inputs: Sequence[Any],
    places: Sequence[str],
    arrays: Sequence[Any],
    wall_s: float = 120.0,
    memory: int = 16 << 30,
) -> list[Any] | str:
    """The object's own outputs in float64 for these weights and inputs, or why there are none."""
    found = live_subject(subject, example_inputs)

    def run() -> bytes:
        try:
            with need_torch().no_grad():
                return b"=" + packed(results_of(found, list(places), list(arrays)))
        except Exception as err:  # noqa: BLE001  the user's code: whatever it raises is an answer
            return b"!" + explain(err, _file_of(found.module)).what.encode()

    reply, late, status = _in_a_child(run, wall_s, memory)
    if reply.startswith(b"="):
        return unpacked_all(reply[1:])
    if reply.startswith(b"!"):
        return reply[1:].decode(errors="replace")
    return f"it did not end within {wall_s:g} s" if late else f"its process ended early (status {status})"


def live_subject(subject: Callable[..., Any], example_inputs: Sequence[Any]) -> Subject:
    """On the processor, where a forked process can use it; what is there already is not copied."""
    torch = need_torch()
    if isinstance(subject, type):
        raise TaskRefused(f"{subject.__name__} is a class", "give an object of it, or a function")
    inputs = check_inputs(example_inputs)
    module = subject if isinstance(subject, torch.nn.Module) else as_module(subject)
    held = [*module.parameters(), *module.buffers(), *(x for x in inputs if isinstance(x, torch.Tensor))]
    if all(t.device.type == "cpu" for t in held):
        return Subject(module, inputs)
    return Subject(copy.deepcopy(module).cpu(), tuple(x.cpu() if isinstance(x, torch.Tensor) else x for x in inputs))


def name_of(subject: Callable[..., Any]) -> str:
    return str(getattr(subject, "__name__", type(subject).__name__))


def _in_a_child(work: Callable[[], bytes], wall_s: float, memory: int) -> tuple[bytes, bool, int]:
    """What the work gives, whether time was up first, and how the process ended."""
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _child(write_end, work, memory)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        reply, late = _read(pipe.fileno(), time.monotonic() + wall_s)
    if late:
        os.kill(pid, signal.SIGKILL)
    return reply, late, os.waitpid(pid, 0)[1]


def _child(write_end: int, work: Callable[[], bytes], memory: int) -> None:
    """Never returns. What it prints goes nowhere: the caller's terminal is the caller's."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, resource.RLIM_INFINITY))
        _without_devices(need_torch())
        data = work()
        while data:
            data = data[os.write(write_end, data) :]
    finally:
        os._exit(0)


def _without_devices(torch: Any) -> None:
    """A forked process cannot use a GPU that its parent uses, and torch's exporter saves the state of every GPU it sees."""
    torch.set_num_threads(1)
    torch.cuda.is_available = lambda: False


def _file_of(module: Any) -> str:
    forward = getattr(type(module), "forward", None)
    code = getattr(forward, "__code__", None)
    return str(code.co_filename) if code else ""


def _read(fd: int, deadline: float) -> tuple[bytes, bool]:
    """Everything up to the end of the pipe, and whether the time was spent first."""
    chunks: list[bytes] = []
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            break
        chunk = os.read(fd, 1 << 20)
        if not chunk:
            return b"".join(chunks), False
        chunks.append(chunk)
    return b"", True


def _record(reply: bytes, name: str, status: int) -> GraphRecord:
    try:
        value: Any = json.loads(reply)
        if isinstance(value, dict) and isinstance(value.get("refused"), str):
            raise TaskRefused(f"{name}: {value['refused']}", str(value.get("fix", "")))
        return GraphRecord.model_validate(value["graph"])
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
        raise TaskRefused(
            f"{name}: its process ended early (status {status}: a crash, or memory spent)",
            "give smaller example inputs",
        ) from None
