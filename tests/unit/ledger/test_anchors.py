from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kernellab.core.errors import EnvironmentFault, LedgerFault
from kernellab.core.ids import sha256_hex
from kernellab.ledger.anchors import add_anchor, default_file, prefix_roots, read_anchors
from kernellab.ledger.check import check
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey


def noon() -> datetime:
    return datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def file(run: Path, key: SigningKey, tmp_path: Path) -> Path:
    """Three anchors: ten entries of a run, eleven of it, and another run's."""
    file = default_file(run)
    add_anchor(file, check(run), noon)
    with Ledger.resume(run, key) as ledger:
        ledger.append("note", {})
    add_anchor(file, check(run), noon)
    with Ledger.create(tmp_path / "other", {"purpose": "test"}, key):
        pass
    add_anchor(file, check(tmp_path / "other"), noon)
    return file


def test_a_line_says_when_which_run_how_long_which_root_and_whose_key(run: Path, key: SigningKey, file: Path) -> None:
    first, second, third = [json.loads(line) for line in file.read_bytes().splitlines()]
    found = check(run)
    assert set(first) == {"time", "run", "size", "root", "key", "previous"}
    assert (first["time"], first["run"], first["size"], first["key"], first["previous"]) == (
        "2026-11-16T12:00:00+00:00", found.run, 10, key.fingerprint, "")  # fmt: skip
    assert (second["size"], second["root"]) == (11, found.root)
    assert second["previous"] == sha256_hex(file.read_bytes().splitlines()[0])
    assert third["run"] != found.run
    assert list(prefix_roots(run))[9:] == [first["root"], second["root"]]


def test_the_same_root_is_anchored_once(run: Path, file: Path) -> None:
    before = file.read_bytes()
    anchor, new = add_anchor(file, check(run))
    assert (anchor.size, anchor.time, new) == (11, "2026-11-16T12:00:00+00:00", False)
    assert file.read_bytes() == before


CHANGES = {
    "a line taken out": lambda lines: [lines[0], lines[2]],
    "the first line taken out": lambda lines: lines[1:],
    "lines in another order": lambda lines: [lines[1], lines[0], lines[2]],
    "a root changed": lambda lines: [lines[0].replace(b'"root":"', b'"root":"0'), *lines[1:]],
    "a line put in": lambda lines: [lines[0], lines[0], *lines[1:]],
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_chain_is_told_and_not_gone_on_with(what: str, run: Path, file: Path) -> None:
    lines = CHANGES[what](file.read_bytes().splitlines(keepends=True))
    file.write_bytes(b"".join(lines))
    _, problems = read_anchors(file.read_bytes(), "anchors.jsonl")
    assert any("does not follow from the line before it: one was changed, taken out or put in" in p for p in problems)
    with pytest.raises(LedgerFault, match="does not follow"):
        add_anchor(file, check(run))


@pytest.mark.parametrize("text", ["nonsense\n", "{}\n", '{"time":1}\n', "\n"])
def test_a_line_that_is_no_anchor_is_named(text: str, file: Path) -> None:
    with file.open("a") as out:
        out.write(text)
    found, problems = read_anchors(file.read_bytes(), "anchors.jsonl")
    assert len(found) == 3
    assert [p.partition(":")[0] for p in problems] == ["anchors.jsonl line 4 is not an anchor"]


def test_a_file_that_was_cut_short_is_named(file: Path) -> None:
    _, problems = read_anchors(file.read_bytes()[:-1], "anchors.jsonl")
    assert problems == ["anchors.jsonl is cut short: its last line has no end"]


def test_a_place_that_cannot_be_written_is_a_fault(run: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(EnvironmentFault, match="is a file, not a folder"):
        add_anchor(tmp_path / "taken" / "anchors.jsonl", check(run))


def test_an_anchor_is_on_the_disk_when_it_is_told(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, synced = tmp_path / "anchors", []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.pread(fd, 1 << 16, 0)))
    add_anchor(file, check(run), noon)
    assert synced == [file.read_bytes()]
