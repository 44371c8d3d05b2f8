"""Group norm of images, as in diffusion models, followed by SiLU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BATCH, CHANNELS, HEIGHT, WIDTH = 16, 320, 128, 128
GROUPS = 32
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 2, "channels": 64, "groups": 32, "height": 32, "width": 32},
    "small": {"batch": 2, "channels": 12, "groups": 3, "height": 5, "width": 4},
    "held_out": [
        {"batch": 3, "channels": 640, "height": 64, "width": 48},
        {"batch": 1, "channels": 1280, "height": 24, "width": 40},
    ],
    "edge": [
        {"batch": 1, "channels": 32, "height": 2, "width": 1},
        {"batch": 1, "channels": 64, "height": 7, "width": 9},
    ],
}


class Model(nn.Module):
    def __init__(self, channels: int = CHANNELS, groups: int = GROUPS, dtype: str = "float32") -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, dtype=getattr(torch, dtype))
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.norm(x))


def get_inputs(
    batch: int = BATCH, channels: int = CHANNELS, height: int = HEIGHT, width: int = WIDTH, dtype: str = "float32"
) -> list[Tensor]:
    return [torch.randn(batch, channels, height, width, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
