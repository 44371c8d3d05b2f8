"""The laboratory's side of the sandbox: starts a zygote in a tier; spawns, stops, resumes, kills and reaps jobs."""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import get_args

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.sandbox import libc, namespaces, scratch
from kernellab.sandbox.freeze import freeze
from kernellab.sandbox.limits import Limits
from kernellab.sandbox.zygote import MAX_MESSAGE, NAMESPACED, Profile, Request, Tier

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "TMPDIR": namespaces.SCRATCH,
}  # fmt: skip
_BOOT = (
    "import sys, json; a = json.loads(sys.argv[1]); sys.path[:] = a['path'];"
    "from kernellab.sandbox.zygote import main; main(a['tier'], a['fd'], a['preload'], a['trees'], a['self_exe'])"
)
_LOG_KEPT = 64 << 10
_ANSWER_S = 300.0  # a zygote that imports torch takes a minute and more on a machine with other work


class Job:
    """A confined process. Its parent is this process; everything it printed is in `log()`."""

    def __init__(self, pid: int, log_fd: int, limits: Limits, folder: str, group: bool) -> None:
        self.pid = pid
        self.limits = limits
        self.started = time.monotonic()
        self.timed_out = False
        self.status: int | None = None
        self._log_fd = log_fd
        self._scratch = folder
        self._group = group
        self._stopped = False

    def poll(self) -> bool:
        """True once the job has ended."""
        if self.status is None and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            self._reap()
        return self.status is not None

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the end, at most `timeout_s` (default: the job's own wall limit), then kill the whole job."""
        deadline = self.started + (self.limits.wall_s if timeout_s is None else timeout_s)
        if self.status is not None:
            return self.status
        pidfd = os.pidfd_open(self.pid)
        ended = select.poll()
        ended.register(pidfd, select.POLLIN)
        try:
            while not self.poll():
                left = deadline - time.monotonic()
                if left <= 0 or self._scratch_full():
                    self.timed_out = left <= 0
                    self.kill()
                    break
                ended.poll(1000 * min(left, 0.25 if self._scratch else left))
        finally:
            os.close(pidfd)
        assert self.status is not None
        return self.status

    def stop(self) -> bool:
        """Freeze every thread; true when the kernel confirms it (or the job has ended), false when it goes on."""
        if self.status is None and not self._stopped:
            outcome = freeze(self.pid, lambda: os.kill(self.pid, signal.SIGSTOP))
            self._stopped = outcome == "stopped"
            if outcome == "ended":
                self._reap()
            return outcome != "running"
        return True

    def resume(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGCONT)
            self._stopped = False

    def kill(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self._reap()

    def end(self) -> None:
        """Kill without waiting: the kernel takes the job down while the caller does something else; close() reaps it."""
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)

    def _reap(self) -> None:
        """Take the end of the first process, and without a pid namespace the rest of the job with it.

        The group is killed while the first process still holds its number; its orphans are children of this process.
        """
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        if self._group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        self.status = os.waitpid(self.pid, 0)[1]
        while self._group:
            try:
                os.waitpid(-self.pid, 0)
            except ChildProcessError:
                break

    def close(self) -> None:
        self.kill()
        if self._log_fd >= 0:
            os.close(self._log_fd)
            self._log_fd = -1
        if self._scratch:
            scratch.remove(self._scratch)

    def log(self) -> str:
        return os.pread(self._log_fd, _LOG_KEPT, 0).decode(errors="replace")

    def flooded(self) -> bool:
        """Whether the output reached its limit. In a pid namespace no signal says so: a first process is spared it."""
        return os.fstat(self._log_fd).st_size >= self.limits.file_size

    def exit_code(self) -> int | None:
        return os.WEXITSTATUS(self.status) if self.status is not None and os.WIFEXITED(self.status) else None

    def signal(self) -> int | None:
        return os.WTERMSIG(self.status) if self.status is not None and os.WIFSIGNALED(self.status) else None

    def _scratch_full(self) -> bool:
        return bool(self._scratch) and not scratch.within(self._scratch, self.limits.scratch)

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        self._folders: set[str] = set()  # scratch of jobs, some of it perhaps of a job that an interrupt left unclosed
        libc.prctl(libc.PR_SET_CHILD_SUBREAPER, 1)
        self.trees = namespaces.toolchain_trees(tuple(trees), preload)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._control.settimeout(_ANSWER_S)
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
            answer, _, self._uid, self._gid = self._receive()
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

    def _receive(self) -> tuple[bytes, int, int, int]:
        """The next message and, from its credentials, the sender's pid, uid and gid as this process sees them."""
        data, ancillary, _, _ = self._control.recvmsg(MAX_MESSAGE, socket.CMSG_SPACE(struct.calcsize("3i")))
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                return data, *struct.unpack("3i", content[:12])
        return data, 0, -1, -1

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
                pid = self._forked(request, rights)
        except (OSError, EnvironmentFault):
            os.close(log_fd)
            scratch.remove(folder)
            raise
        return Job(pid, log_fd, limits, folder, group=self.tier not in NAMESPACED)

    def _folder(self) -> str:
        """A new scratch folder, noted before it exists: an interrupt may come at any time."""
        folder = scratch.place(self._uid)
        self._folders = {folder, *filter(os.path.exists, self._folders)}
        scratch.make(folder, self._uid, self._gid)
        return folder

    def _forked(self, request: Request, rights: list[tuple[int, int, array.array[int]]]) -> int:
        """Send one request and wait for the new job's pid."""
        self._control.sendmsg([request.encode()], rights)
        pid = forked = 0
        while not forked or not pid:
            data, sender, _, _ = self._receive()
            if data == b"hello":
                pid = sender
            elif data == b"forked":
                forked = 1
            else:
                raise EnvironmentFault(f"the sandbox cannot start a job: {data.decode(errors='replace')}",
                                       "run 'klab doctor'; a lower tier may work")  # fmt: skip
        return pid

    def close(self) -> None:
        self._control.close()
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
