"""What the laboratory and a sample's process say to each other, and the table that tells the process its buffers and calls.

run/nest.c, loaded here, does the rest: it forks a child for every sample. Its own code is the laboratory's; it never loads a
candidate, and no Python runs in a child.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.sandbox import libc, seccomp
from kernellab.sandbox.syscalls import AUDIT_ARCH, machine, number

FORK, REAP, TELL = b"fork", b"reap", b"tell"
BORN, LOADED, FAILED = b"born", b"loaded!!", b"failed: "
SCRUBBED, AS_IT_IS = b"scrubbed", b"as it is"
LEFTOVERS = 0xFFFF_FFFF
"""The number of a call that fills every output, guards apart, and all scratch with leftovers."""
OBJECT = "nest/nest.so"
"""In a folder of its own: what lies beside a candidate is the candidate's."""
_HEAD = "<7q"
_NUMBERS = ("clone", "clone3", "capset", "close_range")
_WHO = 0x5EED_1DE5
"""Stands in a child's filter for its own number, which it has when it is born."""


@dataclass(frozen=True)
class Step:
    """One foreign call. `pointers`: (1, scratch buffer) or (0, the call's own buffer); `floats` as bits."""

    stub: str
    pointers: Sequence[tuple[int, int]]
    integers: Sequence[int]
    floats: Sequence[int]
    grid: Sequence[int]


@dataclass(frozen=True)
class Placed:
    """A buffer: where it lies, as Region.wire() says, and what its elements are. `exponent`: bits; of integers none."""

    written: bool
    width: int
    exponent: int
    wire: Sequence[int]


@dataclass(frozen=True)
class Steps:
    """What a plan does, with which library, and with how many bytes of scratch memory in each of its buffers."""

    library: int
    scratch: Sequence[int]
    steps: Sequence[Step]


def table(
    threads: int,
    namespaced: bool,
    libraries: int,
    regions: Sequence[Placed],
    plans: Sequence[Steps],
    calls: Sequence[tuple[int, Sequence[int]]],
) -> bytes:
    """Whole numbers of 64 bits, then the names of stubs."""
    words: list[int] = []
    names = b""
    for region in regions:
        words += [int(region.written), region.width, region.exponent, *region.wire]
    for plan in plans:
        words += [plan.library, len(plan.scratch), *plan.scratch, len(plan.steps)]
        for step in plan.steps:
            words += [len(names), len(step.pointers), *(n for pointer in step.pointers for n in pointer)]
            words += [len(step.integers), *step.integers, len(step.floats), *step.floats, *step.grid]
            names += step.stub.encode() + b"\0"
    for plan_number, buffers in calls:
        words += [plan_number, len(buffers), *buffers]
    counts = (libraries, len(regions), len(plans), len(calls))
    head = struct.pack(_HEAD, threads, namespaced, *counts, len(words) + struct.calcsize(_HEAD) // 8)
    return head + struct.pack(f"<{len(words)}q", *words) + names + b"\0"


def main(fds: list[int]) -> int:
    """Sandbox entry: table, control, inputs (read-only), outputs, machine code (already in the current folder)."""
    table_fd, control, inputs, outputs, *_ = fds
    told = os.pread(table_fd, os.fstat(table_fd).st_size, 0)
    (threads,) = struct.unpack_from("<q", told)
    os.environ["OMP_NUM_THREADS"] = str(threads)
    confined = libc.prctl(libc.PR_GET_SECCOMP) == 2 and machine() in AUDIT_ARCH
    rules = seccomp.run_filter(threads > 1, _WHO) if confined else b""
    program = ctypes.create_string_buffer(rules, len(rules) + 8)
    who = rules.index(struct.pack("=I", _WHO)) if rules else 0
    # The interpreter's lock is held throughout: a copy must not find it taken by a thread that it does not have.
    nest = ctypes.PyDLL(os.path.abspath(OBJECT), mode=os.RTLD_NOW | os.RTLD_LOCAL).nest
    known = (ctypes.c_long * len(_NUMBERS))(*map(number, _NUMBERS))
    kept = ctypes.create_string_buffer(told, len(told))
    return int(nest(kept, known, program, len(rules), ctypes.byref(program, who), control, inputs, outputs))
