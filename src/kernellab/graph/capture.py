"""Capturing a module: a file's in the sandbox, a live object's in a forked process. What comes back is a graph record.

Covered: a process of its own that is killed when it does not end or takes too much memory; files see no network; a reply
that is no graph record is refused. Not covered: a live object's process is a fork of the caller's, with the caller's rights.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from kernellab.core.errors import EnvironmentFault, TaskRefused, UsageError
from kernellab.core.ids import canonical_json
from kernellab.core.printable import printable
from kernellab.graph.ahead import JOBS, taken
from kernellab.graph.arrays import read_arrays, write_arrays
from kernellab.graph.record import GraphRecord
from kernellab.graph.source import Request
from kernellab.sandbox.job import Job
from kernellab.sandbox.limits import Limits
from kernellab.sandbox.tiers import open_sandbox
from kernellab.sandbox.zygote import Tier

LIMITS = Limits(wall_s=120.0, cpu_s=120, memory=24 << 30, files=256, processes=64)
_MOST_REPLY = 48 << 20
_HEADERS = 1 << 20
_LOG_SHOWN = 400
_BROKEN = "broken"


class Capturer:
    """A zygote with torch imported. Each capture is a process forked from it; files must lie under `folders`."""

    def __init__(self, folders: Sequence[str]) -> None:
        if importlib.util.find_spec("torch") is None:
            raise EnvironmentFault(
                "PyTorch modules need torch, which is not installed", "pip install 'kernellab[torch]'"
            )
        readable = [os.path.abspath(f) for f in folders]
        self._sandbox = taken(readable) or open_sandbox("auto", JOBS, readable)

    @property
    def tier(self) -> Tier:
        """How strongly the user's code is confined."""
        return self._sandbox.tier

    def capture(self, request: Request, limits: Limits = LIMITS) -> GraphRecord:
        """The record, or TaskRefused with what is wrong and what to do."""
        request = request if request.text is not None else replace(request, text=read_text(request.file))
        fds = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("request", "reply")]
        try:
            _write(fds[0], canonical_json(request.__dict__))
            with self._sandbox.spawn("kernellab.graph.capture_job:main", "build", limits, fds) as job:
                job.wait()
                return _record(job, os.pread(fds[1], _MOST_REPLY, 0), request.file)
        finally:
            for fd in fds:
                os.close(fd)

    def witness(
        self, request: Request, places: Sequence[str], arrays: Sequence[Any], limits: Limits = LIMITS, room: int = 0
    ) -> list[Any] | str:
        """The module's own outputs in float64 for these weights and inputs, or why there are none.

        `places`: where each array goes, a path such as "conv.weight", or nothing for an input. `room`: bytes that the
        outputs take, if it is known; a file of the job's may hold them, whatever else the limits say.
        """
        limits = replace(limits, file_size=max(limits.file_size, room + _HEADERS))
        request = request if request.text is not None else replace(request, text=read_text(request.file))
        asked = {"request": request.__dict__, "places": list(places)}
        fds = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("request", "given", "answer", "results")]
        try:
            _write(fds[0], canonical_json(asked))
            write_arrays(fds[1], arrays)
            with self._sandbox.spawn("kernellab.graph.witness_job:main", "build", limits, fds) as job:
                job.wait()
                return _results(job, fds[2], fds[3])
        finally:
            for fd in fds:
                os.close(fd)

    def first_that_runs(self, tries: Sequence[tuple[Request, int]], limits: Limits = LIMITS) -> int | str:
        """The number of the first request that runs with so many elements at most, or why none does."""
        fds = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("request", "reply")]
        try:
            _write(fds[0], canonical_json([[request.__dict__, most] for request, most in tries]))
            with self._sandbox.spawn("kernellab.graph.smaller_job:main", "build", limits, fds) as job:
                job.wait()
                return _number(job, fds[1], len(tries))
        finally:
            for fd in fds:
                os.close(fd)

    def close(self) -> None:
        self._sandbox.close()

    def __enter__(self) -> Capturer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def parse(locator: str) -> Request:
    """FILE.py:NAME or FILE.py as a request."""
    path, colon, name = locator.rpartition(":") if not locator.endswith(".py") else (locator, "", "")
    if not path.endswith(".py"):
        raise UsageError(f"'{locator}' names no Python file", "write FILE.py:Class or FILE.py:function")
    if not os.path.isfile(path):
        raise UsageError(f"there is no file {path}", "write FILE.py:Class or FILE.py:function")
    if colon and not name.isidentifier():
        raise UsageError(f"'{name}' is no name of a class or function", "write FILE.py:Class or FILE.py:function")
    return Request(os.path.abspath(path), name)


def read_text(path: str) -> str:
    """A file of the user's, or TaskRefused."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as err:
        raise TaskRefused(f"{path} cannot be read: {err}", "give a Python file in UTF-8", _BROKEN) from None


def _record(job: Job, reply: bytes, file: str) -> GraphRecord:
    name = os.path.basename(file)
    if job.timed_out:
        raise TaskRefused(
            f"{name}: it did not end within {job.limits.wall_s:g} s",
            "give smaller example inputs, or look for an endless loop",
            _BROKEN,
        )
    try:
        value: Any = json.loads(reply)
        if isinstance(value, dict) and isinstance(value.get("refused"), str):
            what, fix, cause = (printable(str(value.get(key, ""))) for key in ("refused", "fix", "cause"))
            raise TaskRefused(_headed(name, what), fix, cause)
        return GraphRecord.model_validate(value["graph"])
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError):
        fix = "run the file on its own to see what happens"
        raise TaskRefused(f"{name}: {_ended(job)}", fix, _BROKEN) from None


def _results(job: Job, answer_fd: int, result_fd: int) -> list[Any] | str:
    if job.timed_out:
        return f"it did not end within {job.limits.wall_s:g} s"
    try:
        answer = json.loads(os.pread(answer_fd, _MOST_REPLY, 0))
        if "refused" in answer:
            return printable(str(answer["refused"]))
        return read_arrays(result_fd, int(answer["results"]))
    except (ValueError, KeyError, TypeError, EOFError, OSError, OverflowError, RecursionError, MemoryError):
        return _ended(job)


def _number(job: Job, reply_fd: int, count: int) -> int | str:
    if job.timed_out:
        return f"it did not end within {job.limits.wall_s:g} s"
    try:
        answer = json.loads(os.pread(reply_fd, _MOST_REPLY, 0))
        found = answer.get("found", -1)
        return found if type(found) is int and 0 <= found < count else printable(str(answer["refused"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _ended(job)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _headed(name: str, what: str) -> str:
    return what if what.startswith((f"{name}:", f"{name} ")) else f"{name}: {what}"


def _ended(job: Job) -> str:
    last = job.log().strip().splitlines()[-1:] or ["it printed nothing"]
    if job.signal() is not None:
        return (
            f"its process was ended by signal {job.signal()} (time or memory spent, or a crash): {last[0][:_LOG_SHOWN]}"
        )
    return f"its process ended with exit code {job.exit_code()} and no graph: {last[0][:_LOG_SHOWN]}"
