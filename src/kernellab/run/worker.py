"""The laboratory's side of a process that runs calls: it owns the clock, and the process runs only while the clock does.

Between commands the process is stopped (SIGSTOP, confirmed by the kernel), so that no thread of it can work ahead on
inputs that are being prepared, finish late, or disturb the other arm.
Covered: late or early work, forged replies, hangs, crashes, processes that will not stop. What a process computes between
its reply and its stop belongs to the sample: by the processor time that it used in all, where it is one thread, and by the
clock, where it is several. One that goes on for long is rejected.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from kernellab.core.records import STOOD_STILL, Cause
from kernellab.run.base import Sample, WorkerFault
from kernellab.sandbox.accounts import OWN_THREAD, Line, cpu_s, queued_s, states, switches
from kernellab.sandbox.freeze import STOP_S, WORKING

_LOST_S, _LOST_SHARE = 150e-6, 0.005
_HIDDEN_S = 3e-3  # processor time after a reply, beyond what is allowed, that no page fault or busy machine explains
_LAG_S = 10e-3  # the CPU clock of a thread that runs elsewhere is as old as the last timer tick, 100 a second or more


class Process(Protocol):
    """What the clock needs of the process behind it. `stop` is false when it goes on all the same."""

    pid: int
    status: int | None

    def stop(self) -> bool: ...
    def resume(self) -> None: ...
    def kill(self) -> None: ...
    def poll(self) -> bool: ...
    def log(self) -> str: ...


class ClockedProcess:
    """Commands to one process and their clock. A trusted one (a baseline) is not asked what it did after its reply."""

    def __init__(self, process: Process, commands: int, replies: int, threads: int, trusted: bool) -> None:
        self.process = process
        self._commands, self._replies = commands, replies
        self._poll = select.poll()
        self._poll.register(replies, select.POLLIN)
        self._tasks = f"/proc/{process.pid}/task"
        self._threads = threads
        self._trusted = trusted
        self._still = False  # its CPU clock is exact only while it is stopped

    def receive(self, timeout_s: float, when: str) -> bytes:
        """The next message. Raises WorkerFault when none comes."""
        ready = self._poll.poll(timeout_s * 1000)
        reply = self._read() if ready else b""
        if not reply:
            self._broken(reply, bool(ready), timeout_s, when)
        return reply

    def command(self, calls: Sequence[int], timeout_s: float) -> Lap:
        """Run the numbered calls: the wall time from when it may run to our read. Leaves the process stopped.

        The clock starts before the process does: one that begins when it is resumed, not when it is told to, while this
        thread has lost the processor, would else work for nothing.
        """
        token = os.urandom(8)
        message = token + struct.pack(f"<{len(calls)}I", *calls)
        alone = self._threads == 1
        with self._lines() as queues:
            asked, first = time.perf_counter(), queues()
            before, started = cpu_s(self.process.pid) if self._still else float("inf"), time.perf_counter()
            self.process.resume()
            with contextlib.suppress(OSError):  # a process that is gone shows when its reply is read
                os.write(self._commands, message)
            ready = self._poll.poll(timeout_s * 1000)
            reply = self._read() if ready else b""
            used = cpu_s(self.process.pid)  # before the clock: what it uses from here on comes after the reply
            ended = time.perf_counter()
            if reply != token:
                self._broken(reply, bool(ready), timeout_s, "during a call")
            last, told = queues() if alone else first, time.perf_counter()
            late = self._halt(ended)
            waits = (last if alone else queues()).since(first)
        seconds = ended - started
        waited = 0.0 if alone else waits.process + waits.own
        self._refuse_more(seconds, used, before + self._threads * seconds, late, waited)
        if alone:
            return Lap(seconds, waits, started - asked + told - ended)
        return Lap(seconds + late, waits)  # the stop belongs to the sample, and what waits for it, too

    def sample(self, calls: Sequence[int], timeout_s: float, counted: bool = True) -> Sample:
        """A command, what it took, and whether somebody else had the processor during a noticeable part of it. Not
        `counted`: the wall time alone."""
        if not counted:
            return Sample(self.command(calls, timeout_s).seconds, False)
        used, thrown = self._spent()
        lap = self.command(calls, timeout_s)
        used_after, thrown_after = self._spent()
        if self._threads > 1:
            return Sample(lap.seconds, lap.waits.process > allowed_s(lap.seconds))
        return lap.net(used_after - used, thrown_after - thrown)

    def rest(self) -> None:
        """Stop before the first command."""
        self._stop("being loaded")

    def interrupt(self, calls: Sequence[int], after_s: float) -> None:
        """Give a command and stop the process after so long, wherever it is by then: for good."""
        self.process.resume()
        with contextlib.suppress(OSError):  # a process that is gone shows when it is stopped
            os.write(self._commands, os.urandom(8) + struct.pack(f"<{len(calls)}I", *calls))
        time.sleep(after_s)
        self._stop("being interrupted")
        if self.process.status is not None:
            self._broken(b"", True, 0.0, "during a call")

    def _stop(self, since: str) -> None:
        used, asked = cpu_s(self.process.pid), time.monotonic()
        if not self.process.stop():
            more, found = cpu_s(self.process.pid) - used, "".join(sorted(states(self.process.pid)))
            seconds = time.monotonic() - asked
            self.process.kill()
            cause: Cause = "hidden-work" if more > WORKING * seconds else STOOD_STILL
            reason = f"could not be stopped within {seconds:.3g} s of {since}"
            raise WorkerFault(cause, f"{reason} (state {found}, {more * 1e3:.3g} ms of processor time meanwhile)")
        self._still = True

    def _halt(self, ended: float) -> float:
        """Stop after a reply; returns how long that took. Where several threads run, it belongs to the sample."""
        self._stop("its reply")
        if self.process.status is not None:
            self._broken(b"", True, 0.0, "during a call")
        return time.perf_counter() - ended

    @contextlib.contextmanager
    def _lines(self) -> Iterator[Callable[[], Queues]]:
        """Its queues as they are now. Threads that wait for work by spinning spin on until the stop reaches them: on a busy
        machine that is nobody's fault, but theirs who have the processor."""
        if self._threads > 1:
            yield lambda: Queues(sum(queued_s(f"{self._tasks}/{t}") for t in self._listed()), queued_s(OWN_THREAD))
        else:
            with Line(f"/proc/{self.process.pid}") as its, Line(OWN_THREAD) as own:
                yield lambda: Queues(its.waited_s(), own.waited_s())

    def _listed(self) -> list[str]:
        with contextlib.suppress(OSError):
            return os.listdir(self._tasks)
        return []

    def _spent(self) -> tuple[float, int]:
        """Processor time, and how often it was thrown off its processor: from the kernel, never from the worker."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            return cpu_s(self.process.pid), switches(f"/proc/{self.process.pid}")
        return 0.0, 0

    def _refuse_more(self, seconds: float, used: float, most: float, late: float, waited: float) -> None:
        """One that went on computing after its reply is rejected; what it took belongs to the sample in any case.

        `used` was read from its CPU clock at the reply, while it may have been running; `most` is all that its threads can
        have used by then, where that is known. It stood still `late` after that; somebody had `waited` for a processor.
        """
        now, threads = cpu_s(self.process.pid), self._threads
        more = min(max(now - most, now - used - threads * _LAG_S), threads * late) - threads * waited
        if more > allowed_s(seconds) + _HIDDEN_S and not self._trusted:
            self.process.kill()
            raise WorkerFault("hidden-work", f"went on computing for {more * 1e3:.3g} ms after its reply")

    def refuse(self) -> NoReturn:
        self.process.kill()
        raise WorkerFault("early-reply", "wrote to the reply channel itself: the reply is not the laboratory's token")

    def _read(self) -> bytes:
        try:
            return os.read(self._replies, 4096)
        except ConnectionError:  # it ended with a command unread
            return b""

    def _broken(self, reply: bytes, answered: bool, timeout_s: float, when: str) -> NoReturn:
        """Explain and raise. An end of file means that the process is gone or going."""
        if not answered:
            self.process.kill()
            raise WorkerFault("timeout", f"did not return within {timeout_s:.3g} s {when} and was killed")
        if reply:
            self.refuse()
        deadline = time.monotonic() + STOP_S
        while not self.process.poll() and time.monotonic() < deadline:
            time.sleep(0.001)
        self.process.kill()
        raise WorkerFault(*describe(self.process.status or 0, when, self.process.log()))


@dataclass(frozen=True)
class Queues:
    """How many seconds the process, and the laboratory's own thread, have stood in line for a processor."""

    process: float
    own: float

    def since(self, before: Queues) -> Queues:
        return Queues(max(0.0, self.process - before.process), max(0.0, self.own - before.own))


@dataclass(frozen=True)
class Lap:
    """One command by the clock, and who waited for a processor meanwhile. The queues were read beside the clock: `unsure`
    seconds lie between, and a wait that falls there would be taken off though it was never clocked."""

    seconds: float
    waits: Queues
    unsure: float = 0.0

    def net(self, used: float, thrown: int) -> Sample:
        """Of one thread. The time in which it or the laboratory was ready and got no processor is nobody's work, and is
        taken off, down to the processor time that it used until it was stopped, which is the least that its work took.
        (Where the machine itself is a guest, that may be nothing: the kernel takes off what the host took.)

        One that was thrown off the processor in the middle, and found other contents in the caches when it came back, is
        set aside; and one whose books do not add up, since nothing is left of it or they were read too late.
        """
        waited, allowed = self.waits.process, allowed_s(self.seconds)
        net = max(self.seconds - waited - self.waits.own, used)
        if net <= 0 or self.unsure > allowed:
            return Sample(self.seconds, True)
        return Sample(net, thrown > 0 and waited > allowed)


def allowed_s(seconds: float) -> float:
    """What a sample of so many seconds may lose to others without being disturbed."""
    return _LOST_S + _LOST_SHARE * seconds


class Job(Process, Protocol):
    """A process that is a child of this one."""

    def end(self) -> None: ...
    def close(self) -> None: ...


class Worker:
    """A trusted process that runs all calls (a baseline); calls + k brings the buffers of call k in."""

    def __init__(
        self, process: Job, commands: int, replies: int, calls: int, threads: int, boot_timeout_s: float
    ) -> None:
        self._process = process
        self._line = ClockedProcess(process, commands, replies, threads, trusted=True)
        self._fds: tuple[int, ...] = (commands, replies)
        self._threads = threads
        self._calls = calls
        self._touched: set[int] = set()
        self._boot_timeout_s = boot_timeout_s

    def ready(self) -> Worker:
        """Wait until the process has loaded, and stop it; raises WorkerFault when loading already goes wrong."""
        if self._line.receive(self._boot_timeout_s, "while it was loaded") != b"loaded!!":
            self._line.refuse()
        self._line.rest()
        return self

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False, steady: bool = False) -> Sample:
        """Run the numbered calls; returns the wall time from when it may run to our read. `counted`: note preemption."""
        return self._line.sample(calls, timeout_s, counted)

    def begin(self, calls: Sequence[int], scrub: bool = True) -> bool:
        return False

    def interrupt(self, calls: Sequence[int], after_s: float) -> bool:
        return False

    def prepare(self, calls: Sequence[int], timeout_s: float) -> float:
        """Bring the buffers of these calls in. To be done before new inputs are written: the process runs meanwhile."""
        fresh = [n for n in calls if n not in self._touched]
        if fresh:
            self._touched.update(fresh)
            self._line.command([self._calls + n for n in fresh], timeout_s)
        return 0.0

    def remarks(self) -> dict[str, int | str]:
        return {}

    def end(self) -> None:
        """No further call will come: the process may go while its outputs are looked at."""
        self._process.end()

    def pin(self, cpu: int) -> None:
        """Run on this processor from now on (one thread only: several have their own set)."""
        if self._threads == 1 and self._process.status is None:
            os.sched_setaffinity(self._process.pid, {cpu})

    def close(self) -> None:
        self._process.close()
        fds, self._fds = self._fds, ()
        for fd in fds:
            os.close(fd)


def describe(status: int, when: str, log: str) -> tuple[Cause, str]:
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
