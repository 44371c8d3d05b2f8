"""Shared memory between the laboratory and its workers: buffers with guard bands, between pages nobody may touch.

Every other buffer ends (rounded up to 64 bytes) at a page border and the next page is left unmapped in the worker, so
reading or writing past the end faults; the others end some lines before it, so that none is known to begin at a page or at
anything else but a line. The bytes between the data and the borders carry a secret pattern that is checked.
Inputs and outputs lie in separate memory files: the worker gets the inputs on a descriptor that cannot be written.
"""

from __future__ import annotations

import fcntl
import hashlib
import math
import mmap
import os
from collections import Counter
from collections.abc import Sequence

import numpy as np

from kernellab.core.errors import EnvironmentFault
from kernellab.run.base import Region
from kernellab.tasks.spec import Array

PAGE = mmap.PAGESIZE
ALIGN = 64
_BAND = PAGE + ALIGN  # longer than any band before the data, or behind it
_ADD_SEALS, _SEAL_SHRINK_GROW = 1033, 1 | 2 | 4


class Arena:
    """A memory file of regions. Declare all regions, then `open()`; the mapping lives until `close()`."""

    def __init__(self, name: str, seed: bytes) -> None:
        self._name = name
        self._end = 0
        self._seed = seed
        self._alike: Counter[tuple[tuple[int, ...], str]] = Counter()
        self._pattern = np.frombuffer(seed * (_BAND // len(seed) + 1), np.uint8)[:_BAND].copy()
        self._map: mmap.mmap | None = None
        self.fd = -1
        self.regions: list[Region] = []

    def declare(self, shape: tuple[int, ...], dtype: str) -> Region:
        count = math.prod(shape)
        nbytes = count * np.dtype(dtype).itemsize
        rounded = -(-nbytes // ALIGN) * ALIGN
        behind = self._behind(shape, dtype)
        length = -(-(ALIGN + rounded + behind) // PAGE) * PAGE  # at least one line of guard before the data
        region = Region(self._end, length, self._end + length - behind - rounded, shape, dtype, count, nbytes)
        self._end += length
        self.regions.append(region)
        return region

    def _behind(self, shape: tuple[int, ...], dtype: str) -> int:
        """Bytes of whole lines between the data and the border: none for one of two buffers that are alike, some for the
        other. From the seed, which nobody can foresee and both sides of a comparison share: they are laid out alike."""
        pair, second = divmod(self._alike[shape, dtype], 2)
        self._alike[shape, dtype] += 1
        drawn = hashlib.sha256(self._seed + repr((shape, dtype, pair)).encode()).digest()
        lines = 1 + int.from_bytes(drawn[1:5], "little") % (PAGE // ALIGN - 1)
        return ALIGN * lines if drawn[0] % 2 == second else 0

    def open(self) -> None:
        self.fd = os.memfd_create(self._name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, max(self._end, PAGE))
            fcntl.fcntl(self.fd, _ADD_SEALS, _SEAL_SHRINK_GROW)  # a truncated mapping would fault on our side
            self._map = mmap.mmap(self.fd, max(self._end, PAGE))
        except OSError as err:
            raise EnvironmentFault(f"cannot set up {self._end / 1e9:.2f} GB of shared buffers: {err.strerror}",
                                   "choose a smaller shape with --shape") from None  # fmt: skip
        for region in self.regions:
            self.rearm(region)

    def rearm(self, region: Region) -> None:
        """Write the guard bands (again): what one candidate destroyed must not be held against the next."""
        before, after = self._bands(region)
        before[:] = self._pattern[: before.size]
        after[:] = self._pattern[: after.size]

    def array(self, region: Region) -> Array:
        """The laboratory's own view of a buffer."""
        return np.frombuffer(self._memory(), region.dtype, region.count, region.data).reshape(region.shape)

    def write(self, region: Region, values: Array) -> None:
        np.copyto(self.array(region), values)

    def read(self, region: Region) -> Array:
        return self.array(region)

    def fill(self, region: Region, pattern: int) -> None:
        self.rearm(region)
        self.array(region).view(f"u{np.dtype(region.dtype).itemsize}").fill(pattern)

    def intact(self, region: Region) -> str:
        """Which guard band was overwritten, or ''."""
        before, after = self._bands(region)
        if not np.array_equal(before, self._pattern[: before.size]):
            return "before"
        return "" if np.array_equal(after, self._pattern[: after.size]) else "behind"

    def fill_all(self, regions: Sequence[Region], patterns: Sequence[int]) -> None:
        for region, pattern in zip(regions, patterns, strict=True):
            self.fill(region, pattern)

    def take_all(self, regions: Sequence[Region], copied: bool = True) -> list[tuple[Array, str]]:
        arrays = [self.array(region) for region in regions]
        return [(a.copy() if copied else a, self.intact(r)) for a, r in zip(arrays, regions, strict=True)]

    def reader(self) -> int:
        """A new descriptor on the same memory that cannot write; the caller closes it."""
        return os.open(f"/proc/self/fd/{self.fd}", os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        self._map = None  # views may still be alive; the mapping goes with the last of them

    def _memory(self) -> mmap.mmap:
        assert self._map is not None, "the arena is not open"
        return self._map

    def _bands(self, region: Region) -> tuple[Array, Array]:
        memory, end = self._memory(), region.data + region.nbytes
        before = np.frombuffer(memory, np.uint8, region.data - region.start, region.start)
        return before, np.frombuffer(memory, np.uint8, region.start + region.length - end, end)
