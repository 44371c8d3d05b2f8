from __future__ import annotations

import mmap
import os
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.run.arena import ALIGN, PAGE, Arena
from kernellab.run.base import Region

SEED = bytes(range(1, 17))


@pytest.fixture
def arena() -> Iterator[Arena]:
    made = Arena("test", SEED)
    for shape, dtype in (((3,), "float32"), ((64, 64), "float64"), ((5, 7), "uint8"), ((1024,), "float32")):
        made.declare(shape, dtype)
    made.open()
    yield made
    made.close()


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 40), min_size=1, max_size=3), st.sampled_from(["float32", "float64", "uint8"])
        ),
        min_size=1,
        max_size=5,
    )
)
def test_regions_are_aligned_disjoint_and_end_near_a_page_border(buffers: list[tuple[list[int], str]]) -> None:
    arena, end = Arena("test", SEED), 0
    for shape, dtype in buffers:
        region = arena.declare(tuple(shape), dtype)
        assert region.start == end
        assert region.start % PAGE == region.length % PAGE == region.data % ALIGN == 0
        assert region.data - region.start >= ALIGN
        assert 0 <= region.start + region.length - (region.data + region.nbytes) < PAGE
        assert region.wire() == [region.start, region.length, region.data - region.start, region.nbytes]
        end = region.start + region.length


def test_arrays_have_the_declared_shape_and_dtype_and_are_one_memory(arena: Arena) -> None:
    region = arena.regions[1]
    arena.array(region)[...] = 1.5
    again = arena.array(region)
    assert (again.shape, again.dtype, again.min()) == ((64, 64), np.float64, 1.5)


def test_fresh_guards_are_intact_and_stay_so_when_the_data_is_written(arena: Arena) -> None:
    for region in arena.regions:
        arena.array(region).view(np.uint8).fill(0xAA)
    assert [arena.intact(r) for r in arena.regions] == [""] * 4


def test_what_is_written_is_read_and_writing_broadcasts_and_converts(arena: Arena) -> None:
    values = np.arange(64 * 64, dtype=np.float64).reshape(64, 64)
    arena.write(arena.regions[1], values)
    arena.write(arena.regions[0], np.float32(2.5))
    assert np.array_equal(arena.read(arena.regions[1]), values)
    assert arena.read(arena.regions[0]).tolist() == [2.5] * 3
    assert [arena.intact(r) for r in arena.regions] == [""] * 4


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_filling_gives_every_element_the_bits_and_renews_the_guards(number: int, arena: Arena) -> None:
    region = arena.regions[number]
    os.pwrite(arena.fd, bytes([os.pread(arena.fd, 1, region.data - 1)[0] ^ 1]), region.data - 1)
    assert arena.intact(region) == "before"
    width = np.dtype(region.dtype).itemsize
    pattern = 0xFEDCBA9876543210 % (1 << (8 * width))
    arena.fill(region, pattern)
    assert (arena.read(region).view(f"u{width}") == pattern).all()
    assert [arena.intact(r) for r in arena.regions] == [""] * 4


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_one_byte_before_the_data_is_found(number: int, arena: Arena) -> None:
    region = arena.regions[number]
    for place in (region.data - 1, region.start):
        old = os.pread(arena.fd, 1, place)
        os.pwrite(arena.fd, bytes([old[0] ^ 1]), place)
        assert arena.intact(region) == "before"
        os.pwrite(arena.fd, old, place)
        assert arena.intact(region) == ""


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_one_byte_behind_the_data_is_found(number: int, arena: Arena) -> None:
    region = arena.regions[number]
    end = region.start + region.length
    for place in {min(region.data + region.nbytes, end - 1), end - 1} if behind(region) else ():
        old = os.pread(arena.fd, 1, place)
        os.pwrite(arena.fd, bytes([old[0] ^ 0x80]), place)
        assert arena.intact(region) == "behind"
        os.pwrite(arena.fd, old, place)


def behind(region: Region) -> int:
    return region.start + region.length - (region.data + region.nbytes)


@pytest.mark.parametrize("shape", [(1024,), (5, 7)])
def test_of_two_buffers_that_are_alike_one_ends_at_the_page_border_and_the_other_lines_before(
    shape: tuple[int, ...],
) -> None:
    arena = Arena("test", SEED)
    bands = [behind(arena.declare(shape, "float32")) for _ in range(64)]
    rest = -4 * int(np.prod(shape)) % ALIGN
    pairs = list(zip(bands[::2], bands[1::2], strict=True))
    assert all(min(pair) == rest < max(pair) < PAGE for pair in pairs)
    assert {band % ALIGN for band in bands} == {rest}
    assert len(set(bands)) > 16
    assert {pair[0] == rest for pair in pairs} == {True, False}, "which of the two, nobody knows"


def test_buffers_of_whole_pages_are_aligned_to_lines_and_not_to_more() -> None:
    arena = Arena("test", SEED)
    begins = [arena.declare((1024,), "float32").data % PAGE for _ in range(64)]
    assert begins.count(0) == 32
    assert {begin % (2 * ALIGN) for begin in begins} == {0, ALIGN}


def test_arenas_of_one_seed_are_laid_out_alike_and_those_of_another_are_not() -> None:
    first, same, other = (Arena("test", seed) for seed in (SEED, SEED, SEED[::-1]))
    for arena in (first, same, other):
        for _ in range(16):
            arena.declare((1024,), "float32")
    assert first.regions == same.regions
    assert [r.data - r.start for r in first.regions] != [r.data - r.start for r in other.regions]


def test_the_size_is_sealed(arena: Arena) -> None:
    size = os.fstat(arena.fd).st_size
    for other in (0, size - PAGE, size + PAGE):
        with pytest.raises(PermissionError):
            os.ftruncate(arena.fd, other)
    assert os.fstat(arena.fd).st_size == size


def test_the_seals_cannot_be_changed(arena: Arena) -> None:
    import fcntl

    with pytest.raises(PermissionError):
        fcntl.fcntl(arena.fd, 1033, 8)


def test_a_reader_sees_the_data_and_cannot_write_or_map_for_writing(arena: Arena) -> None:
    region = arena.regions[0]
    arena.array(region)[...] = [1, 2, 3]
    reader = arena.reader()
    try:
        assert np.frombuffer(os.pread(reader, 12, region.data), np.float32).tolist() == [1, 2, 3]
        with pytest.raises(OSError):
            os.pwrite(reader, b"x", region.data)
        with pytest.raises(PermissionError):
            mmap.mmap(reader, PAGE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    finally:
        os.close(reader)


def test_guard_patterns_differ_between_seeds() -> None:
    bands = []
    for seed in (b"a" * 16, b"b" * 16):
        arena = Arena("test", seed)
        region = arena.declare((1,), "float32")
        arena.open()
        bands.append(os.pread(arena.fd, 64, region.data - 64))
        arena.close()
    assert bands[0] != bands[1]


def test_closing_twice_is_harmless_and_views_outlive_it(arena: Arena) -> None:
    view = arena.array(arena.regions[0])
    view[...] = 7
    arena.close()
    arena.close()
    assert view.tolist() == [7, 7, 7]


def test_what_is_taken_is_a_copy_unless_it_is_looked_at_at_once(arena: Arena) -> None:
    region = arena.regions[0]
    arena.array(region)[...] = 1.0
    (copy, _), (itself, _) = arena.take_all([region])[0], arena.take_all([region], copied=False)[0]
    arena.array(region)[...] = 2.0
    assert (copy.tolist(), itself.tolist()) == ([1.0] * 3, [2.0] * 3)
