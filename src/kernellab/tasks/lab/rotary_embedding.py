"""Rotary position embedding of queries and keys: pairs of elements turned by an angle of their position."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BATCH, HEADS, LENGTH, WIDTH = 4, 32, 4096, 128
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32", "bfloat16")
SIZES = {
    "cpu": {"batch": 1, "heads": 8, "length": 256, "width": 64},
    "small": {"batch": 2, "heads": 3, "length": 5, "width": 8},
    "held_out": [
        {"batch": 1, "heads": 40, "length": 3000, "width": 128},
        {"batch": 7, "heads": 12, "length": 777, "width": 64},
    ],
    "edge": [{"batch": 1, "heads": 1, "length": 1, "width": 2}, {"batch": 2, "heads": 1, "length": 3, "width": 256}],
}


class Model(nn.Module):
    """The two halves of a head are the pairs; cosines and sines are tables, one row a position."""

    def forward(self, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        return self.turned(q, cos, sin), self.turned(k, cos, sin)

    def turned(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        wide = x.float()
        swapped = torch.cat([-wide[..., half:], wide[..., :half]], -1)
        return (wide * cos + swapped * sin).to(x.dtype)


def get_inputs(
    batch: int = BATCH, heads: int = HEADS, length: int = LENGTH, width: int = WIDTH, dtype: str = "float32"
) -> list[Tensor]:
    kind = getattr(torch, dtype)
    rates = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.cat([torch.arange(length)[:, None] * rates] * 2, -1)
    q, k = (torch.randn(batch, heads, length, width, dtype=kind) for _ in range(2))
    return [q, k, angles.cos(), angles.sin()]


def get_init_inputs() -> list[int | str]:
    return []
