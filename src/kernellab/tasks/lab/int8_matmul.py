"""A product with 8-bit weights: whole numbers with one factor for each output."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, COLUMNS, OUTPUTS = 16, 4096, 11008
DTYPES = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 8, "columns": 512, "outputs": 512},
    "small": {"rows": 4, "columns": 32, "outputs": 24},
    "held_out": [{"rows": 1, "columns": 5120, "outputs": 5120}, {"rows": 256, "columns": 4096, "outputs": 4096}],
    "edge": [{"rows": 1, "columns": 33, "outputs": 3}],
}


class Model(nn.Module):
    def __init__(self, columns: int = COLUMNS, outputs: int = OUTPUTS, dtype: str = "float32") -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (outputs, columns), dtype=torch.int8))
        self.register_buffer("factor", torch.rand(outputs, dtype=getattr(torch, dtype)) / 128)
        self.weight: Tensor
        self.factor: Tensor

    def forward(self, x: Tensor) -> Tensor:
        return (F.linear(x.float(), self.weight.float()) * self.factor.float()).to(x.dtype)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
