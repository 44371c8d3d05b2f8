"""How a run folder's disk fails, and what to do about it, worded once."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from kernellab.core.errors import EnvironmentFault, LedgerFault, UsageError
from kernellab.core.files import reason, remedy, replace_file
from kernellab.ledger.entry import LEDGER_FILE


def append_whole(fd: int, data: bytes) -> None:
    """One write for the whole of `data`: a line is there or it is an error, never "the rest comes later"."""
    written = os.write(fd, data)
    if written != len(data):
        full = os.strerror(errno.ENOSPC)
        raise OSError(errno.ENOSPC, f"{full} (only {written} of {len(data)} bytes were taken)")


def write_fault(path: Path, folder: Path, error: OSError) -> LedgerFault:
    fix = f"{remedy(error, 'check that disk')}, then: klab resume {folder}"
    return LedgerFault(f"cannot write {path}: {reason(path, error)}", fix=fix)


def access_fault(folder: Path, error: OSError) -> EnvironmentFault:
    fix = f"{remedy(error, 'make the folder writable')}, or choose another --out"
    return EnvironmentFault(f"cannot write to {folder}: {reason(folder, error)}", fix=fix)


def keep_file(folder: Path, name: str, data: bytes) -> None:
    """A file for people beside the ledger, which stays the authority."""
    try:
        replace_file(folder / name, data)
    except OSError as error:
        raise write_fault(folder / name, folder, error) from error


def read_fault(path: Path, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(
        f"cannot read {path}: {error.strerror or error}",
        fix="make it readable for this user, or copy the run",
    )


def require_ledger(folder: Path) -> None:
    try:
        found, above = ((place / LEDGER_FILE).is_file() for place in (folder, folder.absolute().parent))
    except OSError as error:
        raise read_fault(folder, error) from error
    if not found:
        fix = "name the folder of a run (klab run --out FOLDER makes one)"
        if above:
            fix = f"name what lies around it, {folder.absolute().parent}, or of a suite one of its runs, {folder}/NAME"
        raise UsageError(f"{folder} holds no ledger", fix=fix)


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
