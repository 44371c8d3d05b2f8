"""The clock of a GPU process: cold L2, launches queued behind a device that is held back, two events around them.

The same for candidates and baselines, each in its own process: what is timed is the device's work, not the host's launches.
The device waits at a gate until everything is queued, however long the host takes: a fixed time would be too short for a
host that others use as well, and what it came too late with would count as the device's. Not covered: work that waits for
the device while it is queued, or more launches than a queue holds; after `_MOST_S` the gate opens by itself.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

from kernellab.run.cuda_kernels import THREADS, Kernels
from kernellab.run.driver import Context, call, launch

_MOST_S = 20e-3


class Clock:
    """`stream`: where the timed work is queued (default: the context's own). `held_s`: how long the host took for that."""

    def __init__(self, context: Context, kernels: Kernels, l2_bytes: int, stream: Any = None) -> None:
        self._stream = context.stream if stream is None else stream
        self._cool, self._hold = kernels["cool"], kernels["hold"]
        self._bytes = max(2 * l2_bytes, 32 << 20)
        self._junk = context.allocate(self._bytes + 16)
        call("cuMemsetD8Async", self._junk, 1, self._bytes + 16, self._stream)
        self._events = [call("cuEventCreate", 0), call("cuEventCreate", 0)]
        self._blocks = 8 * 132
        address, self._gate_on_device = context.shared_word()
        self._gate = ctypes.c_uint32.from_address(address)
        self._ticket = 0
        self.held_s = 0.0

    def time(self, queue: Callable[[], None]) -> float:
        """Seconds that the device spends on what `queue` launches. Returns when it is done."""
        call("cuCtxResetPersistingL2Cache")
        self._launch(self._cool, self._blocks, self._junk, self._bytes // 16, self._junk + self._bytes)
        self._ticket = self._ticket % 0xFFFFFFFF + 1
        self._launch(self._hold, 1, self._gate_on_device, self._ticket, int(_MOST_S * 1e9))
        started = time.perf_counter()
        try:
            call("cuEventRecord", self._events[0], self._stream)
            queue()
            call("cuEventRecord", self._events[1], self._stream)
        finally:
            self._gate.value = self._ticket
        self.held_s = time.perf_counter() - started
        call("cuEventSynchronize", self._events[1])
        return float(call("cuEventElapsedTime", *self._events)) * 1e-3

    def _launch(self, kernel: Any, blocks: int, *arguments: int) -> None:
        block, alive = kernel.pack(arguments)
        launch(kernel, [blocks], [1 if kernel is self._hold else THREADS], block, self._stream)
        del alive
