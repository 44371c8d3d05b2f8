"""Sums of a few rows of a large table, as in recommenders."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BAGS, LENGTH, ENTRIES, WIDTH = 16384, 32, 1000000, 128
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"bags": 64, "length": 16, "entries": 1000, "width": 64},
    "small": {"bags": 5, "length": 4, "entries": 20, "width": 12},
    "held_out": [
        {"bags": 3000, "length": 100, "entries": 200000, "width": 64},
        {"bags": 1000, "length": 7, "entries": 50000, "width": 512},
    ],
    "edge": [{"bags": 1, "length": 1, "entries": 1, "width": 1}, {"bags": 3, "length": 65, "entries": 9, "width": 33}],
}


class Model(nn.Module):
    """Each bag has its own weights; an index may come twice."""

    def __init__(self, entries: int = ENTRIES, width: int = WIDTH, dtype: str = "float32") -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(entries, width, dtype=getattr(torch, dtype)))

    def forward(self, index: Tensor, weight: Tensor) -> Tensor:
        rows = self.table[index].float() * weight.float()[..., None]
        return rows.sum(1).to(self.table.dtype)


def get_inputs(bags: int = BAGS, length: int = LENGTH, entries: int = ENTRIES, dtype: str = "float32") -> list[Tensor]:
    return [torch.randint(0, entries, (bags, length)), torch.randn(bags, length, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
