from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import kernellab
from kernellab.sandbox.namespaces import private_uid, toolchain_trees


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def shows(trees: list[str], path: Path | str) -> bool:
    return any(str(path) == t or str(path).startswith(t + "/") for t in trees)


def test_shows_system_interpreter_and_this_package(home: Path) -> None:
    trees = toolchain_trees()
    for path in ("/usr", sys.prefix, sys.base_prefix, Path(kernellab.__file__).parent):
        assert shows(trees, path)


def test_does_not_show_the_folder_that_python_was_started_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = home / "work"
    work.mkdir()
    monkeypatch.setattr(sys, "path", [str(work), "", *sys.path])
    assert not shows(toolchain_trees(), work)


def test_shows_folders_that_hold_a_wanted_module(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = home / "work"
    work.mkdir()
    (work / "my_jobs.py").touch()
    monkeypatch.setattr(sys, "path", [str(work), *sys.path])
    assert shows(toolchain_trees(modules=["my_jobs"]), work)


def test_never_shows_the_home_folder_or_one_above(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "my_jobs.py").touch()
    monkeypatch.setattr(sys, "path", [str(home), *sys.path])
    trees = toolchain_trees((str(home), str(home.parent)), ["my_jobs"])
    assert not shows(trees, home)


def test_a_checkout_called_kernellab_in_the_current_folder_does_not_show_that_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = home / "work"
    (work / "kernellab" / "src").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(work), *sys.path])
    assert not shows(toolchain_trees(), work)


def test_shows_extra_trees_and_where_they_really_are(home: Path) -> None:
    (home / "real").mkdir()
    (home / "link").symlink_to(home / "real")
    trees = toolchain_trees((str(home / "link"),))
    assert shows(trees, home / "link")
    assert shows(trees, os.path.realpath(home / "real"))


def test_private_uids_are_not_those_of_people() -> None:
    assert all(60_000 < private_uid() < 65_000 for _ in range(100))
