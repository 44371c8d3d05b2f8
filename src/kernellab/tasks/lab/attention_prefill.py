"""Causal attention over a whole prompt, several query heads to one key head."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BATCH, HEADS, GROUPS, LENGTH, WIDTH = 2, 32, 8, 4096, 128
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32",)
SIZES = {
    "cpu": {"batch": 1, "heads": 4, "groups": 2, "length": 128, "width": 64},
    "small": {"batch": 2, "heads": 4, "groups": 2, "length": 9, "width": 8},
    "held_out": [
        {"batch": 1, "heads": 40, "groups": 8, "length": 3000, "width": 128},
        {"batch": 8, "heads": 16, "groups": 4, "length": 777, "width": 64},
    ],
    "edge": [
        {"batch": 1, "heads": 8, "groups": 8, "length": 1, "width": 64},
        {"batch": 1, "heads": 8, "groups": 1, "length": 129, "width": 64},
    ],
}


class Model(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def get_inputs(
    batch: int = BATCH, heads: int = HEADS, groups: int = GROUPS, length: int = LENGTH, width: int = WIDTH,
    dtype: str = "float32",
) -> list[Tensor]:  # fmt: skip
    kind = getattr(torch, dtype)
    k, v = (torch.randn(batch, groups, length, width, dtype=kind) for _ in range(2))
    return [torch.randn(batch, heads, length, width, dtype=kind), k, v]


def get_init_inputs() -> list[int | str]:
    return []
