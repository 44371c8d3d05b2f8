"""A matrix times very few vectors, as when a language model writes one token at a time."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROWS, COLUMNS, OUTPUTS = 1, 8192, 28672
DTYPES = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 1, "columns": 1024, "outputs": 1024},
    "small": {"rows": 2, "columns": 64, "outputs": 24},
    "held_out": [{"rows": 4, "columns": 5120, "outputs": 5120}, {"rows": 8, "columns": 4096, "outputs": 11008}],
    "edge": [{"rows": 1, "columns": 1, "outputs": 1}, {"rows": 3, "columns": 1025, "outputs": 7}],
}


class Model(nn.Module):
    def __init__(self, columns: int = COLUMNS, outputs: int = OUTPUTS, dtype: str = "float32") -> None:
        super().__init__()
        self.layer = nn.Linear(columns, outputs, bias=False, dtype=getattr(torch, dtype))

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
