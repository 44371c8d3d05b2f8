"""Stopping a process for sure: SIGSTOP, then the state of every thread as the kernel tells it, for a limited time.

Covered: processes that are not our children; threads that sit in one long system call, where no signal acts; a SIGCONT
that undoes the stop. Whoever asks learns within the limit that the process is stopped, has ended, or goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from kernellab.sandbox.accounts import cpu_s, queued_s, states

Outcome = Literal["stopped", "ended", "running"]
STOP_S = 2.0
_PAUSE_S, _LONGEST_S = 10e-6, 5e-3
WORKING = 0.01
"""Of the time since the signal: who has used more of the processor is not waiting for one."""
_QUEUED, _QUEUE_S = 0.5, 30.0
"""Who has stood in line for a processor for so much of that time is waited for, so long at most."""
_WAITING = "R"
"""A thread that runs or could. It is in line if it uses nothing; the kernel counts that when the wait is over."""
_LOOK_S = 0.1
"""A look that took longer counts so much: we had no processor either, or the whole machine stood still."""


def freeze(pid: int, signal_stop: Callable[[], None], within_s: float = STOP_S) -> Outcome:
    """`signal_stop` sends SIGSTOP in whatever way is safe for the caller.

    One that does nothing is waited for as long again, and one that does nothing because others have the processor for
    longer: that is the machine's fault.
    """
    last, late, used, queued = time.monotonic(), 0.0, cpu_s(pid), -1.0
    signal_stop()
    pause = _PAUSE_S
    while True:
        found = states(pid)
        if found <= {"Z", "X"}:
            return "ended"
        if found <= {"T", "Z", "X"}:
            return "stopped"
        now = time.monotonic()
        late, last = late + min(now - last, _LOOK_S), now
        queued = queued_s(f"/proc/{pid}") if queued < 0 else queued  # most have stopped by now, and are not asked
        if late > within_s:
            in_line = late if _WAITING in found else queued_s(f"/proc/{pid}") - queued
            if _goes_on(late, within_s, cpu_s(pid) - used, in_line):
                return "running"
        time.sleep(pause)  # it may need the very processor that we are on
        pause = min(2 * pause, _LONGEST_S)


def _goes_on(late: float, within_s: float, used: float, queued: float) -> bool:
    if used > WORKING * late:
        return True
    return late > (_QUEUE_S if queued > _QUEUED * late else 2 * within_s)
