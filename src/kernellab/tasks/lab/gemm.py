"""A plain matrix product."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROWS, INNER, COLUMNS = 4096, 4096, 4096
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 256, "inner": 256, "columns": 256},
    "small": {"rows": 7, "inner": 40, "columns": 9},
    "held_out": [{"rows": 8192, "inner": 1024, "columns": 8192}, {"rows": 1000, "inner": 3000, "columns": 2000}],
    "edge": [{"rows": 1, "inner": 1, "columns": 1}, {"rows": 129, "inner": 65, "columns": 33}],
}


class Model(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a @ b


def get_inputs(rows: int = ROWS, inner: int = INNER, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    kind = getattr(torch, dtype)
    return [torch.randn(rows, inner, dtype=kind), torch.randn(inner, columns, dtype=kind)]


def get_init_inputs() -> list[int | str]:
    return []
