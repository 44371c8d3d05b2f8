"""Functions with products in them, with inputs of awkward sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.nn import functional as nn

from kernellab.graph.live import capture_object
from kernellab.graph.record import GraphRecord


@dataclass(frozen=True)
class Subject:
    """`others`: shapes of the inputs that the same text must serve."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    others: tuple[tuple[tuple[int, ...], ...], ...] = ()
    dtype: torch.dtype = torch.float32


def attend(q: Any, k: Any) -> Any:
    return torch.einsum("bhqd,bhkd->bhqk", q, k) * 0.25


def heads(x: Any, w: Any) -> Any:
    """A view behind the product splits its axes."""
    return (x @ w).view(x.shape[0], x.shape[1], 4, 8).transpose(1, 2) + 1


def block(x: Any, w: Any, bias: Any, scale: Any) -> Any:
    return torch.nn.functional.gelu(nn.linear(x, w, bias)) * scale + x[..., :1]


def mlp(x: Any, w: Any, v: Any) -> Any:
    return torch.relu(x @ w) @ v


def logs(x: Any, w: Any) -> Any:
    """Where nothing is, a logarithm is none."""
    return torch.log(x.abs()) @ torch.exp(w)


def gated(x: Any, w: Any, v: Any) -> Any:
    return nn.silu(x @ w) * (x @ v)


SUBJECTS: dict[str, Subject] = {
    "plain": Subject(
        lambda a, b: a @ b, ((33, 40), (40, 50)), (((2, 2), (2, 2)), ((17, 67), (67, 19)), ((129, 3), (3, 2))),
    ),
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
    "half": Subject(lambda a, b: a @ b, ((33, 40), (40, 50)), dtype=torch.float16),
    "widened": Subject(lambda a, b: torch.exp(a.float()) @ b.float(), ((33, 40), (40, 50)), dtype=torch.bfloat16),
}  # fmt: skip


@cache
def record_of(name: str) -> GraphRecord:
    subject = SUBJECTS[name]
    torch.manual_seed(0)
    return capture_object(subject.function, tuple(torch.rand(s).to(subject.dtype) for s in subject.shapes), name)
