"""The confined process that forks a child for every sample. Its own code is the laboratory's; it never loads a candidate.

A child is a copy of this process, so whatever this process keeps, a candidate could read: it keeps no count, no number
of an earlier child, nothing that differs from one fork to the next. With a pid namespace of its own each child is
process 1 of an empty world, and takes the same number here.
Covered: a child inherits nothing of the children before it. Not covered: without namespaces (tier T2) process numbers
are the machine's own, and tell roughly how many processes were started meanwhile.
"""

from __future__ import annotations

import array
import ctypes
import errno
import json
import os
import socket
import struct
from typing import Any

from kernellab.run.child import live
from kernellab.sandbox import libc
from kernellab.sandbox.syscalls import number

FORK, REAP = b"fork", b"reap"
_SIGCHLD = 17
_NUMBERS = (2, 3, 4)
# With the interpreter's lock held throughout: the copy must not find it taken by a thread that it does not have.
_syscall = ctypes.PyDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long


def main(fds: list[int]) -> int:
    """Sandbox entry: set-up, control, inputs (read-only), outputs, machine code (already in the current folder)."""
    setup_fd, control_fd, inputs, outputs, *_ = fds
    setup: dict[str, Any] = json.loads(os.pread(setup_fd, os.fstat(setup_fd).st_size, 0))
    os.environ["OMP_NUM_THREADS"] = str(setup["threads"])
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, control_fd)
    while True:
        data, ancillary, _, _ = control.recvmsg(8, socket.CMSG_SPACE(4))
        if data == REAP:
            control.send(struct.pack("<i", os.waitpid(-1, 0)[1]))
        elif data == FORK:
            channel = array.array("i", ancillary[0][2])[0]
            if _fork() == 0:
                live(setup, channel, inputs, outputs)
            os.close(channel)
        else:
            return 0


def _fork() -> int:
    """Like fork(2), into a pid namespace of its own where that is possible. Nothing of libc or Python is told: in its
    namespace the child has the very number that its parent has in its own."""
    for flags, ids in (*((libc.CLONE_NEWPID, (1, n)) for n in _NUMBERS), (libc.CLONE_NEWPID, ()), (0, ())):
        wanted = (ctypes.c_int * 2)(*ids)
        pointer = ctypes.addressof(wanted) if ids else 0
        request = ctypes.create_string_buffer(struct.pack("=11Q", flags, 0, 0, 0, _SIGCHLD, 0, 0, 0, pointer,
                                                          len(ids), 0), 88)  # fmt: skip
        pid = int(_syscall(ctypes.c_long(number("clone3")), request, ctypes.c_long(88)))
        if pid >= 0:
            return pid
        if ctypes.get_errno() == errno.ENOSYS:  # some containers refuse clone3 so that libc falls back to clone
            break
    for flags in (libc.CLONE_NEWPID, 0):
        pid = int(_syscall(ctypes.c_long(number("clone")), ctypes.c_long(flags | _SIGCHLD), *[ctypes.c_long(0)] * 4))
        if pid >= 0:
            return pid
    code = ctypes.get_errno()
    raise OSError(code, f"fork: {os.strerror(code)}")
