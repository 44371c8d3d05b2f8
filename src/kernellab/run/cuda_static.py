"""The static memory of loaded GPU modules: as it was before every sample, or the call is refused.

A module's writable variables outlive a launch, so that a kernel could count its calls there. They are read once (and again
after the first sample that uses the module: a table may be filled lazily), written back before every sample and
compared after it. Counters that reset themselves pass.

Covered: every variable of every writable section, each by the address that the driver gives for it (they need not lie
together as they do in the file). Where the driver does not name one, or a section holds more than its variables, the module
is loaded anew for every sample instead: nothing survives, and nothing needs to be compared.
Not covered: what the driver keeps beside a module's variables in the same pages, and constant memory, which a kernel can
only change by writing through an address that it may not write to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernellab.build.cubin import Variable, Writable, writable
from kernellab.run.driver import Context, DriverFault, call
from kernellab.tasks.spec import Array

_ALIGNED = 256  # no variable is aligned to more


class StaticMemoryChanged(Exception):
    """A call did not leave its module's writable memory as it found it."""


@dataclass
class Span:
    """One variable in the device's memory, and what it has to hold."""

    name: str
    address: int
    image: Array


class StaticMemory:
    """One module that has writable memory. `spans` is None where the driver does not say where that lies."""

    def __init__(self, context: Context, cubin: bytes, module: Any, parts: Sequence[Writable]) -> None:
        self.cubin = cubin
        self.module = module
        self._context = context
        self._settled = False
        variables = [variable for part in parts for variable in part.variables]
        where = [_address(module, variable) for variable in variables]
        self.spans: list[Span] | None = None
        if all(where) and all(map(_whole, parts)):
            self.spans = [Span(v.name, a, self._read(a, v.size)) for v, a in zip(variables, where, strict=True)]

    def put_back(self) -> None:
        """Before a sample."""
        for span in self.spans or ():
            self._context.upload(span.address, span.image)

    def compare(self, used: bool) -> None:
        """After a sample; `used`: it launched kernels of this module. Raises StaticMemoryChanged."""
        first, self._settled = used and not self._settled, self._settled or used
        for span in self.spans or ():
            now = self._read(span.address, span.image.size)
            changed = np.flatnonzero(now != span.image)
            if first:
                span.image = now
            elif changed.size:
                raise StaticMemoryChanged(
                    f"a call left its static memory changed: {changed.size} bytes of '{span.name}'"
                )

    def _read(self, address: int, size: int) -> Array:
        return self._context.download(address, (size,), np.uint8)


def static_memory(context: Context, cubins: Sequence[bytes], modules: Sequence[Any]) -> list[StaticMemory]:
    """Of the loaded modules, those that have writable memory: nearly always none."""
    found = [(cubin, module, writable(cubin)) for cubin, module in zip(cubins, modules, strict=True)]
    return [StaticMemory(context, cubin, module, parts) for cubin, module, parts in found if parts]


def _address(module: Any, variable: Variable) -> int:
    """Where a variable lies; 0 where the driver does not say."""
    try:
        address, size = call("cuModuleGetGlobal", module, variable.name.encode())
    except DriverFault as fault:
        if fault.name != "CUDA_ERROR_NOT_FOUND":
            raise
        return 0
    return int(address) if int(size) == variable.size else 0


def _whole(part: Writable) -> bool:
    """Whether a section is its variables and the gaps that align them, and nothing else."""
    end = 0
    for variable in sorted(part.variables, key=lambda v: v.offset):
        if variable.offset - end >= _ALIGNED:
            return False
        end = max(end, variable.offset + variable.size)
    return bool(part.variables) and part.size - end < _ALIGNED
