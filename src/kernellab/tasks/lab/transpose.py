"""A batch of matrices turned; only memory moves."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BATCH, ROWS, COLUMNS = 8, 8192, 4096
DTYPES = ("float32", "bfloat16")
SIZES = {
    "cpu": {"batch": 2, "rows": 256, "columns": 256},
    "small": {"batch": 2, "rows": 5, "columns": 7},
    "held_out": [{"batch": 3, "rows": 3001, "columns": 5003}, {"batch": 4096, "rows": 64, "columns": 128}],
    "edge": [{"batch": 1, "rows": 1, "columns": 1}, {"batch": 2, "rows": 33, "columns": 65}],
}


class Model(nn.Module):
    """Elements are copied, so they are judged to within their last bit, and a wrong place is seen."""

    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).contiguous()


def get_inputs(batch: int = BATCH, rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(batch, rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
