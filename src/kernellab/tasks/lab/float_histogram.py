"""Counts of floats in 256 equal bins between 0 and 1; what lies outside goes to the first or the last."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ELEMENTS, BINS = 1 << 26, 256
DTYPES = ("float32",)
SIZES = {
    "cpu": {"elements": 65536},
    "small": {"elements": 500},
    "held_out": [{"elements": 30000001}, {"elements": 1000003}],
    "edge": [{"elements": 1}, {"elements": 4097}],
}


class Model(nn.Module):
    """256 is a power of two, so x * 256 is exact and every element has one right bin: counts are judged exactly."""

    def __init__(self, bins: int = BINS) -> None:
        super().__init__()
        self.bins = bins

    def forward(self, x: Tensor) -> Tensor:
        place = torch.floor(x * float(self.bins)).clamp(0, self.bins - 1).long()
        counts = torch.zeros(self.bins, dtype=torch.int64, device=x.device)
        return counts.scatter_add(0, place, torch.ones_like(place))


def get_inputs(elements: int = ELEMENTS) -> list[Tensor]:
    return [torch.randn(elements) * 0.3 + 0.5]


def get_init_inputs() -> list[int | str]:
    return []
