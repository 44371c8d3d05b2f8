"""Reading an append-only file of lines whose writer may have been killed in the middle of the last one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kernellab.core.errors import LedgerFault
from kernellab.core.files import open_plain
from kernellab.ledger.disk import read_fault
from kernellab.ledger.entry import is_json

MOST_BYTES = 64 << 20
"""Of a line. The longest that the laboratory writes are a thousandth of it; a reader holds two in memory."""


class Lines:
    """Iterates the whole lines, without newline. `good` counts their bytes; `torn` holds the tail cut short.

    Only the very last line can be torn: it lacks its newline, or what stands before it is not JSON. A file
    that is not there reads as empty. With `until`, no line that starts at or after that byte is read: a file
    that is still growing gets a fixed end. With `start`, the place where a line begins, those before it are passed over
    and count as good. A line that is too long to be one is a fault, and is not read to its end.
    """

    def __init__(self, path: Path, until: int | None = None, start: int = 0) -> None:
        self.path = path
        self._until = until
        self._start = start
        self.good = start
        self.torn = b""

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._whole_lines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise read_fault(self.path, error) from error

    def _whole_lines(self) -> Iterator[bytes]:
        held = b""
        with open_plain(self.path) as file:
            file.seek(self._start)
            for raw in iter(lambda: self._next(file), b""):
                if self._until is not None and self.good + len(held) >= self._until:
                    break
                if held:
                    self.good += len(held)
                    yield held[:-1]
                held = raw
        if held.endswith(b"\n") and is_json(held):
            self.good += len(held)
            yield held[:-1]
        else:
            self.torn = held

    def _next(self, file: BinaryIO) -> bytes:
        line = file.readline(MOST_BYTES + 1)
        if len(line) > MOST_BYTES:
            raise LedgerFault(
                f"{self.path} has a line of more than {MOST_BYTES >> 20} MiB, from byte {file.tell() - len(line)} on: "
                "the laboratory writes none such",
                fix="restore the run from a copy",
            )
        return line
