"""A baseline's process: the same loop and buffers as a candidate's, running NumPy or torch. Trusted, not confined."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import sys
from typing import Any

import numpy as np

from kernellab.run.serve import serve
from kernellab.tasks.load import load_located
from kernellab.tasks.tunable import variants

_POPULATE_WRITE = 23


def main(fds: list[int]) -> int:
    """Entry: set-up, commands, replies, inputs, outputs; no machine code."""
    setup_fd, commands, replies, inputs, outputs = fds
    setup: dict[str, Any] = json.loads(os.pread(setup_fd, os.fstat(setup_fd).st_size, 0))
    sys.path[:] = [*setup["path"], *sys.path]
    function = variants(load_located(setup["task"]).baselines)[setup["baseline"]].function
    maps = {
        "in": mmap.mmap(inputs, os.fstat(inputs).st_size),
        "out": mmap.mmap(outputs, os.fstat(outputs).st_size),
    }
    wrap = _torch(setup["threads"]) if setup["baseline"].startswith("torch") else lambda array: array
    calls, touches = [], []
    for call in setup["calls"]:
        arrays = []
        touches.append([(_touch, (maps[kind], data, shape, dtype)) for kind, data, shape, dtype in call])
        for kind, data, shape, dtype in call:
            count = int(np.prod(shape, dtype=np.int64))
            arrays.append(wrap(np.frombuffer(maps[kind], dtype, count, data).reshape(shape)))
        calls.append([(function, tuple(arrays))])
    function(*calls[0][0][1])
    os.write(replies, b"loaded!!")
    serve(commands, replies, [*calls, *touches])
    return 0


def _touch(memory: mmap.mmap, data: int, shape: list[int], dtype: str) -> None:
    """Bring a buffer's pages in, as a candidate's worker does."""
    start = data - data % mmap.PAGESIZE
    length = data - start + int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    with contextlib.suppress(OSError):  # before Linux 5.14 the warm-up does it
        memory.madvise(_POPULATE_WRITE, start, length)


def _torch(threads: int) -> Any:
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)

    def wrap(array: np.ndarray[Any, Any]) -> Any:
        if array.dtype == np.dtype("bfloat16"):  # torch knows the type, but not NumPy's name for it
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    return wrap
