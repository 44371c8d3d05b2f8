"""The few libc and raw system calls that Python does not expose, as functions that raise OSError."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2

PR_SET_DUMPABLE = 4
PR_GET_SECCOMP = 21
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.process_vm_readv.restype = ctypes.c_ssize_t
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(what: str, number: int, *args: object) -> int:
    """A raw system call; integers are widened to 64 bits, byte strings passed as pointers."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    return _check(int(_libc.syscall(ctypes.c_long(number), *wide)), what)


def prctl(option: int, *args: object) -> int:
    wide = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in (*args, 0, 0, 0, 0)[:4]]
    return _check(int(_libc.prctl(ctypes.c_int(option), *wide)), f"prctl({option})")


def unshare(flags: int) -> None:
    _check(int(_libc.unshare(ctypes.c_int(flags))), f"unshare({flags:#x})")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    result = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _check(int(result), f"mount {source} on {target}")


def umount(target: str) -> None:
    _check(int(_libc.umount2(target.encode(), ctypes.c_int(MNT_DETACH))), f"umount {target}")


def mmap(address: int, length: int, protection: int, flags: int, fd: int, offset: int) -> int:
    """mmap(2) with MAP_FIXED and friends; returns the address."""
    result = _libc.mmap(address, length, protection, flags, fd, offset)
    if result is None or result == ctypes.c_void_p(-1).value:
        code = ctypes.get_errno()
        raise OSError(code, f"mmap: {os.strerror(code)}")
    return int(result)


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def read_memory(pid: int, spans: Sequence[tuple[int, int]]) -> bytes:
    """What lies at these (address, length) of another process (process_vm_readv)."""
    total = sum(length for _, length in spans)
    kept = ctypes.create_string_buffer(max(total, 1))
    here = _Span(ctypes.cast(kept, ctypes.c_void_p), total)
    there = (_Span * len(spans))(*(_Span(address, length) for address, length in spans))
    zero = ctypes.c_ulong(0)
    got = _libc.process_vm_readv(pid, ctypes.byref(here), ctypes.c_ulong(1), there, ctypes.c_ulong(len(spans)), zero)
    if _check(int(got), "process_vm_readv") != total:
        raise OSError(errno.EFAULT, "process_vm_readv: part of it is not mapped")
    return kept.raw[:total]


def populate(address: int, length: int, write: bool) -> None:
    """Fault pages in (MADV_POPULATE_READ or _WRITE, Linux 5.14); by hand where the kernel is older."""
    if _libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), 23 if write else 22) == 0:
        return
    for page in range(address, address + length, 4096):
        value = ctypes.c_ubyte.from_address(page)
        if write:
            value.value = value.value
        else:
            _ = value.value
