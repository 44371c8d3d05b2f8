"""GeGLU on one tensor that holds both halves: GELU of the second half times the first."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, COLUMNS = 16384, 5120
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 512, "columns": 1024},
    "small": {"rows": 6, "columns": 20},
    "held_out": [{"rows": 4096, "columns": 1280}, {"rows": 100, "columns": 10240}],
    "edge": [{"rows": 1, "columns": 1}, {"rows": 3, "columns": 1001}],
}


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        value, gate = x.float().chunk(2, -1)
        return (value * F.gelu(gate)).to(x.dtype)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    """`columns` is the width of the result."""
    return [torch.randn(rows, 2 * columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
