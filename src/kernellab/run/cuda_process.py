"""Talking to a GPU process of the laboratory's own (a runner or a baseline): requests, replies, faults, time-outs."""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import socket
from collections.abc import Iterator, Sequence
from typing import Any

from kernellab.run.base import WorkerFault
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.job import Job
from kernellab.sandbox.limits import Limits

MAX_MESSAGE = 1 << 16
_KEPT = ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "NVIDIA_VISIBLE_DEVICES", "HOME")


def gpu_environment() -> dict[str, str]:
    """What a GPU process needs of this one's environment: where the driver lies, which GPUs may be seen."""
    found = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**found, "CUDA_MODULE_LOADING": "EAGER", "CUDA_CACHE_DISABLE": "1"}


class Process:
    """A process and the conversation with it. It finds the control socket first, then `fds`."""

    def __init__(self, host: Sandbox, entry: str, fds: Sequence[int], boot_s: float) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._poll = select.poll()
        self._poll.register(self._control, select.POLLIN)
        self.mapped: set[int] = set()
        self._boot_s = boot_s
        try:
            self._job: Job = host.spawn(entry, "run", Limits(cpu_s=1 << 30), [theirs.fileno(), *fds])
        except BaseException:
            self._control.close()
            raise
        finally:
            theirs.close()
        self.alive = True
        self._waiting = True

    def ready(self) -> None:
        if self._waiting:
            self._waiting = False
            reply = self._receive(self._boot_s, "while it started")
            if "ready" not in reply:
                self.end()
                raise WorkerFault("crash", f"does not start: {reply.get('reason', reply)}")

    def ask(self, request: dict[str, Any], timeout_s: float, fds: Sequence[int] = (), when: str = "") -> dict[str, Any]:
        """One request and its reply. A fault is raised; one that loses the context ends the process."""
        if not self.alive:
            raise WorkerFault("lost-worker", "the GPU process was replaced meanwhile")
        self.ready()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            self._control.sendmsg([json.dumps(request).encode()], rights)
        except OSError:
            self._gone("")
        reply = self._receive(timeout_s, when)
        if "fault" in reply:
            if reply.get("lost"):
                self.end()
            raise WorkerFault(reply["fault"], " ".join(filter(None, (reply["reason"], reply.get("when", when)))))
        return reply

    def end(self) -> None:
        if self.alive:
            self.alive = False
            self._job.close()
            self._control.close()

    def _receive(self, timeout_s: float, when: str) -> dict[str, Any]:
        if not self._poll.poll(1000 * timeout_s):
            self.end()
            raise WorkerFault("timeout", f"did not return within {timeout_s:.3g} s {when} and was killed")
        try:
            data = self._control.recv(MAX_MESSAGE)
            reply = json.loads(data) if data else None
        except (OSError, ValueError):
            reply = None
        if not isinstance(reply, dict):
            self._gone(when)
        assert isinstance(reply, dict)
        return reply

    def _gone(self, when: str) -> None:
        log = self._job.log().strip().splitlines()
        self.end()
        raise WorkerFault("crash", f"the GPU process ended {when}: {(log or ['no message'])[-1][:300]}")


@contextlib.contextmanager
def files_of(*contents: bytes) -> Iterator[list[int]]:
    """Memory files with these contents, for as long as it takes to hand them over."""
    fds: list[int] = []
    try:
        for data in contents:
            fd = os.memfd_create("klab", os.MFD_CLOEXEC)
            fds.append(fd)
            with os.fdopen(os.dup(fd), "wb") as file:
                file.write(data)
        yield fds
    finally:
        for fd in fds:
            os.close(fd)


def serve(control: socket.socket, answer: Any, fault_of: Any) -> int:
    """The other side: answer requests until the laboratory is gone. `fault_of` turns an exception into a reply, or
    re-raises it. A reply that says "lost" is the last one."""
    while True:
        data, ancillary, _, _ = control.recvmsg(MAX_MESSAGE, socket.CMSG_SPACE(4 * 4))
        if not data:
            return 0
        received = array.array("i")
        for _, kind, content in ancillary:
            if kind == socket.SCM_RIGHTS:
                received.frombytes(content[: len(content) - len(content) % received.itemsize])
        try:
            reply = answer(json.loads(data), list(received))
        except Exception as err:  # noqa: BLE001  the process's boundary: what it cannot name it raises again
            reply = fault_of(err)
        for fd in received:
            os.close(fd)
        control.send(json.dumps(reply).encode())
        if reply.get("lost"):
            os._exit(1)
