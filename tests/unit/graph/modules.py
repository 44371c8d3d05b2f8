"""Small modules of our own, one for each form of operator, with inputs to run them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Case:
    """`precise`: whether products are in it whose low precision its output can show."""

    subject: Callable[..., Any]
    inputs: tuple[torch.Tensor, ...]
    precise: bool = False


def _draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _labels(count: int, classes: int) -> torch.Tensor:
    return torch.randint(0, classes, (count,), generator=torch.Generator().manual_seed(1))


class Block(nn.Module):
    """Weights first, then any function of the result."""

    def __init__(self, layer: nn.Module, after: Callable[[torch.Tensor], Any] = lambda y: y) -> None:
        super().__init__()
        self.layer, self.after = layer, after

    def forward(self, x: torch.Tensor) -> Any:
        return self.after(self.layer(x))


class Each(nn.Module):
    """Several layers, each on an input of its own."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(layer(x) for layer, x in zip(self.layers, inputs, strict=True))


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Embedder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.out = nn.Linear(16, 8)

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.out(self.table(index).mean(1))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Masked(nn.Module):
    """Softmax of products under a causal mask that is a buffer."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("seen", torch.ones(size, size).tril().bool())

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return (q @ k.transpose(-2, -1) / 4).masked_fill(~self.seen, float("-inf")).softmax(-1)


def pointwise(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) * torch.exp(-y.abs()) + F.silu(x) / (1 + y * y) - 0.5


def activations(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.relu(x), F.leaky_relu(x, 0.1), F.gelu(x), F.gelu(x, approximate="tanh"), F.elu(x), F.selu(x), F.celu(x),
        F.softplus(x), F.mish(x), F.hardswish(x), F.hardsigmoid(x), F.hardtanh(x), F.logsigmoid(x), F.softsign(x),
        torch.sigmoid(x), F.relu6(x), F.softshrink(x), F.hardshrink(x), F.tanhshrink(x), F.glu(x), F.threshold(x, 0.1, 2.0),
    )  # fmt: skip


def losses(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    p = torch.sigmoid(y)
    return (
        F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y),
        F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"), F.binary_cross_entropy_with_logits(x, p),
        torch.mean(torch.clamp(1 - x * torch.sign(y), min=0)), F.cosine_embedding_loss(x, y, torch.ones(x.shape[0])),
        F.triplet_margin_loss(x, y, p), F.soft_margin_loss(x, torch.sign(y)), F.poisson_nll_loss(x, p),
    )  # fmt: skip


def reductions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x.sum(1), x.mean(), x.amax(1), x.amin(0), x.max(1).values, x.var(1), x.std(0), x.norm(dim=1), x.abs().sum(1),
        torch.logsumexp(x, 1), x[:, :6].prod(1), x.abs().amax(), torch.linalg.vector_norm(x, ord=3, dim=1),
    )  # fmt: skip


def arguments(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.argmax(1), x.argmin(0), x.max(1).indices, x.argmax(), (x @ x.T).argmax(1)


def scans(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    masked = x.masked_fill(x > 1, 0.0)
    return x.cumsum(1), x[:, :20].cumprod(1), x.flip(1).cumsum(1).flip(1), masked.cumsum(0), x.cummax(1).values


def layouts(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.cat([x, y], 1), torch.stack([x, y]).permute(2, 0, 1).contiguous(), x.repeat(1, 2), F.pad(x, (1, 2), value=3.0),
        x.roll(3, 1), x.tril(), x.unfold(1, 4, 2).contiguous(), torch.chunk(x, 2, 1)[1] * 2, x.T.clone(), x[:, ::3] + 0, x.diagonal() * 1,
    )  # fmt: skip


def gathers(x: torch.Tensor, index: torch.Tensor) -> tuple[torch.Tensor, ...]:
    column = index.unsqueeze(1)
    return (
        x.gather(1, column), x[index], x.index_select(0, index % 4), torch.zeros_like(x).scatter(1, column, x),
        torch.zeros_like(x).scatter_add(1, column, x), torch.zeros_like(x).index_add(0, index % 4, x),
    )  # fmt: skip


def reduced(x: torch.Tensor, index: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """By the place that each row is sent to; the last places get nothing."""
    places, y = (index % 4).unsqueeze(1).expand_as(x), x.new_ones(6, x.shape[1])
    return tuple(
        y.scatter_reduce(0, places, x, how, include_self=included)
        for how in ("sum", "mean", "prod", "amax", "amin") for included in (True, False)
    )  # fmt: skip


def sampled(x: torch.Tensor, places: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.grid_sample(x, places, align_corners=False), F.grid_sample(x, places, "nearest", "border", align_corners=True)
    )  # fmt: skip


def masks(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.where(x > 0, x, y * 2), torch.where(x + y > 0.5, x, y.exp()), (x > y).float(), torch.sign(x) * y,
        x.clamp(-1, 1) + y, torch.maximum(x * 1.1, y), (x * y > 0).any(1), torch.floor(x * 3), (x > 0) & (y > 0),
    )  # fmt: skip


def sorts(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    top = (x * 1.5).topk(3, 1)
    return top.values, top.indices, x.sort(1).values, x.sort(1).indices


def pools(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1), F.adaptive_avg_pool2d(x, (2, 2)),
        F.adaptive_max_pool2d(x, 2), F.max_pool1d(x[0], 2), F.avg_pool1d(x[0], 2), F.adaptive_avg_pool2d(x, 1),
        F.max_pool2d(x, 2, dilation=2), F.avg_pool2d(x, 3, 2, 0, ceil_mode=True), F.lp_pool2d(x.abs(), 2, 2),
        F.max_pool3d(x.unsqueeze(1), (1, 2, 2)), F.avg_pool3d(x.unsqueeze(1), (1, 2, 2)),
    )  # fmt: skip


def resampled(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.interpolate(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear"), F.pad(x, (1, 1, 2, 1), mode="reflect"),
        F.pad(x, (1, 1, 1, 1), mode="replicate")
    )  # fmt: skip


def products(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x @ y.T,
        torch.einsum("ik,jk->ij", x, y),
        torch.bmm(x[None], y.T[None]),
        torch.cdist(x, y),
    )


def vector_products(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Exported as products and a sum: no operator with operands that could be rounded."""
    return x @ y[0], x[0] @ y[0]


def norms(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.unsqueeze(-1)
    return (
        F.layer_norm(x, (x.shape[1],)), F.normalize(x, dim=1), F.instance_norm(x[None]), x / x.abs().sum(1, keepdim=True),
        F.group_norm(x[None], 4), F.rms_norm(x, (x.shape[1],), eps=1e-6), F.local_response_norm(y[None], 3), x.softmax(1), x.log_softmax(0),
    )  # fmt: skip


_SEED = torch.manual_seed(3)
_IMAGE = (2, 6, 12, 10)
CASES: dict[str, Case] = {
    "pointwise chain": Case(pointwise, (_draw(16, 33), _draw(16, 33, seed=1))),
    "activations": Case(activations, (_draw(16, 64),)),
    "broadcast": Case(lambda a, b: (a[:, None] * b + b, b @ b[0]), (_draw(16), _draw(16, 24))),
    "softmax": Case(lambda x: x.softmax(-1), (_draw(16, 64),)),
    "layer norm": Case(nn.LayerNorm(48), (_draw(16, 48),)),
    "norm layers": Case(
        Each(RMSNorm(48), nn.GroupNorm(3, 6), nn.BatchNorm2d(6).eval(), nn.InstanceNorm2d(6), nn.BatchNorm1d(48).eval()),
        (_draw(16, 48), _draw(*_IMAGE), _draw(*_IMAGE), _draw(*_IMAGE), _draw(16, 48, seed=2)),
    ),
    "norms": Case(norms, (_draw(16, 64),)),
    "linear gelu": Case(Block(nn.Linear(64, 32), F.gelu), (_draw(16, 64),), True),
    "products": Case(products, (_draw(12, 40), _draw(9, 40, seed=1)), True),
    "vector products": Case(vector_products, (_draw(12, 40), _draw(9, 40, seed=1))),
    "convolutions": Case(
        Each(nn.Conv1d(6, 8, 3, padding=1), nn.Conv2d(6, 12, 3, groups=3, dilation=2, padding=2), nn.Conv3d(3, 4, 3, padding=1)),
        (_draw(2, 6, 20), _draw(*_IMAGE), _draw(1, 3, 6, 7, 5)), True,
    ),
    "transposed convolutions": Case(
        Each(
            nn.ConvTranspose1d(6, 4, 3, stride=2), nn.ConvTranspose2d(6, 4, 3, 2, 1, 1, groups=2),
            nn.ConvTranspose3d(3, 4, (2, 3, 3), stride=2, dilation=2),
        ),
        (_draw(2, 6, 9), _draw(*_IMAGE), _draw(1, 3, 4, 5, 3)), True,
    ),
    "conv2d relu": Case(Block(nn.Conv2d(6, 8, 3, stride=2), F.relu), (_draw(*_IMAGE),), True),
    "conv norm pool": Case(Block(nn.Sequential(nn.Conv2d(6, 8, 3), nn.GroupNorm(2, 8), nn.MaxPool2d(2)).eval()), (_draw(*_IMAGE),), True),
    "pools": Case(pools, (_draw(*_IMAGE),)),
    "resampled": Case(resampled, (_draw(*_IMAGE),)),
    "scans": Case(scans, (_draw(9, 40),)),
    "reductions": Case(reductions, (_draw(16, 40),)),
    "losses": Case(losses, (_draw(16, 24), _draw(16, 24, seed=1))),
    "cross entropy": Case(F.cross_entropy, (_draw(32, 10), _labels(32, 10))),
    "arguments": Case(arguments, (_draw(16, 33),)),
    "sorts": Case(sorts, (_draw(16, 33),)),
    "attention": Case(Attention(32, 4, causal=False), (_draw(2, 12, 32),), True),
    "causal attention": Case(Attention(32, 4, causal=True), (_draw(2, 12, 32),), True),
    "masked scores": Case(Masked(12), (_draw(2, 12, 16), _draw(2, 12, 16, seed=1)), True),
    "embedding": Case(Embedder(), (torch.randint(0, 50, (8, 5)),), True),
    "layouts": Case(layouts, (_draw(16, 32), _draw(16, 32, seed=1))),
    "gathers": Case(gathers, (_draw(8, 10), _labels(8, 8))),
    "reduced": Case(reduced, (_draw(40, 10), _labels(40, 8))),
    "sampled": Case(sampled, (_draw(*_IMAGE), _draw(2, 5, 7, 2))),
    "masks": Case(masks, (_draw(16, 24), _draw(16, 24, seed=1))),
}  # fmt: skip
