"""SwiGLU without its products: SiLU of the gate times the other half."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, COLUMNS = 16384, 11008
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 512, "columns": 1024},
    "small": {"rows": 6, "columns": 40},
    "held_out": [{"rows": 4000, "columns": 14336}, {"rows": 33, "columns": 13824}],
    "edge": [{"rows": 1, "columns": 1}, {"rows": 3, "columns": 1001}],
}


class Model(nn.Module):
    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        return (F.silu(gate.float()) * up.float()).to(gate.dtype)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    kind = getattr(torch, dtype)
    return [torch.randn(rows, columns, dtype=kind), torch.randn(rows, columns, dtype=kind)]


def get_init_inputs() -> list[int | str]:
    return []
