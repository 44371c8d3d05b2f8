"""Training of a recipe transformer by the core: situations are asked for, sampled in groups, rewarded, and learned from.

Who asks decides what is shown: exemplars out of what was judged so far, problems out of a buffer. Every sample is handed
back with its reward, so that it can count what it had judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from kernellab.learn.extra import needed
from kernellab.learn.grpo import GrpoSettings, advantages, grpo_loss
from kernellab.learn.policy.recipe_policy import RecipePolicy
from kernellab.learn.policy.situation import Situation
from kernellab.learn.tabular import Pick

if TYPE_CHECKING:
    from torch import Generator, Tensor

Problem = TypeVar("Problem")


@dataclass(frozen=True)
class PolicyTraining:
    """`group`: samples of a situation. `rate`: of Adam. `passes`: over a batch, before the next is sampled. `norm`: of a
    step's gradient, at most."""

    steps: int = 40
    group: int = 8
    rate: float = 3e-3
    passes: int = 2
    norm: float = 1.0
    grpo: GrpoSettings = field(default_factory=lambda: GrpoSettings(beta=0.01, average="token"))


class Classroom(Protocol[Problem]):
    def ask(self) -> list[tuple[Problem, Situation]]:
        """The next batch: problems, and how each is put."""

    def judge(self, problem: Problem, picks: Sequence[Pick]) -> list[float | None]:
        """The rewards of a group; None where one could not be told."""


@dataclass(frozen=True)
class Step:
    """`reward`: the mean of those that were told. `equal`: the share of groups that taught nothing."""

    reward: float
    equal: float
    kl: float
    clipped: float


def train(
    policy: RecipePolicy, classroom: Classroom[Problem], training: PolicyTraining, generator: Generator
) -> list[Step]:
    """The reference is the policy as it comes. The curve, a step each."""
    torch = needed("torch")
    reference = policy.copy() if training.grpo.beta else None
    weights = list(policy.weights.values())
    optimiser = torch.optim.Adam(weights, lr=training.rate, foreach=True)
    curve: list[Step] = []
    for _ in range(training.steps):
        asked = classroom.ask()
        situations = [situation for _, situation in asked]
        picks = policy.sample(situations, training.group, generator)
        groups = [classroom.judge(problem, own) for (problem, _), own in zip(asked, picks, strict=True)]
        gains = torch.tensor(advantages([r for group in groups for r in group], training.group, training.grpo.most))
        samples = policy.asked(situations, picks)
        with torch.no_grad():
            held = None if reference is None else reference.log_probability(samples).logs
        sampled_by: Tensor | None = None
        kl = clipped = 0.0
        for _ in range(training.passes):
            said = policy.log_probability(samples)
            sampled_by = said.logs.detach() if sampled_by is None else sampled_by  # the first pass is by who sampled
            found = grpo_loss(said.logs, sampled_by, held, gains, said.mask, training.grpo)
            kl, clipped = found.kl, found.clipped
            optimiser.zero_grad()
            found.loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, training.norm)
            optimiser.step()
        curve.append(_step(groups, kl, clipped))
    return curve


def trivial(rewards: Sequence[float | None]) -> bool:
    """A group that teaches nothing: fewer than two rewards, or all the same."""
    return len({reward for reward in rewards if reward is not None}) < 2


def _step(groups: Sequence[Sequence[float | None]], kl: float, clipped: float) -> Step:
    known = [reward for group in groups for reward in group if reward is not None]
    mean = sum(known) / len(known) if known else 0.0
    return Step(mean, sum(map(trivial, groups)) / len(groups), kl, clipped)
