"""Gradients of several layers scaled down together when their common norm is too large."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROWS, COLUMNS, BIASES = 8192, 8192, 8192
DTYPES = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 256, "columns": 256, "biases": 256},
    "small": {"rows": 6, "columns": 8, "biases": 5},
    "held_out": [{"rows": 5000, "columns": 3000, "biases": 777}, {"rows": 128, "columns": 50000, "biases": 128}],
    "edge": [{"rows": 1, "columns": 1, "biases": 1}, {"rows": 3, "columns": 1025, "biases": 7}],
}


class Model(nn.Module):
    """Three tensors as a model has them: two matrices and a vector. The norm is an output too."""

    def __init__(self, most: float = 1.0) -> None:
        super().__init__()
        self.most = most

    def forward(self, a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        norm = torch.sqrt((a.float() ** 2).sum() + (b.float() ** 2).sum() + (c.float() ** 2).sum())
        factor = torch.clamp(self.most / (norm + 1e-6), max=1.0)
        first, second, third = ((x.float() * factor).to(x.dtype) for x in (a, b, c))
        return first, second, third, norm


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, biases: int = BIASES, dtype: str = "float32") -> list[Tensor]:
    kind = getattr(torch, dtype)
    a, b = torch.randn(rows, columns, dtype=kind), torch.randn(columns, rows, dtype=kind)
    return [a, b, torch.randn(biases, dtype=kind)]


def get_init_inputs() -> list[float]:
    return []
