"""The scratch folder of a job that has no private root (tier T2): made, watched and removed from outside.

Covered: sum of sizes and number of files, folders nested deeper than a path is long, folders without rights.
Not covered: a file that is open but has no name any more (limits.py).
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

_BLOCK = 4096  # what even an empty file or folder counts for


def place(uid: int) -> str:
    """Where a new folder may lie: under root a job has a private uid, which must be able to reach it."""
    base = tempfile.gettempdir()
    if uid != os.getuid() and not _open_to_all(base):
        base = "/tmp"
    return os.path.join(base, f"klab-job-{os.urandom(8).hex()}")


def make(folder: str, uid: int, gid: int) -> None:
    os.mkdir(folder, 0o700)
    os.chown(folder, uid, gid)


def _open_to_all(folder: str) -> bool:
    path = Path(folder).resolve()
    return all(place.stat().st_mode & stat.S_IXOTH for place in (path, *path.parents))


def within(folder: str, limit: int) -> bool:
    """Whether the folder holds at most `limit` bytes. What cannot be looked at counts as too much."""
    used, waiting = 0, [folder]
    while waiting and used <= limit:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    used += max(_BLOCK, entry.stat(follow_symlinks=False).st_size)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except FileNotFoundError:
            continue  # the job removed it meanwhile
        except OSError:
            return False
    return used <= limit


def remove(folder: str) -> None:
    """Flatten while removing, so that neither depth nor length of a path matters. The job must have ended."""
    try:
        while nested := _clear(folder):
            for path in nested:
                os.chmod(path, 0o700)
                with os.scandir(path) as entries:
                    folders = [e.path for e in entries if e.is_dir(follow_symlinks=False)]
                for inner in folders:
                    os.chmod(inner, 0o700)  # to move a folder is to write to it
                    os.rename(inner, os.path.join(folder, os.urandom(12).hex()))
                _clear(path)
                os.rmdir(path)
        os.rmdir(folder)
    except FileNotFoundError:
        pass


def _clear(folder: str) -> list[str]:
    """Delete the files in a folder; returns the folders in it."""
    with os.scandir(folder) as entries:
        found = [(e.path, e.is_dir(follow_symlinks=False)) for e in entries]
    for path, is_folder in found:
        if not is_folder:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    return [path for path, is_folder in found if is_folder]
