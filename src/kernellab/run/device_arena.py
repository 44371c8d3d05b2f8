"""GPU memory of the laboratory's own that a runner maps: buffers between guard bands, in one allocation.

The laboratory's process owns the memory and does everything to it that matters (contents, poison, comparison) from a
context of its own; a runner only ever gets a descriptor on it. Beside the allocation no addresses are mapped in the
runner, so a stray access further out faults; nearer ones hit the bands, which carry a secret pattern.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernellab.core.errors import EnvironmentFault
from kernellab.run.base import Region
from kernellab.run.cuda_kernels import THREADS, Kernels, blocks_for
from kernellab.run.driver import Context, DriverFault, call, launch
from kernellab.tasks.spec import Array

BAND = 4096
_ALIGN = 256
_TALLIES = 4096
_AT_ONCE = 16 << 20
_SERIALS = itertools.count(1)


class Keeper:
    """The laboratory's side of a GPU: its context, its kernels, and a block of counters that they add to."""

    def __init__(self, context: Context, kernels: Kernels) -> None:
        self.context = context
        self.kernels = kernels
        self._counters = context.allocate(8 * _TALLIES)
        self._used = 0
        self._forget()

    def run(self, name: str, count: int, *arguments: int) -> None:
        """Launch one of our own kernels over `count` elements."""
        kernel = self.kernels[name]
        block, alive = kernel.pack(arguments)
        launch(kernel, blocks_for(count), [THREADS], block, self.context.stream)
        del alive

    def tally(self, name: str, count: int, *arguments: int) -> int:
        """Launch a counting kernel; returns the number of its counter, for `tallies`."""
        if self._used == _TALLIES:
            raise RuntimeError("too many open tallies")
        number, self._used = self._used, self._used + 1
        self.run(name, count, *arguments, self._counters + 8 * number)
        return number

    def tallies(self) -> list[int]:
        """All counters since the last call, once everything launched has finished."""
        counted = self.context.download(self._counters, (max(self._used, 1),), np.uint64)
        used, self._used = self._used, 0
        self._forget()
        return [int(v) for v in counted[:used]]

    def _forget(self) -> None:
        self.context.fill(self._counters, 0, 4, 2 * _TALLIES)


class DeviceArena:
    """Implements Memory on a GPU; `fd` is what a runner needs to map it."""

    def __init__(self, keeper: Keeper, name: str, seed: bytes, forget: Callable[[int], None] = lambda _: None) -> None:
        self._keeper = keeper
        self._name = name
        self._forget = forget
        self.serial = next(_SERIALS)  # descriptors and addresses come back; this does not
        self._pattern = np.frombuffer(seed * ((BAND + _ALIGN) // len(seed) + 1), np.uint8)[: BAND + _ALIGN].copy()
        self._bands = 0
        self._end = 0
        self._handle: Any = None
        self.address = 0
        self.size = 0
        self.fd = -1
        self.regions: list[Region] = []

    def declare(self, shape: tuple[int, ...], dtype: str) -> Region:
        count = math.prod(shape)
        nbytes = count * np.dtype(dtype).itemsize
        length = BAND + -(-nbytes // _ALIGN) * _ALIGN + BAND
        region = Region(self._end, length, self._end + BAND, shape, dtype, count, nbytes)
        self._end += length
        self.regions.append(region)
        return region

    def open(self) -> None:
        context = self._keeper.context
        try:
            self._handle, self.size = context.create(self._end)
            self.address = context.map(self._handle, self.size)
            self.fd = context.export(self._handle)
            self._bands = context.allocate(self._pattern.nbytes)
        except DriverFault as fault:
            raise EnvironmentFault(f"cannot set up {self._end / 1e9:.2f} GB of GPU buffers: {fault}",
                                   "choose a smaller shape with --shape") from None  # fmt: skip
        context.upload(self._bands, self._pattern)
        for region in self.regions:
            self._rearm(region)
        context.synchronize()

    def at(self, region: Region) -> int:
        """Where a region's data lies in the laboratory's own address space."""
        return self.address + region.data

    def write(self, region: Region, values: Array) -> None:
        self._keeper.context.upload(self.at(region), np.asarray(values, region.dtype))

    def read(self, region: Region) -> Array:
        return self._keeper.context.download(self.at(region), region.shape, region.dtype)

    def adopt(self, region: Region, tensor: Any) -> None:
        self._keeper.context.copy(self.at(region), int(tensor.data_ptr()), region.nbytes)
        self._keeper.context.synchronize()

    def tensor(self, region: Region) -> Any:
        """Torch knows bfloat16, but not by a name that arrays have."""
        import torch

        short = region.dtype == "bfloat16"
        lent = _Lent(self.at(region), region.shape, "<i2" if short else np.dtype(region.dtype).str)
        found = torch.as_tensor(lent, device="cuda")
        return found.view(torch.bfloat16) if short else found

    def digests(self, regions: Sequence[Region], secret: int) -> list[int]:
        numbers = [self._keeper.tally("digest", r.nbytes // 4 + 4, self.at(r), secret, r.nbytes) for r in regions]
        counts = self._keeper.tallies()
        return [counts[n] for n in numbers]

    def fill(self, region: Region, pattern: int) -> None:
        self._rearm(region)
        width = np.dtype(region.dtype).itemsize
        if width == 8:
            self._keeper.run("fill_u64", region.count, self.at(region), pattern, region.count)
        else:
            self._keeper.context.fill(self.at(region), pattern, width, region.count)

    def wipe_around(self, first: Region, last: Region) -> None:
        """Everything but the stretch from one region to another becomes ones, bands and unused ends included."""
        context, end = self._keeper.context, last.start + last.length
        for start, size in ((0, first.start), (end, self.size - end)):
            if size:
                context.fill(self.address + start, 0xFFFFFFFF, 4, size // 4)

    def intact(self, region: Region) -> str:
        before, behind = self.tally_bands(region)
        counts = self._keeper.tallies()
        return "before" if counts[before] else "behind" if counts[behind] else ""

    def fill_all(self, regions: Sequence[Region], patterns: Sequence[int]) -> None:
        """Small ones side by side are laid out here and sent at once: each step on the device costs as much as the next."""
        span = _span(regions)
        if span is None:
            for region, pattern in zip(regions, patterns, strict=True):
                self.fill(region, pattern)
            self._keeper.context.synchronize()  # a runner is another process: its work does not wait for ours
            return
        image = np.empty(span.stop - span.start, np.uint8)
        for region, pattern in zip(regions, patterns, strict=True):
            before, data, behind = self._parts(image[region.start - span.start :][: region.length], region)
            before[:], behind[:] = self._pattern[: before.size], self._pattern[: behind.size]
            data.view(f"u{np.dtype(region.dtype).itemsize}").fill(pattern)
        self._keeper.context.upload(self.address + span.start, image)

    def take_all(self, regions: Sequence[Region], copied: bool = True) -> list[tuple[Array, str]]:
        span = _span(regions)
        if span is None:
            return [(self.read(region), self.intact(region)) for region in regions]
        image = self._keeper.context.download(self.address + span.start, (span.stop - span.start,), np.uint8)
        return [self._taken(image[region.start - span.start :][: region.length], region) for region in regions]

    def _taken(self, image: Array, region: Region) -> tuple[Array, str]:
        before, data, behind = self._parts(image, region)
        broken = ""
        if not np.array_equal(behind, self._pattern[: behind.size]):
            broken = "behind"
        if not np.array_equal(before, self._pattern[: before.size]):
            broken = "before"
        return data.view(region.dtype).reshape(region.shape), broken

    def _parts(self, image: Array, region: Region) -> tuple[Array, Array, Array]:
        """The bytes before the data, the data, and the bytes behind it, of an image of one region."""
        begin = region.data - region.start
        return image[:begin], image[begin : begin + region.nbytes], image[begin + region.nbytes :]

    def tally_bands(self, region: Region) -> tuple[int, int]:
        """Two tallies: bytes changed before and behind the data."""
        end = region.data + region.nbytes
        behind = region.start + region.length - end
        return (
            self._keeper.tally("differs", BAND, self.address + region.start, self._bands, BAND),
            self._keeper.tally("differs", behind, self.address + end, self._bands, behind),
        )

    def close(self) -> None:
        if self.fd >= 0:
            self._forget(self.serial)
            os.close(self.fd)
            self.fd = -1
            self._keeper.context.synchronize()
            self._keeper.context.unmap(self.address, self.size, self._handle)
            self._keeper.context.free(self._bands)

    def _rearm(self, region: Region) -> None:
        context, end = self._keeper.context, region.data + region.nbytes
        context.copy(self.address + region.start, self._bands, BAND)
        context.copy(self.address + end, self._bands, region.start + region.length - end)


class _Lent:
    """Memory of ours, as other libraries ask for it."""

    def __init__(self, address: int, shape: tuple[int, ...], typestr: str) -> None:
        self.__cuda_array_interface__ = {"data": (address, False), "shape": shape, "typestr": typestr, "version": 3}


def _span(regions: Sequence[Region]) -> slice | None:
    """The bytes that these regions cover, where they are few and lie side by side."""
    if not regions:
        return None
    ordered = sorted(regions, key=lambda r: r.start)
    start, end = ordered[0].start, ordered[-1].start + ordered[-1].length
    side_by_side = sum(r.length for r in ordered) == end - start
    return slice(start, end) if side_by_side and end - start <= _AT_ONCE else None


def free_bytes() -> int:
    """GPU memory that nobody uses."""
    return int(call("cuMemGetInfo")[0])
