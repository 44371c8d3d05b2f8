"""Buffers on a real GPU: filled when told so, seen by torch, and told apart by a number."""

from __future__ import annotations

import numpy as np
import pytest

from kernellab.run.cuda import CudaDevice
from kernellab.run.driver import Context, bindings

pytestmark = pytest.mark.gpu


def test_a_large_output_is_poisoned_when_filling_it_returns(gpu: CudaDevice) -> None:
    """A runner is another process: what was only queued here could land after its kernel, on a result that was right."""
    outputs = gpu.memory("outputs", bytes(16))
    regions = [outputs.declare((1 << 28,), "float32") for _ in range(4)]
    outputs.open()
    try:
        context = gpu.keeper.context
        for _ in range(20):
            context.fill(outputs.at(regions[0]), 1, 4, regions[0].count)
        outputs.fill_all(regions, [7, 8, 9, 10])
        assert driver_status(context) == 0, "nothing is on its way any more"
    finally:
        outputs.close()


def driver_status(context: Context) -> int:
    return int(bindings().cuStreamQuery(context.stream)[0])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int64", "uint8"])
def test_torch_sees_an_output_and_a_digest_tells_any_change(gpu: CudaDevice, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    outputs = gpu.memory("outputs", bytes(16))
    region = outputs.declare((37, 11), dtype)
    outputs.open()
    try:
        values = np.arange(407).reshape(37, 11).astype(dtype)
        outputs.write(region, values)
        seen = outputs.tensor(region)
        assert seen.dtype == getattr(torch, dtype)
        assert torch.equal(seen.cpu().double(), torch.from_numpy(values.astype(np.float64)))
        before = outputs.digests([region], 12345)
        assert outputs.digests([region], 12345) == before
        assert outputs.digests([region], 54321) != before
        for place in (0, 200, 406):
            changed = values.copy().reshape(-1)
            changed[place] += np.dtype(dtype).type(1)
            outputs.write(region, changed.reshape(37, 11))
            assert outputs.digests([region], 12345) != before
        outputs.write(region, values[::-1])
        assert outputs.digests([region], 12345) != before, "the same numbers in other places"
        outputs.adopt(region, torch.from_numpy(values.astype(np.float64)).to(getattr(torch, dtype)).cuda())
        torch.cuda.synchronize()
        assert outputs.digests([region], 12345) == before
    finally:
        outputs.close()
