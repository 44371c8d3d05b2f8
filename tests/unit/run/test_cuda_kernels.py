"""The laboratory's own kernels, compiled by a real NVRTC for every architecture in use; no GPU runs them here."""

from __future__ import annotations

import numpy as np
import pytest

from kernellab.build import nvrtc_job
from kernellab.build.cubin import audit
from kernellab.core.errors import EnvironmentFault
from kernellab.run.cuda_kernels import THREADS, blocks_for, compile_own
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.spec import DTYPES

needs_nvrtc = pytest.mark.skipif(bool(nvrtc_job.PROBLEM), reason=nvrtc_job.PROBLEM)
FLOATS = [d for d in DTYPES if is_float(d)]
CALLED = {
    *(f"mix_{d}" for d in FLOATS),
    *(f"outside_{d}" for d in FLOATS),
    *(f"equals_u{8 * np.dtype(d).itemsize}" for d in DTYPES),
    "differs", "fill_u64", "cool", "hold", "scrub", "scrub_local",
}  # fmt: skip


@pytest.mark.heavy
@needs_nvrtc
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_they_compile_with_every_kernel_that_rings_arenas_and_clocks_call(target: str) -> None:
    found = audit(compile_own(target))
    assert set(found.kernels) >= CALLED


@pytest.mark.heavy
@needs_nvrtc
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_scrubbing_takes_nearly_all_registers_and_spills_none(target: str) -> None:
    found = audit(compile_own(target)).kernels
    assert found["scrub"].registers >= 240
    assert found["scrub"].local_bytes == 0
    assert found["scrub_local"].local_bytes >= 512


@needs_nvrtc
def test_an_architecture_that_nvrtc_does_not_know_is_an_error_with_a_fix() -> None:
    with pytest.raises(EnvironmentFault, match="own GPU kernels do not compile") as caught:
        compile_own("sm_1")
    assert "NVRTC" in caught.value.fix


@pytest.mark.parametrize(
    ("count", "blocks"),
    [(0, 1), (1, 1), (THREADS, 1), (THREADS + 1, 2), (100 * THREADS, 100), (1 << 40, 16 * 132)],
)
def test_a_grid_covers_the_work_and_no_more_than_fills_the_device(count: int, blocks: int) -> None:
    assert blocks_for(count) == [blocks]
