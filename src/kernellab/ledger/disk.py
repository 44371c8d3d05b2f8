"""How a run folder's disk fails, and what to do about it, worded once."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from kernellab.core.errors import EnvironmentFault, LedgerFault
from kernellab.ledger.entry import LEDGER_FILE

_FULL = {
    errno.ENOSPC: "free space on that disk",
    errno.EDQUOT: "free some of your disk quota",
    errno.EFBIG: "raise the file size limit (ulimit -f unlimited)",
}


def append_whole(fd: int, data: bytes) -> None:
    """One write for the whole of `data`: a line is there or it is an error, never "the rest comes later"."""
    written = os.write(fd, data)
    if written != len(data):
        raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were taken")


def write_fault(path: Path, folder: Path, error: OSError) -> LedgerFault:
    remedy = _FULL.get(error.errno or 0, "check that disk")
    return LedgerFault(f"cannot write {path}: {error.strerror or error}", fix=f"{remedy}, then: klab resume {folder}")


def access_fault(folder: Path, error: OSError) -> EnvironmentFault:
    remedy = _FULL.get(error.errno or 0, "make the folder writable")
    return EnvironmentFault(
        f"cannot write to {folder}: {error.strerror or error}", fix=f"{remedy}, or choose another --out"
    )


def read_fault(path: Path, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(
        f"cannot read {path}: {error.strerror or error}",
        fix="make it readable for this user, or copy the run",
    )


def require_ledger(folder: Path) -> None:
    try:
        found = (folder / LEDGER_FILE).is_file()
    except OSError as error:
        raise read_fault(folder, error) from error
    if not found:
        raise LedgerFault(f"{folder} holds no ledger", fix="name the folder of a run (klab run --out FOLDER makes one)")


def sync_folder(folder: Path) -> None:
    """Makes new names in `folder` survive a power loss; some file systems refuse, and need no such thing."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)
