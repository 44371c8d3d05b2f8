from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.core.errors import LedgerFault
from kernellab.ledger.check import check
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.lines import MOST_BYTES, Lines


def read(path: Path, until: int | None = None) -> tuple[list[bytes], int, bytes]:
    lines = Lines(path, until)
    return list(lines), lines.good, lines.torn


def test_a_missing_file_reads_as_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "missing") == ([], 0, b"")


@given(st.integers(0, 24))
def test_wherever_a_write_is_cut_the_whole_lines_before_it_are_read(tmp_path_factory: object, cut: int) -> None:
    path = Path(tmp_path_factory.mktemp("cut")) / "file"  # type: ignore[attr-defined]
    whole = b'{"a":1}\n{"b":2}\n{"c":3}\n'
    path.write_bytes(whole[:cut])
    lines, good, torn = read(path)
    assert lines == [b'{"a":1}', b'{"b":2}', b'{"c":3}'][: cut // 8]
    assert (good, torn) == (cut // 8 * 8, whole[cut // 8 * 8 : cut])


def test_only_the_last_line_can_be_torn(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"{}\ngarbage\n{}\nmore garbage\n")
    assert read(path) == ([b"{}", b"garbage", b"{}"], 14, b"more garbage\n")


def test_a_growing_file_gets_a_fixed_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"{}\n[]\n{}\n")
    assert read(path, until=6) == ([b"{}", b"[]"], 6, b"")
    assert read(path, until=4) == ([b"{}", b"[]"], 6, b"")
    assert read(path, until=0)[0] == []


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_of_two_gigabytes_is_refused_without_reading_it(tmp_path: Path, end: bytes) -> None:
    """The file is sparse: nobody has to write that much either."""
    path = tmp_path / "file"
    path.write_bytes(b"{}\n")
    with path.open("r+b") as file:
        file.seek(2 << 30)
        file.write(b"x" + end)
    tracemalloc.start()
    try:
        with pytest.raises(LedgerFault, match="line of more than 64 MiB, from byte 3 on"):
            list(Lines(path))
        assert tracemalloc.get_traced_memory()[1] < 4 * MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.heavy
def test_a_ledger_with_such_a_line_is_a_fault_and_none_is_written(run: Path, key: SigningKey) -> None:
    with Ledger.resume(run, key) as ledger, pytest.raises(LedgerFault, match="too long to be read again"):
        ledger.append("note", {"text": "x" * MOST_BYTES})
    assert not check(run).problems
    with (run / LEDGER_FILE).open("r+b") as file:
        file.truncate(MOST_BYTES * 2)
    with pytest.raises(LedgerFault, match="64 MiB"):
        check(run)
