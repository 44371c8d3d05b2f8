"""The worker's loop, inside the run sandbox: map the buffers, load the machine code, replay plans when told to.

Nothing here is trusted by the laboratory: the candidate's machine code shares this process and may overwrite it. All it
can gain is outputs, and those are judged elsewhere.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
from typing import Any, NamedTuple

from kernellab.sandbox import libc

_READ, _WRITE = 1, 2
_SHARED, _PRIVATE, _FIXED, _ANONYMOUS, _NORESERVE, _POPULATE = 0x01, 0x02, 0x10, 0x20, 0x4000, 0x8000
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main(fds: list[int]) -> int:
    """Sandbox entry: set-up, commands, replies, inputs (read-only), outputs, machine code (already laid out as files)."""
    setup_fd, commands, replies, inputs, outputs, _ = fds
    setup = json.loads(os.pread(setup_fd, os.fstat(setup_fd).st_size, 0))
    os.environ["OMP_NUM_THREADS"] = str(setup["threads"])
    sources = {"in": (inputs, _READ), "out": (outputs, _READ | _WRITE)}
    buffers = [_map(*sources[kind], *wire) for kind, wire in setup["buffers"]]
    addresses = [b.data for b in buffers]
    libraries = _load(setup["libraries"])
    calls = [_bind(libraries, call, setup["plans"], addresses) for call in setup["calls"]]
    calls += [[(_touch, (buffers[b],)) for b in call["buffers"]] for call in setup["calls"]]
    os.write(replies, b"loaded!!")
    serve(commands, replies, calls)
    return 0


def serve(commands: int, replies: int, calls: list[Any]) -> None:
    """Each command is an 8-byte token and the numbers of calls to run; the reply is the token.

    The second half of `calls` brings the pages of the first half's buffers in, before a call is clocked.
    """
    while data := os.read(commands, 1 << 16):
        for number in struct.unpack_from(f"<{(len(data) - 8) // 4}I", data, 8):
            for function, arguments in calls[number]:
                function(*arguments)
        os.write(replies, data[:8])


class _Buffer(NamedTuple):
    base: int
    length: int
    data: int
    protection: int


def _map(fd: int, protection: int, start: int, length: int, data: int) -> _Buffer:
    """Map a region with a page on either side that faults."""
    hole = libc.mmap(0, length + 2 * _PAGE, 0, _PRIVATE | _ANONYMOUS | _NORESERVE, -1, 0)
    base = libc.mmap(hole + _PAGE, length, protection, _SHARED | _FIXED, fd, start)
    return _Buffer(base, length, base + data, protection)


def _touch(buffer: _Buffer) -> None:
    """Make every page present, so that no first touch is clocked."""
    libc.populate(buffer.base, buffer.length, bool(buffer.protection & _WRITE))


def _scratch(nbytes: int) -> int:
    rounded = -(-nbytes // 64) * 64
    length = -(-rounded // _PAGE) * _PAGE
    hole = libc.mmap(0, length + 2 * _PAGE, 0, _PRIVATE | _ANONYMOUS | _NORESERVE, -1, 0)
    base = libc.mmap(hole + _PAGE, length, _READ | _WRITE, _PRIVATE | _ANONYMOUS | _FIXED | _POPULATE, -1, 0)
    ctypes.memset(base, 0xFF, length)
    return base + length - rounded


def _load(names: list[str]) -> list[ctypes.CDLL]:
    """The machine code of every shape, each distinct one once; none sees another's symbols."""
    return [ctypes.CDLL(os.path.abspath(name), mode=os.RTLD_NOW | os.RTLD_LOCAL) for name in names]


def _bind(
    libraries: list[ctypes.CDLL], call: dict[str, Any], plans: list[Any], addresses: list[int]
) -> list[tuple[Any, Any]]:
    """Turn a plan and its buffers into ready-made foreign calls, of the library that the plan names."""
    plan = plans[call["plan"]]
    if "_scratch" not in plan:
        plan["_scratch"] = [_scratch(n) for n in plan["scratch"]]
    steps = []
    for step in plan["steps"]:
        pointers, integers, floats = [], [], []
        for kind, value in step["args"]:
            if kind == "buffer":
                pointers.append(addresses[call["buffers"][value]])
            elif kind == "scratch":
                pointers.append(plan["_scratch"][value])
            elif kind == "int":
                integers.append(value)
            else:
                floats.append(value)
        function = getattr(libraries[plan["library"]], step["stub"])
        function.restype = None
        arguments = (
            (ctypes.c_void_p * max(1, len(pointers)))(*pointers),
            (ctypes.c_longlong * max(1, len(integers)))(*integers),
            (ctypes.c_double * max(1, len(floats)))(*floats),
            (ctypes.c_long * 3)(*step["grid"]),
        )
        steps.append((function, arguments))
    return steps
