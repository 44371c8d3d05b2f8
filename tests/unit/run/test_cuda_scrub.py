"""What is launched to overwrite residue; that it does is shown on a GPU (tests/gpu/test_memory.py)."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kernellab.build import nvrtc_job
from kernellab.run.cuda_kernels import Kernels, compile_own
from kernellab.run.cuda_scrub import Scrub

from .fake_static import Driver, Status

MOST = 232448


class Listening(Driver):
    """Keeps grid, block, shared memory and the first parameter of every launch."""

    def cuFuncSetAttribute(self, function: Any, kind: str, value: int) -> tuple[Status]:
        self.said.append(f"{function[1]} may have {value}")
        return (Status.CUDA_SUCCESS,)

    def cuLaunchKernel(self, function: Any, *rest: Any) -> tuple[Status]:
        cells = ctypes.cast(rest[8], ctypes.POINTER(ctypes.c_void_p))
        first = ctypes.cast(cells[0], ctypes.POINTER(ctypes.c_uint32))[0]
        self.said.append(f"{function[1]} {rest[0]} x {rest[3]}, {rest[6]} bytes, {first}")
        return (Status.CUDA_SUCCESS,)


@pytest.mark.skipif(bool(nvrtc_job.PROBLEM), reason=nvrtc_job.PROBLEM)
def test_blocks_with_all_shared_memory_for_every_processor_and_local_memory_when_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = Listening()
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=driver))
    context: Any = SimpleNamespace(stream="stream")
    scrub = Scrub(context, Kernels(compile_own("sm_90a")), 132, MOST)
    scrub.run(local=False)
    scrub.run(local=True)
    whole = f"scrub 264 x 256, {MOST} bytes, {MOST // 4}"
    assert driver.said == ["load", f"scrub may have {MOST}", whole, whole, "scrub_local 264 x 1024, 0 bytes, 0"]
