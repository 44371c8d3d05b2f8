"""Files appear whole or not at all; a fault names the file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kernellab.core.errors import EnvironmentFault
from kernellab.core.files import file_in_the_way, read_plain, write_file


def test_replaces_a_file_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("old")
    path.chmod(0o640)
    write_file(path, "new \u00b5")
    assert path.read_text() == "new \u00b5"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["page.md"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "page.md"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentFault) as fault:
        write_file(path, "new")
    assert fault.value.what == f"cannot write {path}: No space left on device"
    assert fault.value.fix.startswith("free space")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.md"]


def test_a_file_among_the_folders_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match=f"{tmp_path / 'file'} is a file, not a folder"):
        write_file(tmp_path / "file" / "page.md", "new")
    assert file_in_the_way(tmp_path / "file" / "a" / "b") == tmp_path / "file"
    assert file_in_the_way(tmp_path / "a" / "b") is None


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)


def test_what_others_hand_over_is_read_where_it_is_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"words")
    (tmp_path / "link").symlink_to("plain")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    assert read_plain(tmp_path / "plain") == read_plain(tmp_path / "link") == b"words"
    for name in ("pipe", "device"):
        with pytest.raises(OSError, match="not a plain file"):
            read_plain(tmp_path / name)
