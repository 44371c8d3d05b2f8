"""Root-mean-square norm of rows with a weight: the norm of most language models."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROWS, COLUMNS = 16384, 4096
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 1024, "columns": 1024},
    "small": {"rows": 6, "columns": 48},
    "held_out": [{"rows": 10000, "columns": 5120}, {"rows": 3, "columns": 8192}, {"rows": 50000, "columns": 640}],
    "edge": [{"rows": 1, "columns": 1}, {"rows": 2, "columns": 4097}],
}


class Model(nn.Module):
    def __init__(self, columns: int = COLUMNS, dtype: str = "float32") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(columns, dtype=getattr(torch, dtype)) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        y = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight.float()
        return y.to(x.dtype)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
