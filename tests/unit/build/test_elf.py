from __future__ import annotations

import contextlib
import struct
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernellab.build.compiler import Compiler
from kernellab.build.elf import Sections, sections


@pytest.fixture(scope="module")
def compile_c(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("elf")

    def compiled(text: str) -> bytes:
        (folder / "a.c").write_text(text)
        command = [*compiler.command, "-O1", "-shared", "-fPIC", "a.c", "-o", "a.so"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return (folder / "a.so").read_bytes()

    return compiled


@pytest.fixture(scope="module")
def plain(compile_c) -> Sections:  # type: ignore[no-untyped-def]
    return sections(compile_c("int f(int x) { return x; }"))


@pytest.mark.parametrize(
    "declaration",
    [
        "static char keep[100000]; char *f(long i) { return keep + i; }",
        "char keep[100000]; char *f(long i) { return keep + i; }",
        "static char keep[100000] = {1}; char *f(long i) { return keep + i; }",
        "static __thread char keep[100000]; char *f(long i) { return keep + i; }",
        "static __thread char keep[100000] = {1}; char *f(long i) { return keep + i; }",
        '__attribute__((section(".text_of_mine"))) char keep[100000] = {1}; char *f(long i) { return keep + i; }',
        '__attribute__((section(".rodata_mine"))) char keep[100000] = {1}; char *f(long i) { return keep + i; }',
    ],
)
def test_writable_memory_is_counted_by_flag_whatever_the_sections_name(
    declaration: str, compile_c, plain: Sections
) -> None:  # type: ignore[no-untyped-def]
    found = sections(compile_c(declaration)).static_bytes - plain.static_bytes
    assert 100_000 <= found < 101_000


def test_constants_are_not_static_memory(compile_c, plain: Sections) -> None:  # type: ignore[no-untyped-def]
    parts = sections(compile_c("static const char t[100000] = {1, 2}; char f(long i) { return t[i]; }"))
    assert parts.static_bytes == plain.static_bytes
    assert parts.constant_bytes - plain.constant_bytes >= 100_000


def test_code_is_counted(plain: Sections) -> None:
    assert 0 < plain.code_bytes < 10_000
    assert plain.static_bytes < 4096


@pytest.mark.parametrize(
    "image",
    [
        b"",
        b"\x7fELF",
        b"MZ" + bytes(100),
        bytes(4096),
        b"\x7fELF\x01\x01" + bytes(100),
        b"\x7fELF\x02\x02" + bytes(100),
    ],
)
def test_what_is_no_elf_file_is_refused(image: bytes) -> None:
    with pytest.raises(ValueError, match="not a readable ELF file"):
        sections(image)


def test_a_truncated_file_is_refused(compile_c) -> None:  # type: ignore[no-untyped-def]
    image = compile_c("int f(int x) { return x; }")
    for size in (0x30, 0x40, len(image) // 2, len(image) - 64):
        with pytest.raises(ValueError, match="not a readable ELF file"):
            sections(image[:size])


def test_a_file_without_section_headers_is_refused(compile_c) -> None:  # type: ignore[no-untyped-def]
    image = bytearray(compile_c("int f(int x) { return x; }"))
    struct.pack_into("<H", image, 0x3C, 0)
    with pytest.raises(ValueError, match="not a readable ELF file"):
        sections(bytes(image))


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=64, max_size=512), st.integers(0, 400))
def test_garbage_behind_a_right_start_is_refused_or_read_but_never_crashes(tail: bytes, table: int) -> None:
    image = bytearray(b"\x7fELF\x02\x01" + tail)
    struct.pack_into("<Q", image, 0x28, table)
    with contextlib.suppress(ValueError):
        assert sections(bytes(image)).static_bytes >= 0


def test_a_table_beyond_all_files_is_refused() -> None:
    image = bytearray(b"\x7fELF\x02\x01" + bytes(100))
    struct.pack_into("<Q", image, 0x28, (1 << 64) - 1)
    struct.pack_into("<HHH", image, 0x3A, 64, 1, 0)
    with pytest.raises(ValueError):
        sections(bytes(image))
