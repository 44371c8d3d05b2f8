"""Layer norm of rows with weight and bias."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, COLUMNS = 16384, 4096
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"rows": 1024, "columns": 1024},
    "small": {"rows": 6, "columns": 48},
    "held_out": [{"rows": 10000, "columns": 1536}, {"rows": 7, "columns": 12288}, {"rows": 60000, "columns": 768}],
    "edge": [{"rows": 1, "columns": 2}, {"rows": 3, "columns": 1025}],
}


class Model(nn.Module):
    def __init__(self, columns: int = COLUMNS, dtype: str = "float32") -> None:
        super().__init__()
        kind = getattr(torch, dtype)
        self.weight = nn.Parameter(torch.rand(columns, dtype=kind) + 0.5)
        self.bias = nn.Parameter(torch.randn(columns, dtype=kind))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, (x.shape[-1],), self.weight, self.bias)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
