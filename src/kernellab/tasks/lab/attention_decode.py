"""Attention of one new token over a cache of keys and values of which each sequence fills a part."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BATCH, HEADS, GROUPS, LENGTH, WIDTH = 32, 32, 8, 8192, 128
DTYPES = ("float32", "bfloat16")
SIZES = {
    "cpu": {"batch": 4, "heads": 8, "groups": 2, "length": 256, "width": 64},
    "small": {"batch": 3, "heads": 4, "groups": 2, "length": 10, "width": 8},
    "held_out": [
        {"batch": 7, "heads": 40, "groups": 8, "length": 5000, "width": 128},
        {"batch": 1, "heads": 32, "groups": 8, "length": 32768, "width": 128},
    ],
    "edge": [
        {"batch": 1, "heads": 8, "groups": 8, "length": 1, "width": 64},
        {"batch": 2, "heads": 8, "groups": 1, "length": 129, "width": 64},
    ],
}


class Model(nn.Module):
    """`lengths` says how much of the cache counts. Query heads share key heads in groups."""

    def forward(self, q: Tensor, keys: Tensor, values: Tensor, lengths: Tensor) -> Tensor:
        seen = torch.arange(keys.shape[2], device=q.device) < lengths[:, None]
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen[:, None, None, :], enable_gqa=True)


def get_inputs(
    batch: int = BATCH, heads: int = HEADS, groups: int = GROUPS, length: int = LENGTH, width: int = WIDTH,
    dtype: str = "float32",
) -> list[Tensor]:  # fmt: skip
    kind = getattr(torch, dtype)
    keys, values = (torch.randn(batch, groups, length, width, dtype=kind) for _ in range(2))
    lengths = torch.randint(1, length + 1, (batch,))
    return [torch.randn(batch, heads, 1, width, dtype=kind), keys, values, lengths]


def get_init_inputs() -> list[int | str]:
    return []
