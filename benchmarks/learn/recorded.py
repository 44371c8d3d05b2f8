"""Recorded spaces as a classroom for the recipe transformer: situations, rewards, exemplars, and what a choice is worth.

One policy learns all files at their first shape; the second shape of each is held out. A sample is judged as the reward service
would: the recorded trial's reward, or none where its interval is too wide. What is judged is counted, exemplars come from it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parents[1] / "memory"))

import numpy as np
import torch
from space import HERE, Point, Space, point

from kernellab.learn.policy.grammar import Grammar
from kernellab.learn.policy.recipe_policy import RecipePolicy
from kernellab.learn.policy.situation import Shown, Situation
from kernellab.learn.reward import RewardRule
from kernellab.learn.tabular import Pick, Spaces
from kernellab.propose.prompts import DeviceFacts
from kernellab.search.memory.select import contrastive_select

CHOSEN_ON, REPORTED = ("particle_filter_c", "softmax_c"), ("softmax_pow2_c", "stencil3x3_c")
ALL = (*CHOSEN_ON, *REPORTED)
RULE = RewardRule()
Exemplars = Literal["none", "contrastive", "random", "other"]
"""Which two trials are shown: nothing; by contrastive_select; any two that work; contrastive ones of another file."""


class File:
    """A recorded file: the shape to learn at, and the one that is held out."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.near, self.far = (Space(HERE / "spaces" / f"{name}.json", shape) for shape in (0, 1))
        self.offer: Spaces = {recipe: held.space for recipe, held in self.near.recipes.items()}
        self._rewards = {key: RULE.of_trial(self.near.trial(key, 0)).reward for key in self.near.rows}

    def reward(self, key: Point) -> float | None:
        return self._rewards.get(key, 0.0)

    def situation(self, space: Space, shown: tuple[Shown, ...] = (), offer: Spaces | None = None) -> Situation:
        return Situation(space.task, space.dims, DeviceFacts(space.device, "cpu", 1), offer or self.offer, shown)


def files(names: Sequence[str] = ALL) -> dict[str, File]:
    return {name: File(name) for name in names}


def new_policy(known: dict[str, File], seed: int) -> RecipePolicy:
    spaces = {recipe: space for file in known.values() for recipe, space in file.offer.items()}
    tasks = sorted({file.near.task for file in known.values()})
    return RecipePolicy.new(spaces, tasks, torch.Generator().manual_seed(seed))


class Memory:
    """What was judged of each file, each combination once, in order; exemplars come from it alone."""

    def __init__(self, known: dict[str, File], grammar: Grammar, kind: Exemplars, seed: int) -> None:
        self._files, self._grammar, self._kind = known, grammar, kind
        self._dice = random.Random(f"{seed} exemplars")
        self.tried: dict[str, list[Point]] = {name: [] for name in known}

    def add(self, name: str, key: Point) -> None:
        if key not in self.tried[name]:
            self.tried[name].append(key)

    def shown(self, name: str) -> tuple[Shown, ...]:
        if self._kind == "none":
            return ()
        source = name if self._kind != "other" else self._another(name)
        space, tried = self._files[source].near, self.tried[source]
        if self._kind == "random":
            works = [key for key in tried if key in space.speedups]
            keys = self._dice.sample(works, min(2, len(works)))
            keys.sort(key=lambda key: -space.speedups[key])
        else:
            trials = [space.trial(key, number) for number, key in enumerate(tried)]
            found = contrastive_select(trials, 2, rng=self._dice, read=space.read) if trials else []
            keys = [tried[exemplar.specimen.number] for exemplar in found]
        return tuple(Shown(self._grammar.picked(key[0], dict(key[1])), space.speedups.get(key, 0.0)) for key in keys)

    def _another(self, name: str) -> str:
        own = self._files[name].near.task
        return self._dice.choice([other for other, file in self._files.items() if file.near.task != own])


class Lessons:
    """Every file's first shape in every batch, with exemplars out of what was judged before."""

    def __init__(self, known: dict[str, File], grammar: Grammar, kind: Exemplars, seed: int) -> None:
        self._files, self._grammar = known, grammar
        self.memory = Memory(known, grammar, kind, seed)
        self.judged = 0

    def ask(self) -> list[tuple[str, Situation]]:
        return [(name, file.situation(file.near, self.memory.shown(name))) for name, file in self._files.items()]

    def judge(self, problem: str, picks: Sequence[Pick]) -> list[float | None]:
        keys = [point(pick.recipe, self._grammar.params(pick)) for pick in picks]
        for key in keys:
            self.memory.add(problem, key)
        self.judged += len(keys)
        return [self._files[problem].reward(key) for key in keys]


def shares(policy: RecipePolicy, space: Space, situation: Situation) -> tuple[np.ndarray, np.ndarray]:
    """Of every combination on offer: its chance, and its share of the space's best speed-up."""
    chance = policy.chances(situation)
    keys = [point(pick.recipe, policy.grammar.params(pick)) for pick in chance]
    return np.array(list(chance.values())), np.array([space.speedups.get(key, 0.0) / space.best for key in keys])


def best_of(chance: np.ndarray, share: np.ndarray, count: int, dice: np.random.Generator, draws: int) -> float:
    """The best of so many different combinations drawn from the policy, one after the other, in the mean over draws."""
    noise = np.log(chance + 1e-30) + dice.gumbel(size=(draws, len(chance)))
    first = np.argpartition(-noise, min(count, len(chance)) - 1, axis=1)[:, :count]
    return float(share[first].max(axis=1).mean())


def held_out(
    policy: RecipePolicy,
    file: File,
    shown: Callable[[], tuple[Shown, ...]],
    seed: int,
    contexts: int = 4,
    draws: int = 32,
) -> tuple[float, float]:
    """At the held-out shape: the best of four, and the share of one sample; exemplars drawn anew a few times."""
    dice = np.random.default_rng([seed, 4])
    found = []
    for _ in range(contexts):
        chance, share = shares(policy, file.far, file.situation(file.far, shown()))
        found.append((best_of(chance, share, 4, dice, draws), float(chance @ share)))
    four, one = np.mean(found, axis=0)
    return float(four), float(one)
