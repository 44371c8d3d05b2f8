"""A block of a language model: norm, rotary attention, norm, SwiGLU feed-forward."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BATCH, LENGTH, CHANNELS, HEADS = 2, 2048, 2048, 16
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 1, "length": 64, "channels": 96, "heads": 4},
    "small": {"batch": 2, "length": 5, "channels": 24, "heads": 2},
    "held_out": [
        {"batch": 1, "length": 1000, "channels": 1536, "heads": 12},
        {"batch": 8, "length": 512, "channels": 768, "heads": 12},
    ],
    "edge": [
        {"batch": 1, "length": 1, "channels": 24, "heads": 2},
        {"batch": 1, "length": 129, "channels": 48, "heads": 4},
    ],
}


class Model(nn.Module):
    def __init__(self, channels: int = CHANNELS, heads: int = HEADS, dtype: str = "float32") -> None:
        super().__init__()
        kind = getattr(torch, dtype)
        hidden = 8 * channels // 3
        self.heads = heads
        self.norms = nn.ModuleList(nn.RMSNorm(channels, eps=1e-6, dtype=kind) for _ in range(2))
        self.qkv = nn.Linear(channels, 3 * channels, bias=False, dtype=kind)
        self.out = nn.Linear(channels, channels, bias=False, dtype=kind)
        self.up = nn.Linear(channels, 2 * hidden, bias=False, dtype=kind)
        self.down = nn.Linear(hidden, channels, bias=False, dtype=kind)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(self.norms[0](x), cos, sin)
        gate, value = self.up(self.norms[1](x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * value)

    def attention(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        parts = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, k = self.turned(parts[0], cos, sin), self.turned(parts[1], cos, sin)
        y = F.scaled_dot_product_attention(q, k, parts[2], is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))

    def turned(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        one, other = x.chunk(2, -1)
        return x * cos + torch.cat([-other, one], -1) * sin


def get_inputs(
    batch: int = BATCH, length: int = LENGTH, channels: int = CHANNELS, heads: int = HEADS, dtype: str = "float32"
) -> list[Tensor]:
    kind = getattr(torch, dtype)
    width = channels // heads
    rates = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.cat([torch.arange(length)[:, None] * rates] * 2, -1)
    return [torch.randn(batch, length, channels, dtype=kind), angles.cos().to(kind), angles.sin().to(kind)]


def get_init_inputs() -> list[int | str]:
    return []
