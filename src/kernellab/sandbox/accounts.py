"""What the kernel says of a process: the processor time it used, how long it stood in line for a processor, its state."""

from __future__ import annotations

import contextlib
import os
import time

OWN_THREAD = "/proc/thread-self"


def cpu_s(pid: int) -> float:
    """Of all its threads: exact while it is stopped, else as old as the last timer tick; 0 when it is gone."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the kernel's name for another process's CPU clock
    except OSError:
        return 0.0


class Line:
    """How long one thread has been ready and had no processor, by its folder under /proc: opened once, which takes longer
    than to read it. 0 where nobody tells."""

    def __init__(self, folder: str) -> None:
        self._fd = -1
        with contextlib.suppress(OSError):
            self._fd = os.open(f"{folder}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def waited_s(self) -> float:
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int(os.pread(self._fd, 100, 0).split()[1]) * 1e-9
        return 0.0


def queued_s(folder: str) -> float:
    with Line(folder) as line:
        return line.waited_s()


def switches(folder: str) -> int:
    """How often one thread was thrown off its processor."""
    return int(_read(f"{folder}/status").rpartition(b"nonvoluntary_ctxt_switches:")[2].split()[0])


def states(pid: int) -> set[str]:
    """One letter for each kind of state that a thread of the process is in; empty when it is gone."""
    folder = f"/proc/{pid}/task"
    try:
        threads = os.listdir(folder)
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return {state for thread in threads if (state := _state(f"{folder}/{thread}/stat"))}


def _state(path: str) -> str:
    try:
        return _read(path).rpartition(b")")[2][1:2].decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 14)
    finally:
        os.close(fd)
