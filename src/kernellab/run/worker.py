"""The laboratory's side of a worker: it owns the clock, and the worker runs only while the clock does.

Between calls the worker is stopped (SIGSTOP, confirmed by the kernel), so that no thread of it can work ahead on inputs
that are being prepared, finish late, or disturb the other arm.
Covered: late or early work, forged replies, hangs, crashes. Not covered: the few microseconds between the worker's reply
and the stop, which are below 1 % of a sample by construction (samples last about 3 ms).
"""

from __future__ import annotations

import os
import select
import signal
import struct
import time
from collections.abc import Sequence
from typing import Protocol

from kernellab.core.records import Cause
from kernellab.run.base import Sample, WorkerFault

_LOST_S, _LOST_SHARE = 150e-6, 0.005


class Process(Protocol):
    """What a worker needs of the process behind it."""

    pid: int
    status: int | None

    def stop(self) -> None: ...
    def resume(self) -> None: ...
    def kill(self) -> None: ...
    def end(self) -> None: ...
    def poll(self) -> bool: ...
    def close(self) -> None: ...
    def log(self) -> str: ...
    def flooded(self) -> bool: ...


class Worker:
    """`calls` is how many calls the process has bound; calls + k brings the buffers of call k in."""

    def __init__(
        self, process: Process, commands: int, replies: int, calls: int, threads: int, boot_timeout_s: float
    ) -> None:
        self._process = process
        self._commands = commands
        self._replies = replies
        self._poll = select.poll()
        self._poll.register(replies, select.POLLIN)
        self._tasks = f"/proc/{process.pid}/task"
        self._cpu_clock = (~process.pid << 3) | 2  # the kernel's name for another process's CPU clock
        self._threads = threads
        self.busy_s = 0.0
        self._calls = calls
        self._touched: set[int] = set()
        self._boot_timeout_s = boot_timeout_s

    def ready(self) -> Worker:
        """Wait until the process has loaded, and stop it; raises WorkerFault when loading already goes wrong."""
        self._expect(b"loaded!!", self._boot_timeout_s, "while it was loaded")
        self._process.stop()
        return self

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False) -> Sample:
        """Run the numbered calls; returns the wall time from our write to our read. `counted`: note preemption."""
        before = self._books() if counted else (0.0, 0.0)
        seconds = self._command(calls, timeout_s)
        self.busy_s += seconds
        return Sample(seconds, counted and self._disturbed(before, seconds))

    def prepare(self, calls: Sequence[int], timeout_s: float) -> None:
        """Bring the buffers of these calls in. To be done before new inputs are written: the process runs meanwhile."""
        fresh = [n for n in calls if n not in self._touched]
        if fresh:
            self._touched.update(fresh)
            self._command([self._calls + n for n in fresh], timeout_s)

    def remarks(self) -> dict[str, int | str]:
        return {}

    def end(self) -> None:
        """No further call will come: the process may go while its outputs are looked at."""
        self._process.end()

    def pin(self, cpu: int) -> None:
        """Run on this processor from now on (one thread only: several have their own set)."""
        if self._threads == 1 and self._process.status is None:
            os.sched_setaffinity(self._process.pid, {cpu})

    def _command(self, calls: Sequence[int], timeout_s: float) -> float:
        token = os.urandom(8)
        message = token + struct.pack(f"<{len(calls)}I", *calls)
        self._process.resume()
        started = time.perf_counter()
        os.write(self._commands, message)
        ready = self._poll.poll(timeout_s * 1000)
        reply = os.read(self._replies, 4096) if ready else b""
        seconds = time.perf_counter() - started
        if reply != token:
            self._broken(reply, bool(ready), timeout_s)
        self._process.stop()
        if self._process.status is not None:
            self._broken(b"", True, timeout_s)
        if self._process.flooded():
            self._process.kill()
            raise WorkerFault("output-flood", "printed more than the laboratory keeps during a call")
        return seconds

    def close(self) -> None:
        self._process.close()
        for fd in (self._commands, self._replies):
            os.close(fd)

    def _expect(self, token: bytes, timeout_s: float, when: str) -> None:
        ready = self._poll.poll(timeout_s * 1000)
        reply = os.read(self._replies, 4096) if ready else b""
        if reply != token:
            self._broken(reply, bool(ready), timeout_s, when)

    def _broken(self, reply: bytes, answered: bool, timeout_s: float, when: str = "during a call") -> None:
        """Explain and raise. An end of file means that the process is gone or going."""
        if not answered:
            self._process.kill()
            raise WorkerFault("timeout", f"did not return within {timeout_s:.3g} s {when} and was killed")
        if reply:
            self._process.kill()
            raise WorkerFault(
                "early-reply", "wrote to the reply channel itself: the reply is not the laboratory's token"
            )
        deadline = time.monotonic() + 5
        while not self._process.poll() and time.monotonic() < deadline:
            time.sleep(0.001)
        self._process.kill()
        raise WorkerFault(*_describe(self._process.status or 0, when, self._process.log()))

    def _books(self) -> tuple[float, float]:
        """From the kernel, never from the worker: processor seconds used, and seconds spent ready without a processor."""
        try:
            threads = os.listdir(self._tasks) if self._threads > 1 else [str(self._process.pid)]
            delay = sum(_run_delay(f"{self._tasks}/{t}/schedstat") for t in threads)
            return time.clock_gettime(self._cpu_clock), delay
        except OSError:
            return 0.0, 0.0

    def _disturbed(self, before: tuple[float, float], seconds: float) -> bool:
        """Whether somebody else had the processor during a noticeable part of the sample.

        Waiting for a processor is not enough (the wait may come after the reply, when the laboratory itself wakes up
        there), and missing processor time is not enough either (a kernel that sleeps has only itself to blame).
        """
        used, waited = (after - earlier for after, earlier in zip(self._books(), before, strict=True))
        allowed = _LOST_S + _LOST_SHARE * seconds
        return waited > allowed and (self._threads > 1 or seconds - used > allowed)


def _run_delay(path: str) -> float:
    with open(path, "rb") as file:
        return int(file.read().split()[1]) * 1e-9


def _describe(status: int, when: str, log: str) -> tuple[Cause, str]:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        if number in (signal.SIGSEGV, signal.SIGBUS):
            return "crash", f"{name} {when}: an access outside its buffers, or a write to a read-only input"
        if number == signal.SIGILL:
            return "crash", f"{name} {when}: an instruction that this processor does not have, or a trap"
        if number == signal.SIGXFSZ:
            return "output-flood", f"printed more than the laboratory keeps {when}"
        if number == signal.SIGXCPU:
            return "timeout", f"used up its processor time {when}"
        return "crash", f"{name} {when}"
    if "MemoryError" in log or "Cannot allocate" in log or "cannot allocate" in log:
        return "memory", f"ran out of its memory limit {when}"
    last = (log.strip().splitlines() or ["no message"])[-1][:300]
    return "crash", f"ended itself (exit code {os.WEXITSTATUS(status)}) {when}: {last}"
