"""A linear layer with bias and GELU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, COLUMNS, OUTPUTS = 8192, 4096, 4096
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 64, "columns": 256, "outputs": 256},
    "small": {"rows": 8, "columns": 32, "outputs": 24},
    "held_out": [{"rows": 3000, "columns": 768, "outputs": 3072}, {"rows": 100, "columns": 5120, "outputs": 1280}],
    "edge": [{"rows": 1, "columns": 1, "outputs": 1}, {"rows": 65, "columns": 33, "outputs": 129}],
}


class Model(nn.Module):
    def __init__(self, columns: int = COLUMNS, outputs: int = OUTPUTS, dtype: str = "float32") -> None:
        super().__init__()
        self.layer = nn.Linear(columns, outputs, dtype=getattr(torch, dtype))

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.layer(x))


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
