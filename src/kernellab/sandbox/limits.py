"""What a confined job may use up, and the last privileges it gives away.

Covered: address space, CPU seconds, file size, open files, processes, core dumps, cores of the machine, descriptors,
capabilities. Not covered: memory bandwidth and caches shared with others; the sum of the memory of a build job's
processes; without a tmpfs quota (tier T2) the sum of many files, which the parent watches instead, and of
files that are open but have no name any more.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from dataclasses import dataclass

from kernellab.sandbox import libc

_CAPSET = {"x86_64": 126, "aarch64": 91}
NEST = 1 << 21  # CAP_SYS_ADMIN within the job's own user namespace: a pid namespace for each of its children


@dataclass(frozen=True)
class Limits:
    """Bytes and seconds. `wall_s` is enforced by the parent, the rest by the kernel. `nice`: gives way to others."""

    wall_s: float = 30.0
    cpu_s: int = 60
    memory: int = 4 << 30
    file_size: int = 64 << 20
    files: int = 64
    processes: int = 64
    scratch: int = 256 << 20
    stack: int = 8 << 20
    nice: int = 0


def apply(limits: Limits, running: int = 0) -> None:
    """`running`: threads that this uid has already and that count against the process limit as well."""

    def cap(what: int, value: int) -> None:
        hard = resource.getrlimit(what)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))

    os.nice(limits.nice)
    cap(resource.RLIMIT_AS, limits.memory)
    cap(resource.RLIMIT_CPU, limits.cpu_s)
    cap(resource.RLIMIT_FSIZE, limits.file_size)
    cap(resource.RLIMIT_NOFILE, limits.files)
    cap(resource.RLIMIT_NPROC, limits.processes + running)
    cap(resource.RLIMIT_STACK, limits.stack)
    for what in (resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        cap(what, 0)


def threads_of(uid: int) -> int:
    """How many threads a user has on this machine."""
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            count += len(os.listdir(f"/proc/{pid}/task")) if os.stat(f"/proc/{pid}").st_uid == uid else 0
        except OSError:
            continue  # it has ended meanwhile
    return count


def drop_bounding_set() -> None:
    """No capability comes with a program: once for all jobs, which inherit it."""
    for capability in range(64):
        try:
            libc.prctl(libc.PR_CAPBSET_DROP, capability)
        except OSError:
            break


def drop_capabilities(keep: int = 0) -> None:
    """Empty every capability set but for `keep`; with no_new_privs nothing brings the rest back."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0), 8)
    data = ctypes.create_string_buffer(struct.pack("=6I", keep, keep, 0, 0, 0, 0), 24)
    libc.syscall("capset", _CAPSET[os.uname().machine], header, data)


def close_descriptors(keep: int) -> None:
    """Descriptors 0 to keep-1 survive."""
    os.closerange(keep, max(1024, min(os.sysconf("SC_OPEN_MAX"), 65536)))
