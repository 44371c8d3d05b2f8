"""Images made twice as large with bilinear weights, as in decoders."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BATCH, CHANNELS, HEIGHT, WIDTH = 16, 64, 128, 128
DTYPES = ("float32",)
SIZES = {
    "cpu": {"batch": 1, "channels": 16, "height": 32, "width": 32},
    "small": {"batch": 2, "channels": 3, "height": 5, "width": 4},
    "held_out": [
        {"batch": 3, "channels": 100, "height": 97, "width": 113},
        {"batch": 1, "channels": 512, "height": 32, "width": 24},
    ],
    "edge": [
        {"batch": 1, "channels": 1, "height": 1, "width": 1},
        {"batch": 1, "channels": 2, "height": 3, "width": 31},
    ],
}


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


def get_inputs(
    batch: int = BATCH, channels: int = CHANNELS, height: int = HEIGHT, width: int = WIDTH, dtype: str = "float32"
) -> list[Tensor]:
    return [torch.randn(batch, channels, height, width, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
