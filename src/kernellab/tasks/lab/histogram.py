"""How often each of 256 values comes in an image of bytes, for each image of a batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BATCH, PIXELS, BINS = 64, 1 << 20, 256
DTYPES = ("uint8",)
SIZES = {
    "cpu": {"batch": 4, "pixels": 16384},
    "small": {"batch": 3, "pixels": 200},
    "held_out": [{"batch": 7, "pixels": 3000001}, {"batch": 1000, "pixels": 10000}],
    "edge": [{"batch": 1, "pixels": 1}, {"batch": 2, "pixels": 4097}],
}


class Model(nn.Module):
    """Counts are whole numbers and judged exactly."""

    def __init__(self, bins: int = BINS) -> None:
        super().__init__()
        self.bins = bins

    def forward(self, x: Tensor) -> Tensor:
        counts = torch.zeros(x.shape[0], self.bins, dtype=torch.int64, device=x.device)
        return counts.scatter_add(1, x.long(), torch.ones_like(x, dtype=torch.int64))


def get_inputs(batch: int = BATCH, pixels: int = PIXELS, bins: int = BINS) -> list[Tensor]:
    """Dark pixels are more frequent, as in photographs."""
    return [(torch.rand(batch, pixels) ** 2 * bins).to(torch.uint8)]


def get_init_inputs() -> list[int | str]:
    return []
