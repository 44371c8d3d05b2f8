"""The short causal convolution of state-space models: four taps a channel, then SiLU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BATCH, CHANNELS, LENGTH = 8, 4096, 4096
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 1, "channels": 64, "length": 256},
    "small": {"batch": 2, "channels": 5, "length": 11},
    "held_out": [{"batch": 1, "channels": 5120, "length": 3000}, {"batch": 16, "channels": 1536, "length": 777}],
    "edge": [{"batch": 1, "channels": 1, "length": 2}, {"batch": 2, "channels": 3, "length": 1025}],
}


class Model(nn.Module):
    def __init__(self, channels: int = CHANNELS, taps: int = 4, dtype: str = "float32") -> None:
        super().__init__()
        kind = getattr(torch, dtype)
        self.conv = nn.Conv1d(channels, channels, taps, padding=taps - 1, groups=channels, dtype=kind)
        self.taps = taps

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.conv(x)[..., : x.shape[-1]])


def get_inputs(
    batch: int = BATCH, channels: int = CHANNELS, length: int = LENGTH, dtype: str = "float32"
) -> list[Tensor]:
    return [torch.randn(batch, channels, length, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
