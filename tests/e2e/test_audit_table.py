"""klab audit-table as its users meet it: what it says, and with which exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import Klab


@pytest.mark.heavy
def test_exit_codes_tell_consistent_partial_unchecked_and_contradictory(klab: Klab, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    for row, code, status in (
        ("1024x1024;f32;1.0;8.4", 0, "consistent"),
        ("1024x1024;bfloat17;1.0;8.4", 4, "unchecked"),
        ("1024x1024;f32;1.0;8400", 5, "contradictions"),
        ("1024x1024;f32;1e400;8.4", 5, "contradictions"),
        ("1024x1024;f32;0;8.4", 5, "contradictions"),
        ("1024x1024;f32;1.0;8.4\n1024x1024;f32;1.0;~8", 6, "partial"),
    ):
        table.write_text(f"shape;dtype;latency (ms);GB/s\n{row}\n")
        done = klab("audit-table", table, "--json")
        assert (done.code, done.json["status"]) == (code, status), row


def test_says_what_was_checked_and_what_not(klab: Klab, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("kernel,shape,dtype,latency (ms),GB/s\na,1024x1024,f32,1.0,8.4\nb,1024x1024,f17,1.0,8.4\n")
    said = klab("audit-table", table).out
    assert "line 3 (b): not checked: GB/s: dtype 'f17' is not known" in said
    assert "not looked at: kernel" in said
    assert "2 rows, 1 checked, 0 contradictions: nothing wrong, but not everything was checked" in said
