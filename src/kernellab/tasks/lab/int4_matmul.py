"""A product with 4-bit weights, two in a byte, with a factor and a zero for each group of columns."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS, COLUMNS, OUTPUTS, GROUP = 16, 4096, 11008, 128
DTYPES = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 8, "columns": 512, "outputs": 512, "group": 64},
    "small": {"rows": 4, "columns": 32, "outputs": 24, "group": 8},
    "held_out": [
        {"rows": 1, "columns": 5120, "outputs": 5120, "group": 128},
        {"rows": 256, "columns": 4096, "outputs": 4096, "group": 64},
    ],
    "edge": [{"rows": 1, "columns": 128, "outputs": 3, "group": 128}],
}


class Model(nn.Module):
    """The low half of a byte is the even column. Weight = (nibble - zero) * factor."""

    def __init__(
        self, columns: int = COLUMNS, outputs: int = OUTPUTS, group: int = GROUP, dtype: str = "float32"
    ) -> None:
        super().__init__()
        kind = getattr(torch, dtype)
        self.group = group
        self.register_buffer("packed", torch.randint(0, 256, (outputs, columns // 2), dtype=torch.uint8))
        self.register_buffer("factor", torch.rand(outputs, columns // group, dtype=kind) / 8)
        self.register_buffer("zero", torch.randint(0, 16, (outputs, columns // group), dtype=torch.uint8))
        self.packed: Tensor
        self.factor: Tensor
        self.zero: Tensor

    def forward(self, x: Tensor) -> Tensor:
        nibbles = torch.stack([self.packed & 15, self.packed >> 4], -1).flatten(1)
        grouped = nibbles.unflatten(1, (-1, self.group)).float() - self.zero.float()[..., None]
        weight = (grouped * self.factor.float()[..., None]).flatten(1)
        return F.linear(x.float(), weight).to(x.dtype)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs() -> list[int | str]:
    return []
