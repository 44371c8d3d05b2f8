"""A confined process as the laboratory sees it: waited for, stopped, resumed, killed and reaped."""

from __future__ import annotations

import contextlib
import os
import select
import signal

from kernellab.core.printable import printable
from kernellab.sandbox import scratch
from kernellab.sandbox.freeze import freeze
from kernellab.sandbox.limits import Limits
from kernellab.sandbox.patience import LOOK_S, Patience

_LOG_KEPT = 64 << 10


class Job:
    """A confined process. Its parent is this process; everything it printed is in `log()`."""

    def __init__(self, pid: int, log_fd: int, limits: Limits, folder: str, group: bool) -> None:
        self.pid = pid
        self.limits = limits
        self._patience = Patience(limits.wall_s)
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

    def wait(self) -> int:
        """Wait for the end as long as the job's wall limit allows, on a busy machine longer; then kill the whole job."""
        if self.status is not None:
            return self.status
        pidfd = os.pidfd_open(self.pid)
        ended = select.poll()
        ended.register(pidfd, select.POLLIN)
        try:
            while not self.poll():
                left = self._patience.left()
                if left <= 0 or self._scratch_full():
                    self.timed_out = left <= 0
                    self.kill()
                    break
                ended.poll(1000 * min(left, LOOK_S))
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
        return printable(os.pread(self._log_fd, _LOG_KEPT, 0).decode(errors="replace"))

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
