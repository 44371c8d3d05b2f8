"""Average pooling of images, 3x3 with a stride of 2; the border counts as zeros."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BATCH, CHANNELS, HEIGHT, WIDTH = 64, 128, 112, 112
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 1, "channels": 32, "height": 56, "width": 56},
    "small": {"batch": 2, "channels": 3, "height": 9, "width": 8},
    "held_out": [
        {"batch": 32, "channels": 64, "height": 113, "width": 97},
        {"batch": 3, "channels": 256, "height": 56, "width": 56},
    ],
    "edge": [
        {"batch": 1, "channels": 1, "height": 2, "width": 2},
        {"batch": 1, "channels": 2, "height": 5, "width": 31},
    ],
}


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, 3, 2, 1)


def get_inputs(
    batch: int = BATCH, channels: int = CHANNELS, height: int = HEIGHT, width: int = WIDTH, dtype: str = "float32"
) -> list[Tensor]:
    return [torch.randn(batch, channels, height, width, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
