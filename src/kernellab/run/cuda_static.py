"""The static memory of loaded GPU modules: as it was before every sample, or the call is refused.

A module's writable variables outlive a launch, so that a kernel could count its calls there. They are read once (and again
after the first sample that uses the module: a table may be filled lazily), written back before every sample and
compared after it. Counters that reset themselves pass.

Covered: every byte of every writable section, by the address that the driver gives for one of its variables (a section
is loaded as one block: the driver's own relocations rely on it). Where the driver names no variable of a section, the
module is loaded anew for every sample instead: nothing survives, and nothing needs to be compared.
Not covered: what the driver keeps beside a module's variables in the same pages, and constant memory, which a kernel can
only change by writing through an address that it may not write to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernellab.build.cubin import Writable, writable
from kernellab.run.driver import Context, DriverFault, call
from kernellab.tasks.spec import Array


class StaticMemoryChanged(Exception):
    """A call did not leave its module's writable memory as it found it."""


@dataclass
class Span:
    """One section in the device's memory, and what it has to hold."""

    part: Writable
    address: int
    image: Array


class StaticMemory:
    """One module that has writable memory. `spans` is None where the driver does not say where that lies."""

    def __init__(self, context: Context, cubin: bytes, module: Any, parts: Sequence[Writable]) -> None:
        self.cubin = cubin
        self.module = module
        self._context = context
        self._settled = False
        where = [_address(module, part) for part in parts]
        self.spans: list[Span] | None = None
        if all(where):
            self.spans = [Span(p, a, self._read(p, a)) for p, a in zip(parts, where, strict=True)]

    def put_back(self) -> None:
        """Before a sample."""
        for span in self.spans or ():
            self._context.upload(span.address, span.image)

    def compare(self, used: bool) -> None:
        """After a sample; `used`: it launched kernels of this module. Raises StaticMemoryChanged."""
        first, self._settled = used and not self._settled, self._settled or used
        for span in self.spans or ():
            now = self._read(span.part, span.address)
            changed = np.flatnonzero(now != span.image)
            if first:
                span.image = now
            elif changed.size:
                name = _name_at(span.part, int(changed[0]))
                raise StaticMemoryChanged(f"a call left its static memory changed: {changed.size} bytes of '{name}'")

    def _read(self, part: Writable, address: int) -> Array:
        return self._context.download(address, (part.size,), np.uint8)


def static_memory(context: Context, cubins: Sequence[bytes], modules: Sequence[Any]) -> list[StaticMemory]:
    """Of the loaded modules, those that have writable memory: nearly always none."""
    found = [(cubin, module, writable(cubin)) for cubin, module in zip(cubins, modules, strict=True)]
    return [StaticMemory(context, cubin, module, parts) for cubin, module, parts in found if parts]


def _address(module: Any, part: Writable) -> int:
    """Where a section lies, by the first variable that the driver names; 0 where it names none."""
    for variable in part.variables:
        try:
            address, size = call("cuModuleGetGlobal", module, variable.name.encode())
        except DriverFault as fault:
            if fault.name != "CUDA_ERROR_NOT_FOUND":
                raise
            continue
        if int(size) == variable.size:
            return int(address) - variable.offset
    return 0


def _name_at(part: Writable, offset: int) -> str:
    """The variable around a byte; the section, where it is between two."""
    return next((v.name for v in part.variables if v.offset <= offset < v.offset + v.size), part.name)
