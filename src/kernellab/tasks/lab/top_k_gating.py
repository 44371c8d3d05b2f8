"""The router of a mixture of experts: probabilities of all experts, the best few and their shares."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, COLUMNS, EXPERTS, CHOSEN = 16384, 4096, 64, 8
DTYPES = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 256, "columns": 256, "experts": 16, "chosen": 2},
    "small": {"rows": 8, "columns": 32, "experts": 10, "chosen": 3},
    "held_out": [
        {"rows": 5000, "columns": 2048, "experts": 128, "chosen": 8},
        {"rows": 33, "columns": 7168, "experts": 256, "chosen": 8},
    ],
    "edge": [
        {"rows": 1, "columns": 64, "experts": 2, "chosen": 1},
        {"rows": 3, "columns": 64, "experts": 8, "chosen": 8},
    ],
}


class Model(nn.Module):
    """Indices are judged by what they pick: an expert whose probability is within rounding of the one that belongs there
    passes, and none may be picked twice."""

    def __init__(
        self, columns: int = COLUMNS, experts: int = EXPERTS, chosen: int = CHOSEN, dtype: str = "float32"
    ) -> None:
        super().__init__()
        self.router = nn.Linear(columns, experts, bias=False, dtype=getattr(torch, dtype))
        self.chosen = chosen

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        probabilities = torch.softmax(F.linear(x.float(), self.router.weight.float()), -1)
        best, index = torch.topk(probabilities, self.chosen, -1)
        return best / best.sum(-1, keepdim=True), index


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
