"""Cross entropy of logits over a large vocabulary, averaged over the tokens that count."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROWS, CLASSES = 8192, 128256
DTYPES = ("float32", "bfloat16")
BACKWARD = ("float32", "bfloat16")
SIZES = {
    "cpu": {"rows": 64, "classes": 8192},
    "small": {"rows": 9, "classes": 50},
    "held_out": [{"rows": 4096, "classes": 32000}, {"rows": 1000, "classes": 50257}],
    "edge": [{"rows": 1, "classes": 2}, {"rows": 8, "classes": 4097}],
}


class Model(nn.Module):
    """The loss in float32 whatever the logits are. A target of -100 does not count; one in eight is that."""

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        wide = logits.float()
        counts = target >= 0
        picked = wide.gather(1, target.clamp(min=0)[:, None])[:, 0]
        loss = (torch.logsumexp(wide, 1) - picked) * counts
        return loss.sum() / counts.sum().clamp(min=1)


def get_inputs(rows: int = ROWS, classes: int = CLASSES, dtype: str = "float32") -> list[Tensor]:
    target = torch.randint(0, classes, (rows,))
    target = torch.where(torch.arange(rows) % 8 == 7, -100, target)
    return [torch.randn(rows, classes, dtype=getattr(torch, dtype)), target]


def get_init_inputs() -> list[int | str]:
    return []
