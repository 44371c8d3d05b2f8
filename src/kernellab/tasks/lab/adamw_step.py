"""One step of AdamW: new weights and both new moments."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ELEMENTS = 1 << 26
DTYPES = ("float32",)
SIZES = {
    "cpu": {"elements": 65536},
    "small": {"elements": 50},
    "held_out": [{"elements": 30000001}, {"elements": 1000003}],
    "edge": [{"elements": 1}, {"elements": 4097}],
}


class Model(nn.Module):
    """`step` is how many steps were taken before, plus one, as a tensor: it changes from call to call."""

    def __init__(self, rate: float = 3e-4, decay: float = 0.1, eps: float = 1e-8) -> None:
        super().__init__()
        self.rate, self.decay, self.eps = rate, decay, eps
        self.first, self.second = 0.9, 0.95

    def forward(self, p: Tensor, g: Tensor, m: Tensor, v: Tensor, step: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        m = self.first * m + (1 - self.first) * g
        v = self.second * v + (1 - self.second) * g * g
        root = torch.sqrt(v / (1 - self.second**step)) + self.eps
        change = m / (1 - self.first**step) / root
        return p * (1 - self.rate * self.decay) - self.rate * change, m, v


def get_inputs(elements: int = ELEMENTS) -> list[Tensor]:
    p, g, m = (torch.randn(elements) for _ in range(3))
    return [p, g * 0.01, m * 0.01, torch.rand(elements) * 1e-4, torch.tensor(7.0)]


def get_init_inputs() -> list[float]:
    return []
