"""Group-relative policy optimisation, the core: what a group's rewards say of each of its samples, and the loss.

A sample's advantage is how far its reward lies from its group's mean, in the group's own spread; one without a reward says
nothing. The loss is the clipped ratio of the policy to the one that sampled, and a penalty for leaving the reference (k3:
never negative, unbiased). Torch is imported when a loss is made.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kernellab.core.errors import UsageError
from kernellab.learn.extra import needed

if TYPE_CHECKING:
    from torch import Tensor

_LEAST_SPREAD = 1e-4


@dataclass(frozen=True)
class GrpoSettings:
    """`clip`: how far the ratio may leave 1 before it stops paying. `beta`: weight of the penalty; 0: without a reference.
    `most`: of an advantage, either way. `average`: of tokens within each sample first, or of all tokens alike."""

    clip: float = 0.2
    beta: float = 0.04
    most: float = 1.5
    average: Literal["sample", "token"] = "sample"


USUAL = GrpoSettings()


@dataclass(frozen=True)
class GrpoLoss:
    """`loss`: to be minimised. `kl`: from the reference, a token; `clipped`: share of tokens whose ratio no longer pays."""

    loss: Tensor
    kl: float
    clipped: float


def advantages(rewards: Sequence[float | None], group: int, most: float = USUAL.most) -> list[float]:
    """Of samples that stand group after group. A group in which all rewards are equal teaches nothing."""
    if group < 1 or len(rewards) % group:
        raise UsageError(f"{len(rewards)} rewards are no groups of {group}", "give whole groups, one after the other")
    found: list[float] = []
    for first in range(0, len(rewards), group):
        found += _of_group(rewards[first : first + group], most)
    return found


def _of_group(rewards: Sequence[float | None], most: float) -> list[float]:
    known = [reward for reward in rewards if reward is not None]
    if len(known) < 2:
        return [0.0] * len(rewards)
    mean, spread = statistics.fmean(known), statistics.stdev(known) + _LEAST_SPREAD
    return [0.0 if r is None else max(-most, min(most, (r - mean) / spread)) for r in rewards]


def k3(policy: Tensor, reference: Tensor) -> Tensor:
    """Schulman's third estimator of KL(policy || reference) from log-probabilities of the policy's own samples."""
    apart = reference - policy
    return apart.exp() - apart - 1


def grpo_loss(
    policy: Tensor,
    sampled_by: Tensor,
    reference: Tensor | None,
    advantage: Tensor,
    mask: Tensor,
    settings: GrpoSettings = USUAL,
) -> GrpoLoss:
    """Log-probabilities of samples x tokens under the policy, the one that sampled and the reference; an advantage a sample;
    `mask`: 1 for the tokens that count."""
    torch = needed("torch")
    if settings.beta and reference is None:
        raise UsageError("a penalty needs the reference's log-probabilities", "give them, or beta=0")
    ratio = (policy - sampled_by).exp()
    held = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    gain = advantage.unsqueeze(1)
    token = -torch.minimum(ratio * gain, held * gain)
    apart = torch.zeros_like(policy) if reference is None else k3(policy, reference)
    count = mask.sum().clamp(min=1)
    clipped = ((ratio * gain > held * gain) * mask).sum() / count
    token = token + settings.beta * apart if settings.beta else token
    loss = _averaged(token, mask, settings.average)
    return GrpoLoss(loss, float((apart * mask).sum().detach() / count), float(clipped))


def _averaged(token: Tensor, mask: Tensor, average: Literal["sample", "token"]) -> Tensor:
    if average == "token":
        return (token * mask).sum() / mask.sum().clamp(min=1)
    return ((token * mask).sum(-1) / mask.sum(-1).clamp(min=1)).mean()
