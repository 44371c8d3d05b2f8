"""How a GPU's buffers are laid out; the memory itself needs a GPU (tests/gpu)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernellab.run.device_arena import BAND, DeviceArena
from kernellab.tasks.spec import DTYPES

SEED = bytes(range(16))
NOBODY: Any = None  # a keeper is not needed before the arena is opened
BUFFERS = st.lists(
    st.tuples(st.lists(st.integers(1, 300), max_size=3), st.sampled_from(DTYPES)), min_size=1, max_size=8
)


@given(BUFFERS)
def test_regions_lie_between_bands_aligned_and_end_to_end(buffers: list[tuple[list[int], str]]) -> None:
    arena, end = DeviceArena(NOBODY, "test", SEED), 0
    for shape, dtype in buffers:
        region = arena.declare(tuple(shape), dtype)
        assert (region.start, region.shape, region.dtype) == (end, tuple(shape), dtype)
        assert region.count == math.prod(shape)
        assert region.nbytes == region.count * np.dtype(dtype).itemsize
        assert region.data % 256 == 0, "as cudaMalloc would align it"
        assert region.data - region.start == BAND
        assert BAND <= region.start + region.length - (region.data + region.nbytes) < BAND + 256
        end = region.start + region.length
    assert len(arena.regions) == len(buffers)


def test_two_arenas_declared_alike_are_laid_out_alike() -> None:
    """The two sides of a ring are: a call's regions serve for both."""
    first, second = (DeviceArena(NOBODY, name, SEED) for name in ("a", "b"))
    for shape, dtype in (((3, 5), "float32"), ((1,), "uint8"), ((1 << 20,), "bfloat16")):
        assert first.declare(shape, dtype) == second.declare(shape, dtype)


def test_every_arena_has_a_number_that_no_other_ever_had() -> None:
    serials = [DeviceArena(NOBODY, "test", SEED).serial for _ in range(5)]
    assert len(set(serials)) == 5


def test_one_that_was_never_opened_can_be_closed() -> None:
    forgotten: list[int] = []
    arena = DeviceArena(NOBODY, "test", SEED, forgotten.append)
    arena.declare((4,), "float32")
    arena.close()
    arena.close()
    assert forgotten == []
