"""Reading an append-only file of lines whose writer may have been killed in the middle of the last one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kernellab.core.files import open_plain
from kernellab.ledger.disk import read_fault
from kernellab.ledger.entry import is_json


class Lines:
    """Iterates the whole lines, without newline. `good` counts their bytes; `torn` holds the tail cut short.

    Only the very last line can be torn: it lacks its newline, or what stands before it is not JSON. A file
    that is not there reads as empty. With `until`, no line that starts at or after that byte is read: a file
    that is still growing gets a fixed end.
    """

    def __init__(self, path: Path, until: int | None = None) -> None:
        self.path = path
        self._until = until
        self.good = 0
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
            for raw in file:
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
