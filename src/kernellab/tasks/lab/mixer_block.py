"""A block of an MLP-Mixer: products over the patches, then over the channels, each after a norm."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BATCH, PATCHES, CHANNELS = 64, 196, 768
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 1, "patches": 49, "channels": 128},
    "small": {"batch": 2, "patches": 6, "channels": 16},
    "held_out": [{"batch": 5, "patches": 196, "channels": 512}, {"batch": 100, "patches": 49, "channels": 768}],
    "edge": [{"batch": 1, "patches": 1, "channels": 16}, {"batch": 1, "patches": 65, "channels": 32}],
}


class Model(nn.Module):
    def __init__(self, patches: int = PATCHES, channels: int = CHANNELS, dtype: str = "float32") -> None:
        super().__init__()
        kind = getattr(torch, dtype)
        self.norms = nn.ModuleList(nn.LayerNorm(channels, dtype=kind) for _ in range(2))
        self.across = self.layers(patches, channels // 2, kind)
        self.along = self.layers(channels, channels * 4, kind)

    def layers(self, width: int, hidden: int, kind: torch.dtype) -> nn.Sequential:
        return nn.Sequential(nn.Linear(width, hidden, dtype=kind), nn.GELU(), nn.Linear(hidden, width, dtype=kind))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.across(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.norms[1](x))


def get_inputs(
    batch: int = BATCH, patches: int = PATCHES, channels: int = CHANNELS, dtype: str = "float32"
) -> list[Tensor]:
    return [torch.randn(batch, patches, channels, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
