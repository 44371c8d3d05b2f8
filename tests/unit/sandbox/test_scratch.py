from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernellab.sandbox import scratch


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = scratch.place(os.getuid())
    scratch.make(folder, os.getuid(), os.getgid())
    return Path(folder)


def test_a_new_folder_is_its_owners_alone(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700


def test_counts_what_lies_in_all_folders(folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_bytes(b"x" * 100_000)
    assert scratch.within(str(folder), 120_000)
    assert not scratch.within(str(folder), 100_000)


def test_empty_files_count_too(folder: Path) -> None:
    for number in range(100):
        (folder / str(number)).touch()
    assert not scratch.within(str(folder), 100 * 4000)


def test_does_not_follow_links(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"x" * 1_000_000)
    (folder / "link").symlink_to(outside)
    assert scratch.within(str(folder), 10_000)
    scratch.remove(str(folder))
    assert (outside / "file").exists()


def test_a_folder_too_deep_to_look_at_counts_as_too_much_and_is_removed(folder: Path) -> None:
    before = os.getcwd()
    os.chdir(folder)
    try:
        for _ in range(400):
            os.mkdir("nested-folder")
            os.chdir("nested-folder")
    finally:
        os.chdir(before)
    assert not scratch.within(str(folder), 1 << 40)
    scratch.remove(str(folder))
    assert not folder.exists()


def test_removes_folders_without_rights(folder: Path) -> None:
    (folder / "closed").mkdir()
    (folder / "closed" / "inner").mkdir(mode=0)
    (folder / "closed").chmod(0)
    scratch.remove(str(folder))
    assert not folder.exists()


def test_removing_twice_is_fine(folder: Path) -> None:
    scratch.remove(str(folder))
    scratch.remove(str(folder))
