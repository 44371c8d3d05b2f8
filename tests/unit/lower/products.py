"""Functions with products in them, with inputs of awkward sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from kernellab.graph.live import capture_object
from kernellab.graph.record import GraphRecord


@dataclass(frozen=True)
class Subject:
    """`others`: shapes of the arguments that the same text must serve."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    others: tuple[tuple[tuple[int, ...], ...], ...] = ()
    dtype: torch.dtype = torch.float32
    timed: int | None = None
    whole: tuple[str, ...] = ()
    """Arguments that are whole numbers."""

    def sizes(self, record: GraphRecord) -> dict[str, int]:
        """What a text is written for; it must serve the others as well."""
        return {s.name: self.timed or s.example for s in record.symbols}


def attend(q: Any, k: Any) -> Any:
    return torch.einsum("bhqd,bhkd->bhqk", q, k) * 0.25


def heads(x: Any, w: Any) -> Any:
    """A view behind the product splits its axes."""
    return (x @ w).view(x.shape[0], x.shape[1], 4, 8).transpose(1, 2) + 1


def block(x: Any, w: Any, bias: Any, scale: Any) -> Any:
    return functional.gelu(functional.linear(x, w, bias)) * scale + x[..., :1]


def mlp(x: Any, w: Any, v: Any) -> Any:
    return torch.relu(x @ w) @ v


def logs(x: Any, w: Any) -> Any:
    """Where nothing is, a logarithm is none."""
    return torch.log(x.abs()) @ torch.exp(w)


def gated(x: Any, w: Any, v: Any) -> Any:
    return functional.silu(x @ w) * (x @ v)


def softened(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v


def causal(q: Any, k: Any, v: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def shared_keys(q: Any, k: Any, v: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def biased(q: Any, k: Any, v: Any, bias: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def filled(q: Any, k: Any, v: Any) -> Any:
    """Keys up to two places ahead are seen; the result is used further."""
    scores = q @ k.transpose(-1, -2)
    ahead = torch.arange(k.shape[-2])[None, :] - torch.arange(q.shape[-2])[:, None] > 2
    return torch.relu(torch.softmax(scores.masked_fill(ahead, float("-inf")), -1) @ v) + 1


def decoded(q: Any, k: Any, v: Any, lengths: Any) -> Any:
    """One query over a cache of which each sequence fills a part."""
    seen = torch.arange(k.shape[2]) < lengths[:, None]
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, None, :], enable_gqa=True)


def decoded_alone(q: Any, k: Any, v: Any, lengths: Any) -> Any:
    """The same, each head with keys of its own."""
    seen = torch.arange(k.shape[2]) < lengths[:, None]
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, None, :])


def pooled(x: Any, w: Any) -> Any:
    """One row of weights for each matrix."""
    return (torch.softmax(torch.sigmoid(x @ w), 1).unsqueeze(-1) * x).sum(1)


def projected(x: Any, w: Any, back: Any) -> Any:
    """Heads are split from one product, and joined for another."""
    batch, length, width = x.shape
    q, k, v = (x @ w).split(width, dim=2)
    q, k, v = (t.view(batch, length, 2, width // 2).transpose(1, 2) for t in (q, k, v))
    seen = functional.scaled_dot_product_attention(q, k, v)
    return seen.transpose(1, 2).reshape(batch, length, width) @ back


def normed(x: Any, w: Any) -> Any:
    """Rounded to the type of its input behind the norm, which is of full width."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype) @ w


def turned_heads(q: Any, k: Any, v: Any, cos: Any) -> Any:
    """Queries and keys are made on the way."""
    return functional.scaled_dot_product_attention(q * cos, k * cos, v)


SUBJECTS: dict[str, Subject] = {
    "plain": Subject(
        lambda a, b: a @ b, ((33, 40), (40, 50)), (((2, 2), (2, 2)), ((17, 67), (67, 19)), ((129, 3), (3, 2))),
        timed=600,
    ),
    "ragged": Subject(lambda a, b: a @ b, ((33, 40), (40, 50)), (((2, 2), (2, 2)), ((17, 67), (67, 19)), ((129, 3), (3, 2))), timed=601),
    "ragged_turned": Subject(lambda a, b: a.T @ b.T, ((40, 33), (50, 40)), (((37, 17), (23, 37)),), timed=601),
    "ragged_batches": Subject(lambda a, b: a @ b, ((3, 33, 40), (3, 40, 18)), (((2, 5, 19), (2, 19, 3)),), timed=601),
    "both_turned": Subject(lambda a, b: a.T @ b.T, ((40, 33), (50, 40)), (((37, 17), (23, 37)),)),
    "added": Subject(lambda c, a, b: torch.addmm(c, a, b, alpha=0.5, beta=2), ((50,), (33, 40), (40, 50))),
    "block": Subject(block, ((3, 17, 40), (37, 40), (37,), (37,)), (((2, 5, 40), (37, 40), (37,), (37,)),)),
    "batches": Subject(lambda a, b: a @ b, ((3, 33, 40), (3, 40, 18)), (((2, 5, 19), (2, 19, 3)),)),
    "attend": Subject(attend, ((2, 3, 20, 16), (2, 3, 33, 16)), (((4, 2, 7, 16), (4, 2, 11, 16)),)),
    "heads": Subject(heads, ((2, 21, 40), (40, 32))),
    "logs": Subject(logs, ((33, 19), (19, 50))),
    "mlp": Subject(mlp, ((33, 40), (40, 64), (64, 18))),
    "gated": Subject(gated, ((33, 40), (40, 64), (40, 64))),
    "short": Subject(block, ((17, 40), (37, 40), (37,), (37,)), dtype=torch.bfloat16),
    "short_normed": Subject(normed, ((33, 40), (40, 50)), (((17, 67), (67, 19)),), dtype=torch.bfloat16),
    "half": Subject(lambda a, b: a @ b, ((33, 40), (40, 50)), dtype=torch.float16),
    "widened": Subject(lambda a, b: torch.exp(a.float()) @ b.float(), ((33, 40), (40, 50)), dtype=torch.bfloat16),
}  # fmt: skip

_CONVOLUTIONS: dict[str, tuple[nn.Module, tuple[int, ...], tuple[int, ...]]] = {
    "conv_plain": (nn.Conv2d(5, 7, (3, 2)), (2, 5, 9, 8), (3, 5, 4, 2)),
    "conv_one": (nn.Conv1d(6, 17, 5, stride=2, padding=3), (2, 6, 23), (1, 6, 2)),
    "conv_wide": (nn.Conv2d(33, 20, 3, stride=(2, 1), padding=(1, 2)), (2, 33, 7, 6), (1, 33, 5, 9)),
    "conv_far": (nn.Conv2d(4, 6, 3, dilation=(2, 3), padding=2), (2, 4, 11, 13), (3, 4, 6, 5)),
    "conv_groups": (nn.Conv2d(12, 20, 3, groups=4, padding=1), (3, 12, 6, 5), (1, 12, 2, 3)),
    "conv_three": (nn.Conv3d(3, 5, (2, 3, 2), padding=(0, 1, 1), stride=(1, 2, 1)), (2, 3, 5, 6, 7), (1, 3, 2, 3, 4)),
    "conv_deep": (nn.Conv2d(64, 10, 3, padding=1), (2, 64, 4, 5), (2, 64, 2, 3)),
    "turned": (nn.ConvTranspose2d(5, 7, (3, 4), stride=2, padding=1), (2, 5, 6, 5), (1, 5, 2, 3)),
    "turned_even": (nn.ConvTranspose2d(5, 7, 4, stride=2, padding=1), (2, 5, 4, 5), (3, 5, 3, 2)),
    "turned_one": (nn.ConvTranspose1d(6, 16, 3, stride=3, output_padding=2, groups=2), (2, 6, 9), (3, 6, 4)),
    "turned_far": (nn.ConvTranspose2d(5, 7, 3, dilation=2, stride=(2, 1)), (2, 5, 6, 5), (1, 5, 2, 3)),
    "turned_three": (nn.ConvTranspose3d(4, 5, (3, 3, 2), stride=(2, 1, 2), padding=1), (2, 4, 3, 4, 3), (3, 4, 2, 3, 5)),
}  # fmt: skip
SUBJECTS |= {
    name: Subject(nn.Sequential(layer, nn.ReLU()), (shape,), ((other,),))
    for name, (layer, shape, other) in _CONVOLUTIONS.items()
}
_HEADS, _FEW = (2, 2, 37, 24), (2, 2, 21, 24)
_OTHER, _LESS = (1, 3, 5, 24), (1, 3, 3, 24)
ATTENTION: dict[str, Subject] = {
    "softened": Subject(softened, (_HEADS, _FEW, (2, 2, 21, 18)), ((_OTHER, _LESS, (1, 3, 3, 20)),)),
    "causal": Subject(causal, (_HEADS, _FEW, _FEW), ((_OTHER, _LESS, _LESS), ((1, 3, 70, 24), _LESS, _LESS))),
    "causal_long": Subject(causal, (_FEW, _HEADS, _HEADS), ((_LESS, _OTHER, _OTHER),)),
    "shared_keys": Subject(shared_keys, ((2, 4, 37, 24), *((2, 2, 37, 24),) * 2), (((1, 6, 5, 24), *((1, 3, 5, 24),) * 2),)),
    "biased": Subject(biased, (_HEADS, _FEW, _FEW, (37, 21)), ((_OTHER, _LESS, _LESS, (5, 3)),)),
    "filled": Subject(filled, (_HEADS, _FEW, _FEW), ((_OTHER, _LESS, _LESS),)),
    "short_causal": Subject(causal, (_HEADS,) * 3, ((_OTHER,) * 3,), dtype=torch.bfloat16),
    "short_softened": Subject(softened, (_HEADS, _FEW, _FEW), dtype=torch.float16),
    "short_turned": Subject(turned_heads, (_HEADS, _FEW, _FEW, (24,)), dtype=torch.bfloat16),
    "decoded": Subject(
        decoded, ((2, 4, 1, 24), *((2, 2, 37, 24),) * 2, (2,)), (((3, 2, 1, 24), *((3, 1, 5, 24),) * 2, (3,)),), whole=("lengths",),
    ),
    "short_decoded": Subject(decoded, ((2, 4, 1, 24), *((2, 2, 37, 24),) * 2, (2,)), dtype=torch.bfloat16, whole=("lengths",)),
    "decoded_alone": Subject(
        decoded_alone, ((2, 3, 1, 24), *((2, 3, 37, 24),) * 2, (2,)), (((3, 2, 1, 24), *((3, 2, 5, 24),) * 2, (3,)),), whole=("lengths",),
    ),
    "short_decoded_alone": Subject(decoded_alone, ((2, 3, 1, 24), *((2, 3, 37, 24),) * 2, (2,)), dtype=torch.bfloat16, whole=("lengths",)),
    "pooled": Subject(pooled, ((2, 37, 24), (24,)), (((3, 5, 24), (24,)),)),
    "projected": Subject(projected, ((2, 37, 48), (48, 144), (48, 48)), (((3, 5, 48), (48, 144), (48, 48)),)),
}  # fmt: skip
SUBJECTS |= ATTENTION
ONE_ROW = ("decoded_alone", "short_decoded_alone", "pooled")
"""Rows by themselves: nothing for tensor cores."""


@cache
def record_of(name: str) -> GraphRecord:
    subject = SUBJECTS[name]
    torch.manual_seed(0)
    names = list(signature(subject.function).parameters) if subject.whole else []
    given = [
        torch.randint(1, 20, shape) if number < len(names) and names[number] in subject.whole else torch.rand(shape).to(subject.dtype)
        for number, shape in enumerate(subject.shapes)
    ]  # fmt: skip
    return capture_object(subject.function, tuple(given), name)
