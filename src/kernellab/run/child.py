"""One sample's process: map the buffers of its calls, give everything else away, load the machine code, run when told to.

Forked from run/nest.py and never used for a second sample. All that a candidate could use to remember something goes
with it: its static memory, its heap, its stack, libc's state. What outlives it are the outputs of its own calls, which
the laboratory writes anew before anybody sees them again.
Covered: other calls' buffers (never mapped, and no descriptor is left to map them with), logs and channels
of other samples (each has its own), forks and signals (run/../sandbox/seccomp.py).
Not covered: clocks, which tell when a sample runs; what the processor's and the kernel's caches remember.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from kernellab.run.serve import MAX_COMMAND, serve
from kernellab.sandbox import libc, limits, seccomp

BORN, LOADED, FAILED = b"born", b"loaded!!", b"failed: "
SCRUBBED, AS_IT_IS = b"scrubbed", b"as it is"
READ, WRITE = 1, 2
_SHARED, _PRIVATE, _FIXED, _ANONYMOUS, _NORESERVE, _POPULATE = 0x01, 0x02, 0x10, 0x20, 0x4000, 0x8000
_PAGE = os.sysconf("SC_PAGE_SIZE")
LEFTOVERS = 0xFFFF_FFFF
"""The number of a call that fills every output, guards apart, with leftovers."""
_LARGE = (0x7B, 0xFB)
_TLS_MODULE = 9  # dlinfo's RTLD_DI_TLS_MODID
_FAILED_CODE = 70
_dlinfo, _tls_address = ctypes.CDLL(None)["dlinfo"], ctypes.CDLL(None)["__tls_get_addr"]
_tls_address.restype = ctypes.c_size_t


def live(
    setup: dict[str, Any], program: Callable[[], bytes], own: tuple[int, int], inputs: int, outputs: int
) -> NoReturn:
    """The whole life of a child: its calls are named by the first message, the rest are commands. `own`: its channel
    and its log, both made for it alone."""
    channel, log = own
    code = _FAILED_CODE
    try:
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.write(channel, BORN)
        order = os.read(channel, MAX_COMMAND)
        if order:
            calls, places = _load(
                setup, program, order, channel, {"in": (inputs, READ), "out": (outputs, READ | WRITE)}
            )
            os.write(channel, LOADED + struct.pack(f"<{len(places)}Q", *places))
            serve(channel, channel, calls)
        code = 0
    except BaseException as err:  # noqa: BLE001  the process's boundary: the laboratory puts it into words
        os.write(channel, FAILED + f"{type(err).__name__}: {err}".encode()[:2000])
    finally:
        os._exit(code)


def _load(
    setup: dict[str, Any], program: Callable[[], bytes], order: bytes, channel: int, sources: dict[str, tuple[int, int]]
) -> tuple[dict[int, Any], list[int]]:
    """The bound calls, and where the machine code and its thread-local memory lie."""
    numbers = dict.fromkeys(struct.unpack_from(f"<{(len(order) - 8) // 4}I", order, 8))
    wanted = {b: os.urandom(4) for n in numbers for b in setup["calls"][n]["buffers"]}
    buffers = {}
    for number in sorted(wanted, key=wanted.__getitem__):  # so that no buffer's place tells another's
        kind, wire = setup["buffers"][number]
        buffers[number] = map_region(*sources[kind], *wire)
    if order[:8] == SCRUBBED:
        for buffer in buffers.values():
            touch(buffer)
    _give_away(channel, program)
    libraries = [_open(name) for name in setup["libraries"]]
    addresses = {number: buffer.data for number, buffer in buffers.items()}
    calls = {n: _bind(libraries, setup["calls"][n], setup["plans"], addresses) for n in numbers}
    calls[LEFTOVERS] = [(_leave, (buffer,)) for buffer in buffers.values() if buffer.protection & WRITE]
    return calls, [place for library in libraries for place in _places(library)]


def _open(name: str) -> ctypes.CDLL:
    """The machine code of one shape or of several; none sees another's symbols."""
    return ctypes.CDLL(os.path.abspath(name), mode=os.RTLD_NOW | os.RTLD_LOCAL)


def _give_away(channel: int, program: Callable[[], bytes]) -> None:
    """All descriptors but the channel, all capabilities, and the calls that a sample has no use for."""
    os.closerange(3, channel)
    limits.close_descriptors(channel + 1)
    if rules := program():
        limits.drop_capabilities()
        seccomp.install(rules)


def _places(library: ctypes.CDLL) -> list[int]:
    """Where the library was loaded, and this thread's copy of its thread-local memory (0: it has none)."""
    base = ctypes.c_size_t.from_address(library._handle).value  # a handle is a link_map, which starts with it
    module = ctypes.c_size_t()
    if _dlinfo(ctypes.c_void_p(library._handle), _TLS_MODULE, ctypes.byref(module)) or not module.value:
        return [base, 0]
    return [base, _tls_address((ctypes.c_size_t * 2)(module.value, 0))]


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


def _leave(buffer: Mapped) -> None:
    """What a used output may hold before a call: large numbers of either sign, in every floating-point format."""
    ctypes.memset(buffer.data, _LARGE[os.urandom(1)[0] % 2], buffer.nbytes)


def _scratch(nbytes: int) -> int:
    rounded = -(-nbytes // 64) * 64
    length = -(-rounded // _PAGE) * _PAGE
    hole = libc.mmap(0, length + 2 * _PAGE, 0, _PRIVATE | _ANONYMOUS | _NORESERVE, -1, 0)
    base = libc.mmap(hole + _PAGE, length, READ | WRITE, _PRIVATE | _ANONYMOUS | _FIXED | _POPULATE, -1, 0)
    ctypes.memset(base, 0xFF, length)
    return base + length - rounded


def _bind(
    libraries: list[ctypes.CDLL], call: dict[str, Any], plans: list[Any], addresses: Mapping[int, int]
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
