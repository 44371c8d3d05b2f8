"""A small image classifier: three convolutions with norms and pools, a mean, a linear layer."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

BATCH, SIDE, WIDTH, CLASSES = 256, 32, 64, 10
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 2, "side": 16, "width": 16},
    "small": {"batch": 2, "side": 8, "width": 16},
    "held_out": [{"batch": 100, "side": 64, "width": 32}, {"batch": 17, "side": 40, "width": 64}],
    "edge": [{"batch": 1, "side": 8, "width": 16}],
}


class Model(nn.Module):
    def __init__(self, width: int = WIDTH, classes: int = CLASSES, dtype: str = "float32") -> None:
        super().__init__()
        kind = getattr(torch, dtype)
        widths = (3, width, 2 * width, 4 * width)
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Conv2d(before, after, 3, padding=1, dtype=kind), nn.GroupNorm(4, after, dtype=kind)]
            layers += [nn.ReLU(), nn.MaxPool2d(2)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(4 * width, classes, dtype=kind)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).mean((2, 3)))


def get_inputs(batch: int = BATCH, side: int = SIDE, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(batch, 3, side, side, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
