"""The feed-forward layer of a language model: two products, SwiGLU, a third product."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, COLUMNS, HIDDEN = 4096, 4096, 11008
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 64, "columns": 256, "hidden": 688},
    "small": {"rows": 8, "columns": 32, "hidden": 48},
    "held_out": [{"rows": 1000, "columns": 2048, "hidden": 5632}, {"rows": 16, "columns": 5120, "hidden": 13824}],
    "edge": [{"rows": 1, "columns": 64, "hidden": 96}],
}


class Model(nn.Module):
    def __init__(self, columns: int = COLUMNS, hidden: int = HIDDEN, dtype: str = "float32") -> None:
        super().__init__()
        kind = getattr(torch, dtype)
        self.gate = nn.Linear(columns, hidden, bias=False, dtype=kind)
        self.up = nn.Linear(columns, hidden, bias=False, dtype=kind)
        self.down = nn.Linear(hidden, columns, bias=False, dtype=kind)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
