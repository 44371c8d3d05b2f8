"""A candidate's static memory, read from outside while its process is stopped: a call must leave it as it found it.

Covered: the writable segments of the shared object (without what the loader made read-only) and the main thread's copy
of its thread-local memory. Not covered: thread-local memory of further threads, and memory from the heap or from the
kernel: none of it outlives a sample, whose process is used once. A candidate that overwrites the loop around it can
also name other places: then only the end of its process helps, which comes anyway.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernellab.run.base import WorkerFault
from kernellab.sandbox import libc

_LOAD, _TLS, _RELRO = 1, 7, 0x6474E552
_WRITABLE = 2


@dataclass(frozen=True)
class Layout:
    """Writable parts of a shared object as (offset, length) from where it is loaded; bytes of thread-local memory."""

    spans: tuple[tuple[int, int], ...]
    thread: int

    def located(self, base: int, thread: int) -> list[tuple[int, int]]:
        local = [(thread, self.thread)] if thread and self.thread else []
        return [*((base + offset, length) for offset, length in self.spans), *local]


def layout(code: bytes) -> Layout:
    """From the program headers of an ELF file (64 bits)."""
    offset, size, count = (*struct.unpack_from("<Q", code, 32), *struct.unpack_from("<HH", code, 54))
    headers = [struct.unpack_from("<IIQQQQQ", code, offset + size * k) for k in range(count)]
    relro = [(at, at + length) for kind, _, _, at, _, _, length in headers if kind == _RELRO]
    spans: list[tuple[int, int]] = []
    for kind, flags, _, at, _, _, length in headers:
        if kind == _LOAD and flags & _WRITABLE:
            spans += _without((at, at + length), relro)
    return Layout(tuple(spans), sum(header[6] for header in headers if header[0] == _TLS))


def _without(span: tuple[int, int], holes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    start, end = span
    for first, last in sorted(holes):
        if first <= start < last:
            start = min(last, end)
    return [(start, end - start)] if end > start else []


def image(pid: int, spans: Sequence[tuple[int, int]]) -> bytes | None:
    """The contents now; None where this machine does not let us look."""
    if not spans:
        return b""
    try:
        return libc.read_memory(pid, spans)
    except PermissionError:
        return None
    except OSError:
        raise WorkerFault("static-memory", "a call took its static memory away") from None


def compare(before: bytes | None, after: bytes | None) -> None:
    """Raises WorkerFault where a call left something behind."""
    if before is None or after is None or before == after:
        return
    changed = np.flatnonzero(np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8))
    raise WorkerFault(
        "static-memory",
        f"a call left its static memory changed: {changed.size} of {len(after)} bytes differ, from byte {changed[0]} on",
    )
