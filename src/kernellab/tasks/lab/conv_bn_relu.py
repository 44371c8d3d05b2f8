"""A 3x3 convolution, batch norm with fixed statistics, ReLU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BATCH, CHANNELS, FILTERS, HEIGHT, WIDTH = 32, 128, 128, 56, 56
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 1, "channels": 16, "filters": 16, "height": 28, "width": 28},
    "small": {"batch": 2, "channels": 5, "filters": 6, "height": 7, "width": 6},
    "held_out": [
        {"batch": 16, "channels": 256, "filters": 256, "height": 28, "width": 28},
        {"batch": 5, "channels": 64, "filters": 192, "height": 57, "width": 43},
    ],
    "edge": [
        {"batch": 1, "channels": 1, "filters": 1, "height": 1, "width": 1},
        {"batch": 1, "channels": 3, "filters": 65, "height": 17, "width": 2},
    ],
}


class Model(nn.Module):
    def __init__(self, channels: int = CHANNELS, filters: int = FILTERS, dtype: str = "float32") -> None:
        super().__init__()
        kind = getattr(torch, dtype)
        self.conv = nn.Conv2d(channels, filters, 3, padding=1, bias=False, dtype=kind)
        self.norm = nn.BatchNorm2d(filters, dtype=kind)
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)
        self.norm.running_mean = torch.randn(filters, dtype=kind)
        self.norm.running_var = torch.rand(filters, dtype=kind) + 0.5
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.conv(x)))


def get_inputs(
    batch: int = BATCH, channels: int = CHANNELS, height: int = HEIGHT, width: int = WIDTH, dtype: str = "float32"
) -> list[Tensor]:
    return [torch.randn(batch, channels, height, width, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
