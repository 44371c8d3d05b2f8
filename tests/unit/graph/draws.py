"""Inputs of several distributions, and operands rounded as fast hardware rounds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tests.unit.graph.modules import Case

from kernellab.graph.record import GraphRecord

DISTRIBUTIONS = ("normal", "signed", "sparse", "heavy", "offset")


def named(record: GraphRecord, case: Case, inputs: tuple[torch.Tensor, ...] | None = None) -> dict[str, torch.Tensor]:
    """A tensor for each of the record's inputs: the case's own, or others of the same shapes, and the module's weights."""
    state = case.subject.state_dict() if isinstance(case.subject, torch.nn.Module) else {}
    given = iter(inputs or case.inputs)
    return {i.name: next(given) if i.role == "input" else state[i.source] for i in record.inputs}


def drawn(case: Case, distribution: str, seed: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(like(x, distribution, generator) if x.is_floating_point() else x for x in case.inputs)


def like(x: torch.Tensor, distribution: str, generator: torch.Generator) -> torch.Tensor:
    normal = torch.randn(x.shape, generator=generator)
    if distribution == "signed":
        return 2 * torch.rand(x.shape, generator=generator) - 1
    if distribution == "sparse":
        kept = torch.rand(x.shape, generator=generator) < 4 / max(4, x.shape[-1] if x.dim() else 1)
        return normal * kept
    if distribution == "heavy":
        return normal / torch.rand(x.shape, generator=generator).clamp(min=1e-3) ** (1 / 1.2)
    return normal + 30 if distribution == "offset" else normal


def kept_bits(bits: int) -> Callable[[Any], Any]:
    """Rounds float32 to so many bits after the first: 10 for TF32 and float16, 7 for bfloat16."""

    def rounded(x: torch.Tensor) -> torch.Tensor:
        whole = x.float().contiguous().view(torch.int32)
        half = 1 << (22 - bits)
        return ((whole + half) & ~(2 * half - 1)).view(torch.float32).to(x.dtype)

    return rounded
