"""Running sums along rows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROWS, COLUMNS = 8192, 8192
DTYPES = ("float32",)
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"rows": 64, "columns": 1024},
    "small": {"rows": 5, "columns": 40},
    "held_out": [{"rows": 1000, "columns": 50000}, {"rows": 100000, "columns": 333}],
    "edge": [{"rows": 1, "columns": 1}, {"rows": 2, "columns": 4097}],
}


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cumsum(x, -1)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
