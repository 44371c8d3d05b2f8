"""Does the core learn? A tabular policy, trained by group-relative policy gradient on recorded spaces.

    python benchmarks/learn/tabular.py [--seeds 10] [--samples 640] [--choose]

Every reward is derived from a recorded trial by the rule of the reward service (form "log"). Figure: the mean share of the
space's best speed-up that a sample of the policy has, exactly (over all combinations), before and after training. The
settings were chosen with --choose on particle_filter and softmax, with seeds from 1000 on; the figure is for seeds 0 to 9
on the two files that nothing was chosen on. Beside it: the best combination found, and that of as many different
combinations drawn at random as the policy tried.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "memory"))

import torch
from space import HERE, Point, Space, bootstrap, point

from kernellab.learn.grpo import GrpoSettings
from kernellab.learn.reward import RewardRule
from kernellab.learn.tabular import Pick, TabularPolicy, Training, train

CHOSEN_ON, REPORTED = ("particle_filter_c", "softmax_c"), ("softmax_pow2_c", "stencil3x3_c")
TRAINING = Training(group=16, rate=4.0, passes=1)
RULE = RewardRule()


def all_picks(space: Space) -> list[Pick]:
    return [
        Pick(name, choices)
        for name, recipe in space.recipes.items()
        for choices in product(*(range(len(values)) for values in recipe.space.values()))
    ]


class Learner:
    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.policy = TabularPolicy({name: recipe.space for name, recipe in space.recipes.items()})
        self.generator = torch.Generator().manual_seed(seed)
        self.tried: dict[Point, float] = {}

    def key(self, pick: Pick) -> Point:
        return point(pick.recipe, self.policy.params(pick))

    def worth(self, pick: Pick) -> float | None:
        key = self.key(pick)
        self.tried[key] = self.space.speedups.get(key, 0.0) / self.space.best
        return RULE.of_trial(self.space.trial(key, 0)).reward if key in self.space.rows else 0.0

    def share(self) -> float:
        picks = all_picks(self.space)
        with torch.no_grad():
            chance = self.policy.log_probability(picks).exp().squeeze(1)
        shares = torch.tensor([self.space.speedups.get(self.key(p), 0.0) / self.space.best for p in picks])
        return float((chance * shares).sum())


def learned(space: Space, seed: int, training: Training) -> tuple[float, float, float, float]:
    """Share before and after, the best found, and the best of as many drawn at random."""
    learner = Learner(space, seed)
    before = learner.share()
    train(learner.policy, learner.worth, training, learner.generator)
    drawn = random.Random(seed).sample(space.points, min(len(learner.tried), len(space.points)))
    at_random = max(space.speedups.get(key, 0.0) for key in drawn) / space.best
    return before, learner.share(), max(learner.tried.values()), at_random


def spaces_of(names: tuple[str, ...]) -> list[Space]:
    return [Space(HERE / "spaces" / f"{name}.json", shape) for name in names for shape in (0, 1)]


def choose(samples: int) -> None:
    for group, rate, passes, most in product((16, 32), (1.0, 2.0, 4.0, 8.0), (1, 2), (1.5,)):
        training = Training(samples, 1, group, rate, passes, GrpoSettings(beta=0.0, most=most))
        after = [learned(s, 1000 + seed, training)[1] for s in spaces_of(CHOSEN_ON) for seed in range(3)]
        print(
            f"group {group:3} rate {rate:4} passes {passes}: mean share {statistics.fmean(after):.3f}, worst {min(after):.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--samples", type=int, default=640)
    parser.add_argument("--choose", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.choose:
        choose(options.samples)
        return
    training = Training(options.samples, TRAINING.groups, TRAINING.group, TRAINING.rate, TRAINING.passes, TRAINING.grpo)
    started, seeds = time.perf_counter(), []
    for seed in range(options.seeds):
        seeds.append([learned(space, seed, training) for space in spaces_of(REPORTED)])
    for number, space in enumerate(spaces_of(REPORTED)):
        before, after, best, at_random = (statistics.fmean(row[number][k] for row in seeds) for k in range(4))
        print(f"{space.label}: {before:.3f} -> {after:.3f}; best found {best:.3f}, at random {at_random:.3f}")
    for k, what in enumerate(("share before", "share after", "best found", "at random")):
        mean, low, high = bootstrap([statistics.fmean(row[k] for row in rows) for rows in seeds])
        print(f"{what}: {mean:.3f} [{low:.3f}, {high:.3f}] over {len(seeds)} seeds")
    print(f"{options.samples} samples a policy, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
