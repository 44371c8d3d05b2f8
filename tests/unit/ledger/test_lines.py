from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kernellab.ledger.lines import Lines


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
