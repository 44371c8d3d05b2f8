"""Files for people appear whole or not at all, and a disk that refuses one is told by the file's name. Files from people are
plain ones."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import BinaryIO

from kernellab.core.errors import EnvironmentFault

_REMEDIES = {
    errno.ENOSPC: "free space on that disk",
    errno.EDQUOT: "free some of your disk quota",
    errno.ENOTDIR: "move that file away",
    errno.EEXIST: "move that file away",
    errno.EFBIG: "raise the file size limit (ulimit -f unlimited)",
}


def write_file(path: Path, content: bytes | str) -> None:
    """A new file, or a new one in place of the old; after a fault the old one stands, or none."""
    try:
        replace_file(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {path}: {reason(path, error)}",
            fix=f"{remedy(error, 'make its folder writable')}, or name another",
        ) from error


def replace_file(path: Path, data: bytes) -> None:
    """Written aside, synced, then moved; a pipe or a device is written as it is, and a link stays one."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    place = path.resolve()
    aside = place.with_name(f".{secrets.token_hex(8)}.new")
    try:
        with aside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, aside)
        aside.replace(place)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def open_plain(path: Path) -> BinaryIO:
    """To read what somebody else may have handed over. At a pipe or a device a reader would wait, or read, for ever."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a plain file")
    return open(fd, "rb")


def read_plain(path: Path, most: int | None = None) -> bytes:
    """All of it; an OSError where it is larger than `most` bytes."""
    with open_plain(path) as file:
        if most is None:
            return file.read()
        data = file.read(most + 1)
        if len(data) > most:
            raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB")
        return data


def reason(path: Path, error: OSError) -> str:
    """Why `path` could not be made: the file that stands where a folder is needed, or the system's words."""
    if error.errno in (errno.ENOTDIR, errno.EEXIST) and (file := file_in_the_way(path)):
        return f"{file} is a file, not a folder"
    return error.strerror or str(error)


def file_in_the_way(path: Path) -> Path | None:
    """The first file among a path's folders, itself included."""
    return next((p for p in (*reversed(path.parents), path) if p.is_file()), None)


def remedy(error: OSError, otherwise: str) -> str:
    return _REMEDIES.get(error.errno or 0, otherwise)
