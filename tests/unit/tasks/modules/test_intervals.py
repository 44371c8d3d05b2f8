"""The intervals of torch against those of NumPy, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kernellab.tasks.modules.host_arrays import array_of_dtype
from kernellab.tasks.modules.intervals import bounds
from kernellab.tasks.oracle import interval

SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    65504.0,
    -65504.0,
    65519.9,
    3.4e38,
    -3.4e38,
    1e-45,
    6e-8,
    -6e-8,
    1e-320,
]


def cases(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    value = rng.standard_normal(4096) * 10.0 ** rng.integers(-12, 6, 4096)
    value[: len(SPECIAL)] = SPECIAL
    scale = np.abs(value) * rng.uniform(0.5, 3.0, 4096)
    scale[rng.integers(0, 4096, 64)] = 0.0
    return value, np.where(np.isfinite(value), scale, 0.0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("budget", [1.0, 4.0, 36.5, 1024.0])
def test_the_ends_are_the_same_bits(dtype: str, budget: float) -> None:
    value, scale = cases(7)
    wanted = interval(value, scale, budget, dtype)
    low, high = (array_of_dtype(b) for b in bounds(torch.from_numpy(value), torch.from_numpy(scale), budget, dtype))
    assert low.dtype == wanted.low.dtype
    for got, want in ((low, wanted.low), (high, wanted.high)):
        same = (got == want) | (np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64)))
        assert same.all(), (value[~same], got[~same], want[~same])


def test_neither_the_values_nor_the_scales_are_touched() -> None:
    value, scale = (torch.from_numpy(a) for a in cases(8))
    before = value.clone(), scale.clone()
    bounds(value, scale, 4.0, "bfloat16")
    assert torch.equal(value.nan_to_num(), before[0].nan_to_num())
    assert torch.equal(scale, before[1])


def test_a_scale_that_is_one_number_for_many_elements() -> None:
    """As broadcasting leaves it: such memory must not be written to."""
    value, scale = torch.randn(8, 16, dtype=torch.float64), torch.tensor([[2.0]], dtype=torch.float64).expand(8, 16)
    low, high = bounds(value, scale, 4.0, "float32")
    assert bool((low < value).all())
    assert bool((high > value).all())
    assert float(scale[3, 3]) == 2.0
