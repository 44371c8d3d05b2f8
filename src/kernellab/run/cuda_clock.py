"""The clock of a GPU process: cold L2, launches queued behind a busy device, two events around them.

The same for candidates and baselines, each in its own process: what is timed is the device's work, not the host's launches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernellab.run.cuda_kernels import THREADS, Kernels
from kernellab.run.driver import Context, call, launch

_QUEUE_S = 12e-6  # what the host needs to queue one launch
_COVERED_S = 15e-6  # cooling the cache takes longer than this by itself


class Clock:
    """`stream`: where the timed work is queued (default: the context's own). `held_s`: how long it was held back last."""

    def __init__(self, context: Context, kernels: Kernels, l2_bytes: int, stream: Any = None) -> None:
        self._stream = context.stream if stream is None else stream
        self._cool, self._hold = kernels["cool"], kernels["hold"]
        self._bytes = max(2 * l2_bytes, 32 << 20)
        self._junk = context.allocate(self._bytes + 16)
        call("cuMemsetD8Async", self._junk, 1, self._bytes + 16, self._stream)
        self._events = [call("cuEventCreate", 0), call("cuEventCreate", 0)]
        self._blocks = 8 * 132
        self.held_s = 0.0

    def time(self, queue: Callable[[], None], launches: int) -> float:
        """Seconds that the device spends on what `queue` launches. Returns when it is done."""
        call("cuCtxResetPersistingL2Cache")
        self._launch(self._cool, self._blocks, self._junk, self._bytes // 16, self._junk + self._bytes)
        self.held_s = max(0.0, launches * _QUEUE_S - _COVERED_S)
        if self.held_s:
            self._launch(self._hold, 1, int(self.held_s * 1e9))
        call("cuEventRecord", self._events[0], self._stream)
        queue()
        call("cuEventRecord", self._events[1], self._stream)
        call("cuEventSynchronize", self._events[1])
        return float(call("cuEventElapsedTime", *self._events)) * 1e-3

    def _launch(self, kernel: Any, blocks: int, *arguments: int) -> None:
        block, alive = kernel.pack(arguments)
        launch(kernel, [blocks], [1 if kernel is self._hold else THREADS], block, self._stream)
        del alive
