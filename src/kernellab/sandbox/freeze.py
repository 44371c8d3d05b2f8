"""Stopping a process for sure: SIGSTOP, then the state of every thread as the kernel tells it, for a limited time.

Covered: processes that are not our children; threads that sit in one long system call, where no signal acts; a SIGCONT
that undoes the stop. Whoever asks learns within the limit that the process is stopped, has ended, or goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Literal

Outcome = Literal["stopped", "ended", "running"]
STOP_S = 2.0
_PAUSE_S, _LONGEST_S = 10e-6, 5e-3
_WORKING = 0.01
"""Of the time since the signal: who has used more of the processor is not waiting for one."""
_QUEUED, _QUEUE_S = 0.5, 30.0
"""Who has stood in line for a processor for so much of that time is waited for, so long at most."""


def freeze(pid: int, signal_stop: Callable[[], None], within_s: float = STOP_S) -> Outcome:
    """`signal_stop` sends SIGSTOP in whatever way is safe for the caller.

    One that does nothing is waited for as long again, and one that does nothing because others have the processor for
    longer: that is the machine's fault.
    """
    began, used, queued = time.monotonic(), _cpu_s(pid), _queued_s(pid)
    signal_stop()
    pause = _PAUSE_S
    while True:
        found = states(pid)
        if found <= {"Z", "X"}:
            return "ended"
        if found <= {"T", "Z", "X"}:
            return "stopped"
        late = time.monotonic() - began
        if late > within_s and _goes_on(late, within_s, _cpu_s(pid) - used, _queued_s(pid) - queued):
            return "running"
        time.sleep(pause)  # it may need the very processor that we are on
        pause = min(2 * pause, _LONGEST_S)


def _goes_on(late: float, within_s: float, used: float, queued: float) -> bool:
    if used > _WORKING * late:
        return True
    return late > (_QUEUE_S if queued > _QUEUED * late else 2 * within_s)


def _queued_s(pid: int) -> float:
    """How long its first thread has waited for a processor."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def _cpu_s(pid: int) -> float:
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the kernel's name for another process's CPU clock
    except OSError:
        return 0.0


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
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return ""
    try:
        return os.read(fd, 512).rpartition(b")")[2][1:2].decode()
    except ProcessLookupError:
        return ""
    finally:
        os.close(fd)
