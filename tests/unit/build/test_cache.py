from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.build.cache import CodeCache, default_folder

KEY = "ab" * 32


def test_what_was_put_is_got(tmp_path: Path) -> None:
    cache = CodeCache(tmp_path)
    assert cache.get(KEY) is None
    cache.put(KEY, b"machine code")
    assert cache.get(KEY) == b"machine code"
    assert CodeCache(tmp_path).get(KEY) == b"machine code"
    assert cache.get("cd" * 32) is None


def test_a_later_entry_replaces_the_earlier(tmp_path: Path) -> None:
    cache = CodeCache(tmp_path)
    cache.put(KEY, b"old")
    cache.put(KEY, b"new")
    assert cache.get(KEY) == b"new"
    assert [p.name for p in (tmp_path / KEY[:2]).iterdir()] == [KEY]


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d + b"x", lambda d: d[:70] + b"?" + d[71:], lambda d: b"", lambda d: d[:64]]
)
def test_a_damaged_entry_counts_as_absent_and_can_be_written_again(damage, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    cache = CodeCache(tmp_path)
    cache.put(KEY, b"machine code")
    path = tmp_path / KEY[:2] / KEY
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, b"machine code")
    assert cache.get(KEY) == b"machine code"


def test_without_a_folder_nothing_is_kept() -> None:
    cache = CodeCache(None)
    cache.put(KEY, b"x")
    assert cache.get(KEY) is None


def test_a_folder_that_cannot_be_made_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = CodeCache(tmp_path / "file" / "below")
    cache.put(KEY, b"x")
    assert cache.get(KEY) is None


def test_the_default_folder_follows_the_cache_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "kernellab" / "code"
