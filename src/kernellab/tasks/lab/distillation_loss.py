"""How far a student's logits are from a teacher's: Kullback-Leibler divergence at a temperature."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, CLASSES = 4096, 32000
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"rows": 64, "classes": 1000},
    "small": {"rows": 6, "classes": 40},
    "held_out": [{"rows": 1000, "classes": 50257}, {"rows": 50000, "classes": 1000}],
    "edge": [{"rows": 1, "classes": 2}, {"rows": 3, "classes": 4097}],
}


class Model(nn.Module):
    def __init__(self, temperature: float = 2.0) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, student: Tensor, teacher: Tensor) -> Tensor:
        ours = F.log_softmax(student.float() / self.temperature, -1)
        theirs = F.log_softmax(teacher.float() / self.temperature, -1)
        return (theirs.exp() * (theirs - ours)).sum(-1).mean()


def get_inputs(rows: int = ROWS, classes: int = CLASSES, dtype: str = "float32") -> list[Tensor]:
    kind = getattr(torch, dtype)
    return [torch.randn(rows, classes, dtype=kind), torch.randn(rows, classes, dtype=kind)]


def get_init_inputs() -> list[float]:
    return []
