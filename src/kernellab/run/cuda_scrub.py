"""What launches leave behind in a GPU's processors, overwritten before every sample: another memory between calls.

Covered: all shared memory of every processor, about 240 of 255 registers of every thread that fits, and, where a kernel
of the sample has local memory, the first 512 bytes of it for every resident thread (one with more, or with another
place for it, may still find something; only kernels that spill or index arrays have any).
Not covered: the kilobyte of shared memory that the system keeps for itself in every block; calls of one sample, which
run back to back on inputs that are all different.
"""

from __future__ import annotations

from kernellab.run.cuda_kernels import Kernels
from kernellab.run.driver import Context, Kernel, launch

_THREADS, _LOCAL_THREADS = 256, 1024
_WAVES = 2  # one would do: a block takes all shared memory of its processor, so that the next goes to another


class Scrub:
    """Outside the clock, before the cache is cooled; some ten microseconds of the device, none of the host's waiting."""

    def __init__(self, context: Context, kernels: Kernels, processors: int, shared_bytes: int) -> None:
        self._context = context
        self._processors = processors
        self._shared = shared_bytes
        self._scrub, self._local = kernels["scrub"], kernels["scrub_local"]
        self._scrub.allow_shared(shared_bytes)

    def run(self, local: bool) -> None:
        """`local`: the coming kernels have local memory."""
        self._launch(self._scrub, _THREADS, self._shared, self._shared // 4)
        if local:
            self._launch(self._local, _LOCAL_THREADS, 0, 0, 0)

    def _launch(self, kernel: Kernel, threads: int, shared: int, *arguments: int) -> None:
        block, alive = kernel.pack(arguments)
        launch(kernel, [_WAVES * self._processors], [threads], block, self._context.stream, shared)
        del alive
