"""The gradients of a layer norm: of its rows, its weight and its bias."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROWS, COLUMNS = 16384, 4096
DTYPES = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 512, "columns": 1024},
    "small": {"rows": 6, "columns": 48},
    "held_out": [{"rows": 10000, "columns": 1536}, {"rows": 100, "columns": 12288}],
    "edge": [{"rows": 1, "columns": 2}, {"rows": 3, "columns": 1025}],
}


class Model(nn.Module):
    """`mean` and `rstd` were kept by the forward pass, in float32."""

    def forward(
        self, grad: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        wide = grad.float()
        normal = (x.float() - mean) * rstd
        inner = wide * weight.float()
        along = normal * (inner * normal).mean(-1, keepdim=True)
        grad_x = (inner - inner.mean(-1, keepdim=True) - along) * rstd
        return grad_x.to(x.dtype), (wide * normal).sum(0).to(x.dtype), wide.sum(0).to(x.dtype)


def get_inputs(rows: int = ROWS, columns: int = COLUMNS, dtype: str = "float32") -> list[Tensor]:
    kind = getattr(torch, dtype)
    x = torch.randn(rows, columns, dtype=kind)
    mean = x.float().mean(-1, keepdim=True)
    rstd = torch.rsqrt(x.float().var(-1, keepdim=True, correction=0) + 1e-5)
    return [torch.randn(rows, columns, dtype=kind), x, torch.rand(columns, dtype=kind) + 0.5, mean, rstd]


def get_init_inputs() -> list[int | str]:
    return []
