"""Small functions, one for each form of kernel, with inputs whose sizes fill no block."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from kernellab.graph.live import capture_object
from kernellab.graph.record import GraphRecord


def pointwise(x: Any, y: Any) -> Any:
    return torch.nn.functional.gelu(x) * y + torch.nn.functional.leaky_relu(y)


def rows(x: Any) -> Any:
    return torch.log_softmax(x * 0.5, -1)


def shares(x: Any) -> Any:
    return torch.softmax(x * 0.5, -1) + 1


def summed(x: Any) -> Any:
    low = torch.where(x > 0.5, x, -torch.inf)
    low = torch.where(torch.arange(7)[:, None] == 3, -torch.inf, low)  # a row of nothing else
    return torch.logsumexp(torch.where(x > 2.5, torch.inf, low), -1).clamp(-9, 9)  # finite: a task has no other answers


def columns(x: Any) -> Any:
    return x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5)


def loss(x: Any, y: Any) -> Any:
    return ((x - y) ** 2).mean()


def window(x: Any) -> Any:
    return torch.nn.functional.max_pool2d(x, 3, 2, 1)


def chain(a: Any, b: Any) -> Any:
    return torch.softmax(torch.relu(a @ b), -1)


def table(x: Any) -> Any:
    return x * torch.tensor([1.0, -2.0, 0.5, 3.0, 0.25])


def running(x: Any) -> Any:
    return torch.cumsum(torch.relu(x), -1) * 0.5


def running_down(x: Any) -> Any:
    return torch.flip(torch.cumprod(torch.flip(x, [1]) * 0.1 + 1, 1), [1])


def ordered(x: Any) -> Any:
    best = torch.topk(x, 3, -1)
    return best.values, torch.sort(x[:, :5], -1, descending=True).values


def sent(x: Any) -> Any:
    bins = (x.clamp(0, 0.99) * 8).to(torch.int64)
    return x.new_zeros(x.shape[0], 8).scatter_add(1, bins, x)


def counted(x: Any) -> Any:
    bins = (x.clamp(0, 0.99) * 8).to(torch.int64).flatten()
    return torch.zeros(8, dtype=torch.int64).scatter_add(0, bins, torch.ones_like(bins))


def averaged(x: Any) -> Any:
    """Of each place what is sent there, of a place that gets nothing what was there."""
    bins = (x.clamp(0, 0.99) * 8).to(torch.int64)
    there = x.new_ones(x.shape[0], 9)
    return there.scatter_reduce(1, bins, x, "mean", include_self=False), there.scatter_reduce(1, bins, x, "amax")


def sent_rows(x: Any) -> Any:
    rows = (x[:, 0].clamp(0, 0.99) * 4).to(torch.int64)
    return x.new_ones(4, x.shape[1]).index_add(0, rows, x)


def resized(x: Any) -> Any:
    image = torch.nn.functional.pad(x, (1, 2, 0, 1), mode="reflect")
    return torch.nn.functional.interpolate(image, scale_factor=2.0, mode="bilinear")


def packed(x: Any) -> Any:
    whole = (x.clamp(0, 1) * 200).to(torch.int32)
    return ((whole >> 4) & 3).to(torch.float32) * x + torch.remainder(whole, 7).to(torch.float32)


def attended(q: Any, k: Any, v: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def convolved_back(x: Any, weight: Any) -> Any:
    steps = [2, 1], [1, 0], [1, 1], False, [0, 0], 1
    grad = torch.ops.aten.convolution(x, weight, None, *steps).relu()
    return torch.ops.aten.convolution_backward(grad, x, weight, [4], *steps, [True] * 3)


def pooled_back(x: Any) -> Any:
    window = [3, 2], [2, 2], [1, 0], [1, 1], False
    largest, places = torch.ops.aten.max_pool2d_with_indices(x, *window)
    return torch.ops.aten.max_pool2d_with_indices_backward(largest * 0.5, x, *window, places)


def hinge(x: Any, y: Any) -> Any:
    """One of a row's numbers for each of its elements: its axes do not become one."""
    return torch.clamp(1 - x * y, min=0).mean()


def placed(x: Any) -> Any:
    """Whole numbers, so that many are equal."""
    few = torch.floor(x * 5)
    return torch.argmax(few, -1) + torch.argmin(few, -1)


def placed_down(x: Any) -> Any:
    return torch.argmin(torch.floor(x * 5), 1) * 2


def long_shares(x: Any) -> Any:
    return x / x.abs().mean(-1, keepdim=True)


def pooled_mean(x: Any) -> Any:
    """Windows inside a row: of each channel, the mean of its largest."""
    return F.hardtanh(F.max_pool2d(x, 2)).mean((2, 3))


def pooled_shares(x: Any) -> Any:
    """Windows inside a row and behind it."""
    return torch.softmax(F.avg_pool1d(x, 3), -1)


def pooled_down(x: Any) -> Any:
    """Windows of rows that lie side by side."""
    return F.max_pool1d(x, 3, stride=1).mean(1)


def normed_sum(x: Any, y: Any) -> Any:
    """A row's norm and what it is of."""
    h = x + y
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6), h


def gradients(grad: Any, x: Any, weight: Any) -> Any:
    """Of a norm: two sums of each row that don't need each other, and two of each column."""
    inner = grad * weight
    along = x * (inner * x).mean(-1, keepdim=True)
    return inner - inner.mean(-1, keepdim=True) - along, (grad * x).sum(0), grad.sum(0)


def stepped(x: Any, y: Any, z: Any) -> Any:
    """Results that are made of each other, and of sums that stand between them."""
    first = 0.9 * x + 0.1 * y
    second = 0.95 * z + 0.05 * y * y
    return x - first / (second.sqrt() + z.sum(0)), first, second


def turned(x: Any, table: Any) -> Any:
    """Two halves that swap places, by a table that all outer rows share."""
    half = x.shape[-1] // 2
    return x * table + torch.cat([-x[..., half:], x[..., :half]], -1) * (1 - table)


def gated(x: Any) -> Any:
    first, second = x.chunk(2, -1)
    return first * F.gelu(second), second * 2


def stacked(x: Any, last: Any) -> Any:
    """A row of its own behind the others: who reads it is told by the row."""
    return torch.cat([x, (last * 2)[None]], 0).exp()


SUBJECTS: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "pointwise": (pointwise, ((5, 33), (5, 33))), "rows": (rows, ((7, 100),)), "shares": (shares, ((7, 100),)), "columns": (columns, ((3, 20, 9),)),
    "summed": (summed, ((7, 100),)),
    "loss": (loss, ((40, 31), (40, 31))), "window": (window, ((2, 3, 9, 8),)), "chain": (chain, ((9, 20), (20, 17))),
    "groups": (nn.GroupNorm(2, 6), ((2, 6, 5, 4),)), "table": (table, ((7, 5),)),
    "ordered": (ordered, ((6, 19),)), "sent": (sent, ((5, 24),)), "counted": (counted, ((5, 24),)), "sent_rows": (sent_rows, ((9, 21),)), "averaged": (averaged, ((5, 24),)), "resized": (resized, ((2, 3, 6, 5),)),
    "packed": (packed, ((7, 30),)), "attended": (attended, ((2, 2, 9, 8),) * 3),
    "running": (running, ((5, 37),)), "running_down": (running_down, ((3, 7, 9),)),
    "convolved_back": (convolved_back, ((2, 3, 8, 6), (4, 3, 3, 2))), "pooled_back": (pooled_back, ((2, 3, 8, 8),)),
    "long_rows": (rows, ((3, 20_001),)), "long_norm": (nn.LayerNorm(20_001), ((3, 20_001),)), "long_shares": (long_shares, ((3, 20_001),)),
    "hinge": (hinge, ((40, 31), (31,))), "placed": (placed, ((7, 100),)), "placed_down": (placed_down, ((3, 20, 9),)),
    "pooled_mean": (pooled_mean, ((3, 4, 26, 22),)), "pooled_shares": (pooled_shares, ((4, 5, 300),)), "pooled_down": (pooled_down, ((3, 70, 19),)),
    "normed_sum": (normed_sum, ((7, 100),) * 2), "stepped": (stepped, ((9, 40),) * 3), "gradients": (gradients, ((601, 40), (601, 40), (40,))),
    "turned": (turned, ((3, 3, 17, 32), (17, 32))), "gated": (gated, ((5, 1046),)), "stacked": (stacked, ((5, 601), (601,))),
    "swish": (nn.Sequential(nn.GroupNorm(2, 6), nn.SiLU()), ((2, 6, 5, 4),)),
}  # fmt: skip


@cache
def record_of(name: str) -> GraphRecord:
    subject, shapes = SUBJECTS[name]
    torch.manual_seed(0)
    return capture_object(subject, tuple(torch.rand(s) for s in shapes), name)
