"""The mean of every channel of an image."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BATCH, CHANNELS, HEIGHT, WIDTH = 256, 512, 28, 28
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 4, "channels": 64, "height": 28, "width": 28},
    "small": {"batch": 2, "channels": 3, "height": 9, "width": 8},
    "held_out": [
        {"batch": 100, "channels": 2048, "height": 7, "width": 7},
        {"batch": 8, "channels": 64, "height": 112, "width": 96},
    ],
    "edge": [
        {"batch": 1, "channels": 1, "height": 1, "width": 1},
        {"batch": 1, "channels": 2, "height": 5, "width": 31},
    ],
}


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.float().mean((2, 3)).to(x.dtype)


def get_inputs(
    batch: int = BATCH, channels: int = CHANNELS, height: int = HEIGHT, width: int = WIDTH, dtype: str = "float32"
) -> list[Tensor]:
    return [torch.randn(batch, channels, height, width, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
