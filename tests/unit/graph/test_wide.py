from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from kernellab.graph.wide import in_float64, widened  # noqa: E402


def test_a_cast_to_a_short_type_keeps_float64() -> None:
    x = torch.full((3,), 1 / 3, dtype=torch.float64)
    with in_float64():
        y = x.float() * x.bfloat16() + torch.zeros(3, dtype=torch.float16)
    assert torch.equal(y, x * x)
    assert torch.equal(x.float().double(), torch.full((3,), 1 / 3).double())


def test_integers_stay_and_short_floats_widen() -> None:
    assert widened(torch.ones(2, dtype=torch.int8)).dtype is torch.int8
    assert widened(torch.ones(2).bfloat16()).dtype is torch.float64
    assert widened(3) == 3
