"""The laboratory's own C code."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from kernellab.build.cache import CodeCache
from kernellab.build.own import own_object
from kernellab.core.errors import EnvironmentFault

pytestmark = pytest.mark.backend_c


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_a_file_is_compiled_once_and_kept_by_what_it_says(kept: Path, tmp_path: Path) -> None:
    source = tmp_path / "six.c"
    source.write_text('__attribute__((visibility("default"))) int six(void) { return 6; }\n')
    made = own_object(source)
    (tmp_path / "six.so").write_bytes(made)
    assert ctypes.CDLL(str(tmp_path / "six.so")).six() == 6
    (entry,) = (p for p in kept.rglob("*") if p.is_file() and len(p.name) == 64)
    cache = CodeCache(kept / "kernellab" / "code")
    assert cache.get(entry.name) == made
    own_object.cache_clear()
    cache.put(entry.name, b"what is kept")
    assert own_object(source) == b"what is kept"
    own_object.cache_clear()
    entry.write_bytes(b"damaged")
    assert own_object(source) == made


def test_what_a_compiler_refuses_is_the_machines_fault_in_words(kept: Path, tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int six(void) { return }\n")
    with pytest.raises(EnvironmentFault, match=r"(?s)does not compile wrong.c of the laboratory's own.*error"):
        own_object(source)
