"""Capturing a live object: a module or a function of the caller's program, with example inputs.

The object cannot be sent to the sandbox, so the caller's process is forked: the child exports and replies, or is killed.
The parent's object is not touched. Covered: time, memory, crashes. Not covered: the child has the caller's rights.
"""

from __future__ import annotations

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
from kernellab.graph.export import capture_subject, explain
from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphRecord
from kernellab.graph.source import Subject, as_module, check_inputs


def capture_object(
    subject: Callable[..., Any],
    example_inputs: Sequence[Any],
    name: str = "",
    wall_s: float = 120.0,
    memory: int = 16 << 30,
    backward: bool = False,
) -> GraphRecord:
    """The graph of a torch.nn.Module or a function of tensors, in the mode it is in (training or not); or its backward."""
    torch = need_torch()
    inputs = check_inputs(example_inputs)
    module = subject if isinstance(subject, torch.nn.Module) else as_module(subject)
    called = name or getattr(subject, "__name__", type(subject).__name__)
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _child(write_end, Subject(module, inputs), called, memory, backward)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        reply, late = _read(pipe.fileno(), time.monotonic() + wall_s)
    if late:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if late:
        raise TaskRefused(
            f"{called}: it did not end within {wall_s:g} s", "give smaller example inputs, or look for an endless loop"
        )
    return _record(reply, called, status)


def _child(write_end: int, subject: Subject, name: str, memory: int, backward: bool) -> None:
    """Never returns. What it prints goes nowhere: the caller's terminal is the caller's."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, resource.RLIM_INFINITY))
        need_torch().set_num_threads(1)
        source = _file_of(subject.module)
        try:
            record = capture_subject(lambda _: subject, name, source, devices=("as it is",), backward=backward)
            reply: dict[str, Any] = {"graph": record.model_dump(mode="json")}
        except Exception as err:  # noqa: BLE001  the user's code: whatever it raises is a refusal
            refused = explain(err, source)
            reply = {"refused": refused.what, "fix": refused.fix}
        data = canonical_json(reply)
        while data:
            data = data[os.write(write_end, data) :]
    finally:
        os._exit(0)


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
