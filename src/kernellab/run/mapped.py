"""A buffer of the laboratory's, mapped into a process that runs somebody else's Python (run/nest.c does it for kernels)."""

from __future__ import annotations

import ctypes
import os
from typing import NamedTuple

from kernellab.sandbox import libc

READ, WRITE = 1, 2
_SHARED, _PRIVATE, _FIXED, _ANONYMOUS, _NORESERVE = 0x01, 0x02, 0x10, 0x20, 0x4000
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Mapped(NamedTuple):
    base: int
    length: int
    data: int
    nbytes: int
    protection: int


def map_region(fd: int, protection: int, start: int, length: int, data: int, nbytes: int) -> Mapped:
    """Map a region with a page on either side that faults."""
    hole = libc.mmap(0, length + 2 * _PAGE, 0, _PRIVATE | _ANONYMOUS | _NORESERVE, -1, 0)
    base = libc.mmap(hole + _PAGE, length, protection, _SHARED | _FIXED, fd, start)
    return Mapped(base, length, base + data, nbytes, protection)


def touch(buffer: Mapped) -> None:
    """Make every page present, so that no first touch is clocked; what an earlier sample wrote there is wiped out."""
    writable = bool(buffer.protection & WRITE)
    libc.populate(buffer.base, buffer.length, writable)
    if writable:
        ctypes.memset(buffer.base, 0xFF, buffer.length)
