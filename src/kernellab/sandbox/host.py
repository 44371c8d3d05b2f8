"""The laboratory's side of the sandbox: starts a zygote in a tier, and spawns jobs (sandbox/job.py) from it."""

from __future__ import annotations

import array
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import get_args

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.sandbox import libc, namespaces, scratch
from kernellab.sandbox.job import Job
from kernellab.sandbox.limits import Limits
from kernellab.sandbox.zygote import MAX_MESSAGE, NAMESPACED, SPARE, Profile, Request, Tier

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "TMPDIR": namespaces.SCRATCH,
}  # fmt: skip
NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
"""What is confined has no business there; and a library that has looked for one may not be forked."""
_BOOT = (
    "import sys, json; a = json.loads(sys.argv[1]); sys.path[:] = a['path'];"
    "from kernellab.sandbox.zygote import main; main(a['tier'], a['fd'], a['preload'], a['trees'], a['self_exe'])"
)
_ANSWER_S = 300.0  # a zygote that imports torch takes a minute and more on a machine with other work
_Rights = list[tuple[int, int, "array.array[int]"]]


class Sandbox:
    """A zygote in one tier. `preload` names the modules whose functions serve as job entries.

    Jobs may read `trees` beside system and interpreter. A private root has no /proc; for a compiler that finds its
    parts through /proc/self/exe, `self_exe` is put there. `environment` is added to the little that jobs see.
    Without `wait` the zygote goes on importing in the background until its first job is wanted.
    """

    def __init__(
        self, tier: Tier, preload: Sequence[str], trees: Sequence[str] = (), self_exe: str = "",
        environment: Mapping[str, str] | None = None, wait: bool = True,
    ) -> None:  # fmt: skip
        if tier not in get_args(Tier):
            raise UsageError(f"there is no sandbox tier '{tier}'", "choose T1, T2, T3, or leave it at auto")
        self.tier = tier
        self._environment = {**ENVIRONMENT, **(environment or {})}
        self._spawning = threading.Lock()
        self.together = max(4, 2 * (os.cpu_count() or 1))
        self.room = threading.BoundedSemaphore(self.together)
        """For callers that start many jobs at a time: so many at once, and the limit on processes holds for all together."""
        self._spares: list[socket.socket] = []
        self._discarded: list[Job] = []
        self._folders: set[str] = set()  # scratch of jobs, some of it perhaps of a job that an interrupt left unclosed
        libc.prctl(libc.PR_SET_CHILD_SUBREAPER, 1)
        self.trees = namespaces.toolchain_trees(tuple(trees), preload)
        self._control, theirs = _line()
        self._process = self._boot(theirs, list(preload), self_exe)
        theirs.close()
        self._starting = True
        if wait:
            self.ready()

    def ready(self) -> None:
        """Wait until the zygote has everything imported and is in its tier."""
        if not self._starting:
            return
        self._starting = False
        try:
            answer, _, self._uid, self._gid = _receive(self._control)
        except OSError as err:
            answer = str(err).encode()
        if answer != b"ready":
            self._process.kill()
            self._process.wait()
            self._control.close()
            raise EnvironmentFault(
                f"sandbox tier {self.tier} does not start: {answer.removeprefix(b'failed ').decode() or 'no answer'}",
                "run 'klab doctor' to see which tiers this machine offers",
            )

    @property
    def zygote_pid(self) -> int:
        return self._process.pid

    def _boot(self, theirs: socket.socket, preload: list[str], self_exe: str) -> subprocess.Popen[bytes]:
        fd = theirs.fileno()
        path = [os.path.abspath(p) for p in sys.path if p]
        arguments = {"tier": self.tier, "fd": fd, "preload": preload, "trees": self.trees, "path": path,
                     "self_exe": self_exe}  # fmt: skip
        command = [sys.executable, "-I", "-c", _BOOT, json.dumps(arguments)]
        # Line-buffered diagnostics of the zygote itself are of no use to anybody but its developers.
        return subprocess.Popen(
            command, env=self._environment, pass_fds=(fd,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def spare(self, count: int) -> None:
        """Have so many jobs forked ahead of the request that is to come, while the caller does something else.

        Only those of the profile "nest" are taken from there, and only where a job has namespaces of its own."""
        with self._spawning:
            self.ready()
            while self.tier in NAMESPACED and len(self._spares) < count:
                ours, theirs = _line()
                with theirs:
                    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))]
                    self._control.sendmsg([SPARE], rights)
                self._spares.append(ours)

    def spawn(
        self, entry: str, profile: Profile, limits: Limits, fds: Sequence[int],
        threads: int = 1, cpus: Sequence[int] | None = None,
        files: Mapping[str, tuple[int, int, int]] | None = None,
    ) -> Job:  # fmt: skip
        """Fork a confined job. It finds `fds` as descriptors 3, 4, ... and runs `entry`, "module:function".

        `files` maps names in the job's scratch folder to what fills them: a descriptor (as numbered in the job), an offset
        in it and a size.
        """
        with self._spawning:
            self.ready()
            folder = "" if self.tier in NAMESPACED else self._folder()
        chosen = list(cpus or os.sched_getaffinity(0))
        request = Request(entry, profile, limits, threads, chosen, folder, dict(files or {}))
        log_fd = os.memfd_create("klab-log", os.MFD_CLOEXEC)
        try:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [log_fd, *fds]))]
            with self._spawning:  # several threads may build at once
                pid = (
                    self._taken(request, rights)
                    if profile == "nest" and self._spares
                    else self._forked(request, rights)
                )
        except (OSError, EnvironmentFault):
            os.close(log_fd)
            scratch.remove(folder)
            raise
        return Job(pid, log_fd, limits, folder, group=self.tier not in NAMESPACED)

    def discard(self, job: Job) -> None:
        """End a job and let go of it. The kernel takes a moment to take it down: nobody waits for that here, if the end of
        its first process is the end of all."""
        if self.tier not in NAMESPACED:
            job.close()
            return
        job.end()
        self._discarded.append(job)
        for ended in [j for j in self._discarded if j.poll()]:
            ended.close()
            self._discarded.remove(ended)

    def _folder(self) -> str:
        """A new scratch folder, noted before it exists: an interrupt may come at any time."""
        folder = scratch.place(self._uid)
        self._folders = {folder, *filter(os.path.exists, self._folders)}
        scratch.make(folder, self._uid, self._gid)
        return folder

    def _forked(self, request: Request, rights: _Rights) -> int:
        """Send one request and wait for the new job's pid."""
        self._control.sendmsg([request.encode()], rights)
        return _pid_of(self._control)

    def _taken(self, request: Request, rights: _Rights) -> int:
        """Give a request to a job that was forked ahead; to a new one where that has ended."""
        with self._spares.pop(0) as spare, contextlib.suppress(OSError, EnvironmentFault):
            pid = _pid_of(spare)
            spare.sendmsg([request.encode()], rights)
            return pid
        return self._forked(request, rights)

    def _drop_spares(self) -> None:
        for spare in self._spares:
            with spare, contextlib.suppress(OSError, EnvironmentFault):
                pid = _pid_of(spare)
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        self._spares = []

    def close(self) -> None:
        self._drop_spares()
        for job in self._discarded:
            job.close()
        self._control.close()
        if self._starting:  # nobody had a job of it, and it would notice only when it has imported everything
            self._process.kill()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for folder in self._folders:  # the zygote tried, but its user may not write where the folders are
            with contextlib.suppress(OSError):
                scratch.remove(folder)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _line() -> tuple[socket.socket, socket.socket]:
    """Two ends; ours learns from the kernel who wrote at the other, and does not wait for ever."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    ours.settimeout(_ANSWER_S)
    return ours, theirs


def _pid_of(line: socket.socket) -> int:
    """A new job's number, when both it and the zygote have said that it is there."""
    pid = forked = 0
    while not forked or not pid:
        data, sender, _, _ = _receive(line)
        if data == b"hello":
            pid = sender
        elif data == b"forked":
            forked = 1
        else:
            raise EnvironmentFault(f"the sandbox cannot start a job: {data.decode(errors='replace')}",
                                   "run 'klab doctor'; a lower tier may work")  # fmt: skip
    return pid


def _receive(line: socket.socket) -> tuple[bytes, int, int, int]:
    """The next message and, from its credentials, the sender's pid, uid and gid as this process sees them."""
    data, ancillary, _, _ = line.recvmsg(MAX_MESSAGE, socket.CMSG_SPACE(struct.calcsize("3i")))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return data, *struct.unpack("3i", content[:12])
    return data, 0, -1, -1
