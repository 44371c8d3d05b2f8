"""A process beside this one that judges problems and runs tasks, one at a time, and is replaced when it is lost.

Covered: a worker that crashes, runs out of memory or does not end costs the job it was at; one whose owner is killed ends
itself, so that nobody holds a run's folder. Not covered: a worker is the laboratory's own code with its rights; what is not
trusted runs in sandboxes below it.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

from kernellab.core.errors import EnvironmentFault, KlabError, UsageError
from kernellab.core.events import Event, Kind, Listener, silent
from kernellab.ledger import kinds
from kernellab.ledger.kinds import EntryKind
from kernellab.suite.progress import of_task

_JOB = "kernellab.suite.worker_job"
_CHUNK = 1 << 20
_RECORDS: dict[str, EntryKind[Any]] = {"trial": kinds.TRIAL, "confirmation": kinds.CONFIRMATION}


class WorkerLost(Exception):
    """The worker ended before it answered; the text says how."""


class Worker:
    """Started when it is first asked. `setup`: what every job needs, as plain data. Use as a context manager."""

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self._setup = dict(setup)
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        self._unread = b""

    def ask(self, job: Mapping[str, Any], limit_s: float, emit: Listener = silent) -> dict[str, Any]:
        """The reply to a job. A fault that the worker foresaw is raised here as it was there."""
        self.begin(job)
        return self.answer(limit_s, emit)

    def begin(self, job: Mapping[str, Any]) -> None:
        """Start it at a job. Nothing waits: `answer` does, and comes before the next job."""
        process = self._started()
        try:
            self._send(process, job)
        except WorkerLost:
            self._end()
            raise

    def answer(self, limit_s: float, emit: Listener = silent) -> dict[str, Any]:
        """The reply to the job that was begun; `limit_s` from now on."""
        process = self._started()
        deadline = time.monotonic() + limit_s
        answered = False
        try:
            while not answered:
                said = json.loads(self._line(process, deadline, limit_s))
                if "event" in said:
                    emit(_event(said))
                else:
                    answered = True
        finally:
            if not answered:
                self._end()
        if "error" in said:
            raise _fault(said)
        reply: dict[str, Any] = said["reply"]
        return reply

    def close(self) -> None:
        """A worker that is at nothing ends when its input does."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(30)
        self._end()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._log.seek(0)
            self._log.truncate()
            self._unread = b""
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _JOB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
            )
            self._send(self._process, self._setup)
        return self._process

    def _send(self, process: subprocess.Popen[bytes], data: Mapping[str, Any]) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(data).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise WorkerLost(self._how(process)) from None

    def _line(self, process: subprocess.Popen[bytes], deadline: float, limit_s: float) -> bytes:
        assert process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                left = deadline - time.monotonic()
                if left <= 0 or not waiting.select(left):
                    raise WorkerLost(f"it did not end within {limit_s:g} s")
                data = os.read(process.stdout.fileno(), _CHUNK)
                if not data:
                    raise WorkerLost(self._how(process))
                self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _how(self, process: subprocess.Popen[bytes]) -> str:
        code = process.wait()
        self._log.seek(0)
        words = self._log.read()[-4000:].decode(errors="replace").strip().splitlines()
        last = f": {words[-1][:300]}" if words else ""
        what = f"signal {-code} (memory, or a crash)" if code < 0 else f"exit code {code}"
        return f"its process ended with {what}{last}"

    def _end(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def told(event: Event) -> dict[str, Any]:
    """An event as a worker sends it."""
    kind = _RECORDS.get(event.kind)  # the record that an event brings is called like the event
    data = {k: kind.plain(v) if kind and k == event.kind else v for k, v in event.data.items()}
    return {"event": event.kind, "text": event.text, "data": data}


def _event(said: Mapping[str, Any]) -> Event:
    """The same on the other side."""
    kind: Kind = said["event"]
    record = _RECORDS.get(kind)
    data = {k: record.read(v) if record and k == kind else v for k, v in said["data"].items()}
    return of_task(Event(kind, said["text"], data))


def _fault(said: Mapping[str, Any]) -> KlabError:
    kind = UsageError if said["code"] == UsageError.exit_code else EnvironmentFault
    return kind(said["error"], said["fix"])
