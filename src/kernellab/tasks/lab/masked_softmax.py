"""Softmax of scaled scores under an additive mask: attention's middle, written out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BATCH, HEADS, ROWS, COLUMNS = 8, 32, 1024, 1024
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 2, "heads": 4, "rows": 64, "columns": 128},
    "small": {"batch": 2, "heads": 2, "rows": 5, "columns": 12},
    "held_out": [
        {"batch": 4, "heads": 16, "rows": 777, "columns": 1537},
        {"batch": 1, "heads": 40, "rows": 16, "columns": 8192},
    ],
    "edge": [{"batch": 1, "heads": 1, "rows": 1, "columns": 1}, {"batch": 1, "heads": 2, "rows": 3, "columns": 1025}],
}


class Model(nn.Module):
    """The mask holds nothing or minus infinity; every row keeps its first element."""

    def __init__(self, scale: float = 0.125) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(scores.float() * self.scale + mask, -1).to(scores.dtype)


def get_inputs(
    batch: int = BATCH, heads: int = HEADS, rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32"
) -> list[Tensor]:
    hidden = torch.rand(batch, 1, rows, columns) < 0.3
    hidden = hidden & (torch.arange(columns) > 0)
    mask = torch.zeros(batch, 1, rows, columns).masked_fill(hidden, float("-inf"))
    return [torch.randn(batch, heads, rows, columns, dtype=getattr(torch, dtype)), mask]


def get_init_inputs() -> list[float]:
    return []
