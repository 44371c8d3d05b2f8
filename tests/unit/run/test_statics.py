from __future__ import annotations

import os
import struct

import pytest

from kernellab.run.base import WorkerFault
from kernellab.run.statics import Layout, compare, image, layout


def elf(*headers: tuple[int, int, int, int]) -> bytes:
    """A file of program headers alone: (kind, flags, address, bytes in memory)."""
    start = bytes(32) + struct.pack("<Q", 64) + bytes(14) + struct.pack("<HH", 56, len(headers)) + bytes(6)
    return start + b"".join(struct.pack("<IIQQQQQQ", kind, flags, 0, at, at, 0, n, 8) for kind, flags, at, n in headers)


def test_writable_segments_count_without_what_the_loader_makes_read_only() -> None:
    relro = 0x6474E552
    code = elf((1, 5, 0, 4096), (1, 6, 8192, 300), (relro, 4, 8192, 100), (7, 4, 8192, 24))
    assert layout(code) == Layout(((8292, 200),), 24)
    assert layout(elf((1, 5, 0, 4096))) == Layout((), 0)
    assert layout(elf((1, 6, 8192, 64), (relro, 4, 8192, 64))) == Layout((), 0)


def test_a_layout_is_located_where_the_code_was_loaded() -> None:
    found = Layout(((64, 8), (128, 16)), 4)
    assert found.located(1000, 5000) == [(1064, 8), (1128, 16), (5000, 4)]
    assert found.located(1000, 0) == [(1064, 8), (1128, 16)]


def test_nothing_static_needs_no_look() -> None:
    assert image(os.getpid(), []) == b""


def test_memory_that_is_not_there_is_a_fault() -> None:
    with pytest.raises(WorkerFault, match="took its static memory away"):
        image(os.getpid(), [(8, 16)])


def test_a_difference_is_told_by_place_and_size() -> None:
    compare(b"same", b"same")
    compare(None, b"could not be read")
    with pytest.raises(WorkerFault, match="2 of 4 bytes differ, from byte 1 on") as caught:
        compare(b"abcd", b"aXcX")
    assert caught.value.cause == "static-memory"
