"""A residual added, then the root-mean-square norm of the sum; both are needed by the next layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROWS, COLUMNS = 16384, 4096
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 1024, "columns": 1024},
    "small": {"rows": 6, "columns": 48},
    "held_out": [{"rows": 5000, "columns": 5120}, {"rows": 64, "columns": 8192}],
    "edge": [{"rows": 1, "columns": 1}, {"rows": 2, "columns": 4097}],
}


class Model(nn.Module):
    def __init__(self, columns: int = COLUMNS, dtype: str = "float32") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(columns, dtype=getattr(torch, dtype)) + 0.5)

    def forward(self, x: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
        total = x.float() + residual.float()
        y = total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight.float()
        return y.to(x.dtype), total.to(x.dtype)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    kind = getattr(torch, dtype)
    return [torch.randn(rows, columns, dtype=kind), torch.randn(rows, columns, dtype=kind)]


def get_init_inputs() -> list[int | str]:
    return []
