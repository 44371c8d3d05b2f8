"""The confined process that forks a child for every sample. Its own code is the laboratory's; it never loads a candidate.

A child is a copy of this process, so whatever this process keeps, a candidate could read: it keeps no count, no number
of an earlier child, nothing that differs from one fork to the next. With a pid namespace of its own each child is
process 1 of an empty world, and has a number here that the laboratory drew.
Covered: a child inherits nothing of the children before it. Not covered: without namespaces (tier T2) process numbers
are the machine's own, and tell roughly how many processes were started meanwhile.
"""

from __future__ import annotations

import array
import ctypes
import json
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

from kernellab.run.child import live
from kernellab.sandbox import libc, seccomp
from kernellab.sandbox.syscalls import AUDIT_ARCH, machine, number

FORK, REAP, TELL = b"fork", b"reap", b"tell"
_SIGCHLD = 17
# With the interpreter's lock held throughout: the copy must not find it taken by a thread that it does not have.
_syscall = ctypes.PyDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long


def main(fds: list[int]) -> int:
    """Sandbox entry: set-up, control, inputs (read-only), outputs, machine code (already in the current folder)."""
    setup_fd, control_fd, inputs, outputs, *_ = fds
    setup: dict[str, Any] = json.loads(os.pread(setup_fd, os.fstat(setup_fd).st_size, 0))
    os.environ["OMP_NUM_THREADS"] = str(setup["threads"])
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, control_fd)
    confined = libc.prctl(libc.PR_GET_SECCOMP) == 2 and machine() in AUDIT_ARCH
    program = _filter(setup["threads"] > 1, setup["namespaced"]) if confined else bytes
    while True:
        data, ancillary, _, _ = control.recvmsg(8, socket.CMSG_SPACE(8))
        if data in (REAP, TELL):
            status = os.waitpid(-1, 0)[1]
            if data == TELL:
                control.send(struct.pack("<i", status))
        elif data.startswith(FORK):
            channel, log = array.array("i", ancillary[0][2][:8])
            if _fork(setup["namespaced"], *struct.unpack_from("<i", data, len(FORK))) == 0:
                live(setup, program, (channel, log), inputs, outputs)
            os.close(channel)
            os.close(log)
        else:
            return 0


def _filter(threads: bool, namespaced: bool) -> Callable[[], bytes]:
    """Names the process it is for: made beforehand where all have the same number, else by each child."""
    made = seccomp.run_filter(threads)
    return (lambda: made) if namespaced else (lambda: seccomp.run_filter(threads))


def _fork(namespaced: bool, wanted: int) -> int:
    """Like fork(2), into a pid namespace of its own where that is possible; the child takes the `wanted` number here.

    Nothing of libc or Python is told: in its namespace the child has the very number that its parent has in its own.
    """
    flags = libc.CLONE_NEWPID if namespaced else 0
    ids = (ctypes.c_int * 2)(1, wanted)
    chosen = (ctypes.addressof(ids), 2) if namespaced else (0, 0)
    request = struct.pack("=11Q", flags, 0, 0, 0, _SIGCHLD, 0, 0, 0, *chosen, 0)
    pid = int(_syscall(ctypes.c_long(number("clone3")), request, ctypes.c_long(len(request))))
    if pid < 0:  # an older kernel, or a container that knows clone only
        pid = int(_syscall(ctypes.c_long(number("clone")), ctypes.c_long(flags | _SIGCHLD), *[ctypes.c_long(0)] * 4))
    if pid < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"fork: {os.strerror(code)}")
    return pid
