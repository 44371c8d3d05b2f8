"""A depthwise 7x7 convolution with bias."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BATCH, CHANNELS, HEIGHT, WIDTH = 64, 384, 56, 56
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 1, "channels": 32, "height": 28, "width": 28},
    "small": {"batch": 2, "channels": 6, "height": 9, "width": 8},
    "held_out": [
        {"batch": 16, "channels": 768, "height": 28, "width": 28},
        {"batch": 3, "channels": 96, "height": 113, "width": 71},
    ],
    "edge": [
        {"batch": 1, "channels": 1, "height": 1, "width": 1},
        {"batch": 1, "channels": 5, "height": 3, "width": 30},
    ],
}


class Model(nn.Module):
    def __init__(self, channels: int = CHANNELS, dtype: str = "float32") -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 7, padding=3, groups=channels, dtype=getattr(torch, dtype))

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


def get_inputs(
    batch: int = BATCH, channels: int = CHANNELS, height: int = HEIGHT, width: int = WIDTH, dtype: str = "float32"
) -> list[Tensor]:
    return [torch.randn(batch, channels, height, width, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
