"""Many small matrix products at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BATCH, ROWS, INNER, COLUMNS = 2048, 128, 64, 128
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 32, "rows": 32, "inner": 32, "columns": 32},
    "small": {"batch": 3, "rows": 5, "inner": 24, "columns": 6},
    "held_out": [
        {"batch": 1000, "rows": 100, "inner": 72, "columns": 50},
        {"batch": 64, "rows": 512, "inner": 64, "columns": 512},
    ],
    "edge": [{"batch": 1, "rows": 1, "inner": 1, "columns": 1}, {"batch": 2, "rows": 17, "inner": 33, "columns": 9}],
}


class Model(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.bmm(a, b)


def get_inputs(
    batch: int = BATCH, rows: int = ROWS, inner: int = INNER, columns: int = COLUMNS, dtype: str = "float32"
) -> list[Tensor]:
    kind = getattr(torch, dtype)
    return [torch.randn(batch, rows, inner, dtype=kind), torch.randn(batch, inner, columns, dtype=kind)]


def get_init_inputs() -> list[int | str]:
    return []
