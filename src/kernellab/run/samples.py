"""One sample, one process: every command of the laboratory runs in a fresh copy of a process that never saw a candidate.

The copies are forked by run/nest.c, in the sandbox; this side makes each one's channel, learns its number from the
kernel (the credentials of its first message), commands and clocks it (run/worker.py), looks at its static memory and
kills it. A timed sample's process is stopped when it has replied and killed only before the next one is made, so that
its end disturbs nobody's sample.
Covered: whatever a call leaves behind reaches no other sample, and no sample does another's work. Not covered: several calls
of one sample share a process; what they leave in its static memory is compared (run/statics.py).
"""

from __future__ import annotations

import array
import contextlib
import os
import secrets
import select
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernellab.core.printable import printable
from kernellab.run import statics
from kernellab.run.base import Sample, WorkerFault
from kernellab.run.nest import AS_IT_IS, BORN, FAILED, FORK, LEFTOVERS, LOADED, REAP, SCRUBBED, TELL
from kernellab.run.worker import ClockedProcess, describe
from kernellab.sandbox.freeze import freeze
from kernellab.sandbox.job import Job

_BIRTH_S, _REAP_S = 10.0, 2.0
_KILLED, _FAILED_STATUS = 9, 70 << 8
_LOG_KEPT = 64 << 10
_LOADING = "while it was loaded"
_PREPARED = 2  # an artifact compared with itself prepares two samples at once


class Nest:
    """The laboratory's own process in the sandbox: told to fork a child, or to say how one ended."""

    def __init__(self, job: Job, control: socket.socket, discard: Callable[[Job], None]) -> None:
        self.job = job
        self._discard = discard
        self._control = control
        self._control.settimeout(_REAP_S)

    def fork(self) -> tuple[socket.socket, int]:
        """Our end of a new child's channel, and what it prints to: a log of its own, for its size would be a message."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        log = os.memfd_create("klab-log", os.MFD_CLOEXEC)
        with theirs, contextlib.suppress(OSError):  # without it the channel ends, and that is looked at
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno(), log]))]
            self._control.sendmsg([FORK, struct.pack("<i", 300 + secrets.randbelow(32_000))], rights)
        return ours, log

    def bury(self) -> None:
        """A child was killed: let go of it when it is gone. Nobody waits for that."""
        with contextlib.suppress(OSError):
            self._control.send(REAP)

    def status(self) -> int:
        """How a child ended that has been killed or is ending by itself."""
        with contextlib.suppress(OSError):
            self._control.send(TELL)
            data = self._control.recv(4)
            if len(data) == 4:
                return int(struct.unpack("<i", data)[0])
        self.job.end()  # it waits for something that does not end: with it everything goes
        return _KILLED

    def close(self) -> None:
        self._discard(self.job)
        self._control.close()


class Child:
    """A forked process that is not ours to wait for. Its number is its own until it is buried."""

    def __init__(self, pid: int, nest: Nest, log: int) -> None:
        self.pid = pid
        self._log = log
        self.status: int | None = None
        self._nest = nest
        self._pidfd = os.pidfd_open(pid)
        self._buried = False

    def stop(self) -> bool:
        if self._buried:
            return True
        outcome = freeze(self.pid, lambda: self._send(signal.SIGSTOP))
        if outcome == "ended":
            self.kill()
        return outcome != "running"

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def kill(self) -> None:
        """Kill, unless it has ended by itself, and note how it ended."""
        if not self._buried:
            self._send(signal.SIGKILL)
            self.status = self._nest.status()
            self._close()

    def drop(self) -> None:
        """Kill without waiting."""
        if not self._buried:
            self._send(signal.SIGKILL)
            self._nest.bury()
            self._close()

    def _close(self) -> None:
        self._buried = True
        os.close(self._pidfd)

    def poll(self) -> bool:
        if not self._buried and select.select([self._pidfd], [], [], 0)[0]:
            self.kill()
        return self.status is not None

    def log(self) -> str:
        return printable(os.pread(self._log, _LOG_KEPT, 0).decode(errors="replace"))

    def flooded(self) -> bool:
        return os.fstat(self._log).st_size >= self._nest.job.limits.file_size

    def _send(self, number: int) -> None:
        if not self._buried:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)


@dataclass(eq=False)
class _Sample:
    """One child with its channel and its log; it is `born` when its number is known, and loaded when it has said so.

    `image`: its static memory after the warm-up, if there was one, which took `warm_s`.
    """

    channel: socket.socket
    log: int
    calls: frozenset[int]
    born: tuple[Child, ClockedProcess] | None = None
    loaded: bool = False
    spans: list[tuple[int, int]] = field(default_factory=list)
    image: bytes | None = None
    warm_s: float = 0.0
    used: bool = False

    @property
    def process(self) -> Child:
        return self.known()[0]

    @property
    def line(self) -> ClockedProcess:
        return self.known()[1]

    def known(self) -> tuple[Child, ClockedProcess]:
        if self.born is None:
            raise WorkerFault("lost-worker", "the laboratory's own process could not start a sample")
        return self.born


class Samples:
    """Runs calls of one artifact, each command in a process of its own. `layouts`: of its files of machine code."""

    def __init__(self, nest: Nest, threads: int, layouts: Sequence[statics.Layout], load_s: float) -> None:
        self._nest = nest
        self._threads = threads
        self._layouts = layouts
        self._load_s = load_s
        self._cpu: int | None = None
        self._unseen = False
        self._samples: list[_Sample] = []

    def ready(self) -> Samples:
        """Load the machine code once, to see that it can be; raises WorkerFault when that goes wrong."""
        self._loaded(self._start([0], SCRUBBED)).line.rest()
        return self

    def begin(self, calls: Sequence[int], scrub: bool = True) -> bool:
        """Have a process for these calls load meanwhile. It holds their buffers from now on, and no others."""
        self._start(calls, SCRUBBED if scrub else AS_IT_IS)
        return True

    def prepare(self, calls: Sequence[int], timeout_s: float) -> float:
        """A process that has loaded the machine code, holds the buffers of these calls, and has made one uncounted call.
        To be done before new inputs are written: that call runs on whatever lies there. Returns what it took."""
        sample = self._loaded(self._fitting(calls) or self._start(calls, SCRUBBED))
        if not sample.warm_s:
            sample.warm_s = sample.line.command(calls[:1], timeout_s).seconds
            sample.image = self._image(sample)
        self._still(sample)
        return sample.warm_s

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False, steady: bool = False) -> Sample:
        """Run the numbered calls; returns the wall time from when it may run to our read. `counted`: note preemption.

        `steady`: the calls are made once more, backwards, on outputs and scratch that hold something else, and must leave
        static memory as the first round left it; the outputs are then the second round's.
        """
        return self._run(calls, calls, timeout_s, counted, steady)

    def run_rounds(self, rounds: Sequence[Sequence[int]], timeout_s: float) -> Sample:
        order = [number for calls in rounds for number in (LEFTOVERS, *calls)][1:]
        return self._run([n for n in order if n != LEFTOVERS], order, timeout_s)

    def _run(
        self, calls: Sequence[int], order: Sequence[int], timeout_s: float, counted: bool = False, steady: bool = False
    ) -> Sample:
        """`order`: the calls as they are made, with leftovers between."""
        sample = self._loaded(self._fitting(calls) or self._start(calls, AS_IT_IS))
        self._still(sample)
        sample.used = True
        found = sample.line.sample(order, timeout_s, counted)
        if sample.process.flooded():
            raise WorkerFault("output-flood", "printed more than the laboratory keeps during a call")
        if sample.image is not None:
            statics.compare(sample.image, self._image(sample))
        if steady:
            first = self._image(sample)
            sample.line.command([LEFTOVERS, *reversed(calls)], timeout_s)
            statics.compare(first, self._image(sample))
        if not counted:
            self._retire(_PREPARED)
        return found

    def interrupt(self, calls: Sequence[int], after_s: float) -> bool:
        """Have a process begin these calls as in any sample, and stop it after so long. It is not used again."""
        sample = self._loaded(self._fitting(calls) or self._start(calls, AS_IT_IS))
        self._still(sample)
        sample.used = True
        sample.line.interrupt(calls, after_s)
        return True

    def remarks(self) -> dict[str, int | str]:
        return {"static_memory": "could not be read: this machine does not let one process look into another"} if (
            self._unseen
        ) else {}  # fmt: skip

    def pin(self, cpu: int) -> None:
        """Run on this processor from the next process on (one thread only: several have their own set)."""
        self._cpu = cpu if self._threads == 1 else None

    def end(self) -> None:
        self._retire()
        self._nest.job.end()

    def close(self) -> None:
        self._retire()
        self._nest.close()

    def _fitting(self, calls: Sequence[int]) -> _Sample | None:
        """The newest process that waits for work and holds these buffers."""
        waiting = (s for s in reversed(self._samples) if not s.used and s.calls.issuperset(calls))
        return next(waiting, None)

    def _start(self, calls: Sequence[int], how: bytes) -> _Sample:
        """Have a new process made, and tell it to load for these calls. Nobody waits for either here."""
        sample = _Sample(*self._nest.fork(), frozenset(calls))
        with contextlib.suppress(OSError):  # a process that could not be made shows when its first word is read
            sample.channel.send(how + struct.pack(f"<{len(calls)}I", *calls))
        self._retire(_PREPARED - 1)  # only now: the new one need not wait until the old one is gone
        self._samples.append(sample)
        return sample

    def _loaded(self, sample: _Sample) -> _Sample:
        """Wait until it has loaded, and have it run where it should."""
        self._learn(sample)
        if not sample.loaded:
            sample.spans = self._spans(sample, sample.line.receive(self._load_s, _LOADING))
            sample.loaded = True
        if self._cpu is not None:
            os.sched_setaffinity(sample.process.pid, {self._cpu})
        return sample

    def _spans(self, sample: _Sample, reply: bytes) -> list[tuple[int, int]]:
        """Where its static memory lies, from what it says when it has loaded."""
        if reply.startswith(FAILED):
            sample.process.kill()
            said = printable(reply.removeprefix(FAILED).decode(errors="replace"))
            raise WorkerFault(*describe(_FAILED_STATUS, _LOADING, said))
        if not reply.startswith(LOADED) or len(reply) != len(LOADED) + 16 * len(self._layouts):
            sample.line.refuse()
        places = struct.iter_unpack("<QQ", reply[len(LOADED) :])
        return [span for layout, place in zip(self._layouts, places, strict=True) for span in layout.located(*place)]

    def _still(self, running: _Sample) -> None:
        """Nobody else of the artifact runs when new inputs are written, or beside a call: another process may hold the same
        buffers, and one that is still loading runs what code it likes."""
        for other in self._samples:
            if other is not running and not other.used:
                self._loaded(other).line.rest()

    def _image(self, sample: _Sample) -> bytes | None:
        found = statics.image(sample.process.pid, sample.spans)
        self._unseen = self._unseen or found is None
        return found

    def _learn(self, sample: _Sample) -> None:
        """Its number, from the kernel: the credentials of its first word."""
        if sample.born is not None:
            return
        channel = sample.channel
        channel.settimeout(_BIRTH_S)
        try:
            data, ancillary, _, _ = channel.recvmsg(len(BORN), socket.CMSG_SPACE(struct.calcsize("3i")))
        except OSError:
            data, ancillary = b"", []
        if data != BORN:
            said = (self._nest.job.log().strip().splitlines() or ["no message"])[-1][:300]
            raise WorkerFault("lost-worker", f"the laboratory's own process could not start a sample: {said}")
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        channel.settimeout(None)
        try:
            child = Child(int(struct.unpack("3i", ancillary[0][2][:12])[0]), self._nest, sample.log)
        except ProcessLookupError:  # born, and gone with the process that forked it before anybody listened
            raise WorkerFault("lost-worker", "a sample was gone before it was asked for anything") from None
        sample.born = child, ClockedProcess(child, channel.fileno(), channel.fileno(), self._threads, trusted=False)

    def _drop(self, sample: _Sample) -> None:
        with contextlib.suppress(WorkerFault):  # the laboratory's own process is gone, and all of its children with it
            self._learn(sample)
            sample.process.drop()
        sample.channel.close()
        os.close(sample.log)

    def _retire(self, keep: int = 0) -> None:
        """End the processes that have been used, and of the others all but the newest few."""
        waiting = [s for s in self._samples if not s.used]
        kept = waiting[len(waiting) - keep :] if keep else []
        for sample in self._samples:
            if sample not in kept:
                self._drop(sample)
        self._samples = kept
