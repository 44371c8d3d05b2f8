"""The worker's loop, driven over real pipes with Python functions in place of machine code."""

from __future__ import annotations

import os
import struct
from typing import Any

from kernellab.run.serve import serve


def converse(message: bytes, calls: list[list[tuple[Any, Any]]]) -> bytes:
    """One command, then the end of file; returns the reply."""
    command_read, command_write = os.pipe()
    reply_read, reply_write = os.pipe()
    try:
        os.write(command_write, message)
        os.close(command_write)
        serve(command_read, reply_write, calls)
        return os.read(reply_read, 4096)
    finally:
        for fd in (command_read, reply_read, reply_write):
            os.close(fd)


def test_a_command_runs_its_calls_in_order_and_is_answered_by_its_token() -> None:
    done: list[str] = []
    calls: list[list[tuple[Any, Any]]] = [[(done.append, ("a",))], [(done.append, ("b",)), (done.append, ("c",))]]
    message = b"8 bytes!" + struct.pack("<3I", 1, 0, 1)
    assert converse(message, calls) == b"8 bytes!"
    assert done == ["b", "c", "a", "b", "c"]


def test_a_command_without_calls_is_answered_too() -> None:
    assert converse(b"12345678", []) == b"12345678"


def test_the_end_of_commands_ends_the_loop() -> None:
    read, write = os.pipe()
    os.close(write)
    assert serve(read, -1, []) is None
    os.close(read)
