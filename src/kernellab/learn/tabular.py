"""A policy without a network: which recipe, and for each of its parameters which choice, by one number each.

It is what the core is tried on where no model is at hand: it learns one task at one shape, and nothing that carries over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernellab.core.records import Param
from kernellab.learn.extra import needed
from kernellab.learn.grpo import GrpoSettings, advantages, grpo_loss

if TYPE_CHECKING:
    from torch import Generator, Tensor

Spaces = Mapping[str, Mapping[str, Sequence[Param]]]
"""By recipe, the choices of each of its parameters."""


@dataclass(frozen=True)
class Pick:
    """A recipe and a choice, by its place, for each of its parameters in their order."""

    recipe: str
    choices: tuple[int, ...]


@dataclass(frozen=True)
class Training:
    """`rate`: of plain gradient descent. `passes`: over a batch, before the next is sampled."""

    samples: int = 640
    groups: int = 1
    group: int = 16
    rate: float = 4.0
    passes: int = 1
    grpo: GrpoSettings = field(default_factory=lambda: GrpoSettings(beta=0.0))


class TabularPolicy:
    def __init__(self, spaces: Spaces) -> None:
        torch = needed("torch")
        self._spaces = {name: {key: list(values) for key, values in space.items()} for name, space in spaces.items()}
        self._recipes = list(self._spaces)
        self._first: Tensor = torch.zeros(len(self._recipes), requires_grad=True)
        self._tables: dict[str, list[Tensor]] = {
            name: [torch.zeros(len(values), requires_grad=True) for values in space.values()]
            for name, space in self._spaces.items()
        }

    @property
    def weights(self) -> list[Tensor]:
        return [self._first, *(table for tables in self._tables.values() for table in tables)]

    def sample(self, count: int, generator: Generator) -> list[Pick]:
        torch = needed("torch")
        with torch.no_grad():
            drawn = torch.multinomial(self._first.softmax(0), count, replacement=True, generator=generator)
            return [self._completed(self._recipes[int(number)], generator) for number in drawn]

    def _completed(self, recipe: str, generator: Generator) -> Pick:
        torch = needed("torch")
        chosen = (torch.multinomial(table.softmax(0), 1, generator=generator) for table in self._tables[recipe])
        return Pick(recipe, tuple(int(choice) for choice in chosen))

    def params(self, pick: Pick) -> dict[str, Param]:
        space = self._spaces[pick.recipe]
        return {name: values[choice] for (name, values), choice in zip(space.items(), pick.choices, strict=True)}

    def log_probability(self, picks: Sequence[Pick]) -> Tensor:
        """Of each pick, as samples of one token."""
        torch = needed("torch")
        first = self._first.log_softmax(0)
        tables = {name: [table.log_softmax(0) for table in found] for name, found in self._tables.items()}
        rows = [
            first[self._recipes.index(pick.recipe)]
            + sum(table[choice] for table, choice in zip(tables[pick.recipe], pick.choices, strict=True))
            for pick in picks
        ]
        stacked: Tensor = torch.stack(rows).unsqueeze(1)
        return stacked


def train(
    policy: TabularPolicy,
    worth: Callable[[Pick], float | None],
    training: Training,
    generator: Generator,
) -> list[float]:
    """Sample, reward, step, until the samples are spent. The mean reward of each batch, of those that have one."""
    torch = needed("torch")
    curve: list[float] = []
    batch = training.groups * training.group
    for _ in range(training.samples // batch):
        picks = policy.sample(batch, generator)
        rewards = [worth(pick) for pick in picks]
        known = [reward for reward in rewards if reward is not None]
        curve.append(sum(known) / len(known) if known else 0.0)
        gains = torch.tensor(advantages(rewards, training.group, training.grpo.most))
        sampled_by = policy.log_probability(picks).detach()
        for _ in range(training.passes):
            found = grpo_loss(
                policy.log_probability(picks), sampled_by, None, gains, torch.ones_like(sampled_by), training.grpo
            )
            _step(policy.weights, found.loss, training.rate)
    return curve


def _step(weights: Sequence[Tensor], loss: Tensor, rate: float) -> None:
    torch = needed("torch")
    slopes = torch.autograd.grad(loss, list(weights), allow_unused=True)
    with torch.no_grad():
        for weight, slope in zip(weights, slopes, strict=True):
            if slope is not None:
                weight -= rate * slope
