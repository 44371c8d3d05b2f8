"""One writer per run folder: an flock, which the kernel drops when its holder dies, however it dies.

The pid in the file is for people; the lock is the truth. Not covered: a child forked without exec shares the
lock and keeps it until it exits too.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from kernellab.core.errors import LedgerFault
from kernellab.ledger.disk import access_fault

LOCK_FILE = "run.lock"
_LOCKS = Path("/proc/locks")


def is_written(folder: Path) -> bool:
    """Whether some process holds the run's lock now, asked without touching it. False where nobody can tell."""
    try:
        number = (folder / LOCK_FILE).stat().st_ino
        held = _LOCKS.read_text().splitlines()
    except OSError:
        return False
    return any(line.split()[1:2] == ["FLOCK"] and f":{number} " in line for line in held)


class WriterLock:
    def __init__(self, folder: Path) -> None:
        path = folder / LOCK_FILE
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise access_fault(folder, error) from error
        try:
            self._take(folder)
        except BaseException:
            os.close(self._fd)
            raise

    def _take(self, folder: Path) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError as error:
            holder = os.pread(self._fd, 32, 0).decode(errors="replace").strip() or "unknown"
            raise LedgerFault(
                f"{folder} is being written by process {holder}",
                fix="wait until it has ended, or start a new run elsewhere (--out)",
            ) from error
        except OSError as error:
            raise access_fault(folder, error) from error

    def release(self) -> None:
        os.close(self._fd)
