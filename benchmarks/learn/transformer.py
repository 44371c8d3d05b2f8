"""Does the recipe transformer learn? One policy for two recorded files, and what of it holds at shapes it was not trained on.

    python benchmarks/learn/transformer.py [--seeds 10] [--choose] [--save policy.npz]

The same figure as tabular.py has, on the same files with the same rewards: the mean share of a space's best speed-up that a sample
has, exactly, before and after 640 samples a file; and the same at the held-out shape. Settings were chosen with --choose on
particle_filter and softmax, with seeds from 1000 on.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from recorded import CHOSEN_ON, REPORTED, File, Lessons, files, held_out, new_policy, shares
from space import bootstrap

from kernellab.learn.grpo import GrpoSettings
from kernellab.learn.policy.checkpoint import policy_data, read_policy
from kernellab.learn.policy.recipe_policy import RecipePolicy
from kernellab.learn.policy.training import PolicyTraining, train

TRAINING = PolicyTraining(steps=40, group=16, rate=2e-2, passes=2, grpo=GrpoSettings(beta=0.01, average="token"))
WHAT = ("share before", "share after", "held out, before", "held out, after", "held out, best of four after")


def share(policy: RecipePolicy, file: File) -> float:
    return float(np.dot(*shares(policy, file.near, file.situation(file.near))))


def learned(known: dict[str, File], seed: int, training: PolicyTraining) -> tuple[RecipePolicy, dict[str, list[float]]]:
    policy = new_policy(known, seed)
    lessons = Lessons(known, policy.grammar, "none", seed)
    first = {name: (share(policy, file), held_out(policy, file, tuple, seed, 1)[1]) for name, file in known.items()}
    train(policy, lessons, training, torch.Generator().manual_seed(seed))
    found = {}
    for name, file in known.items():
        four, one = held_out(policy, file, tuple, seed, 1, 64)
        found[name] = [first[name][0], share(policy, file), first[name][1], one, four]
    return policy, found


def choose() -> None:
    known = files(CHOSEN_ON)
    for rate in (5e-3, 1e-2, 2e-2):
        training = PolicyTraining(TRAINING.steps, TRAINING.group, rate, TRAINING.passes, TRAINING.norm, TRAINING.grpo)
        rows = [row for seed in (1000, 1001) for row in learned(known, seed, training)[1].values()]
        print(f"rate {rate}: share after {statistics.fmean(row[1] for row in rows):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.choose:
        choose()
        return
    known, started, found = files(REPORTED), time.process_time(), []
    for seed in range(options.seeds):
        policy, row = learned(known, seed, TRAINING)
        found.append(row)
    for name, file in known.items():
        figures = (statistics.fmean(row[name][k] for row in found) for k in range(len(WHAT)))
        print(f"{file.near.label}, then {file.far.label}: {', '.join(f'{figure:.3f}' for figure in figures)}")
    for k, what in enumerate(WHAT):
        mean, low, high = bootstrap([statistics.fmean(own[k] for own in row.values()) for row in found])
        print(f"{what}: {mean:.3f} [{low:.3f}, {high:.3f}] over {len(found)} seeds")
    seconds = (time.process_time() - started) / options.seeds
    samples = TRAINING.steps * TRAINING.group
    print(f"{policy.parameters} parameters, {samples} samples a file, {seconds:.1f} s of processor a policy")
    if options.save:
        data = policy_data(policy, {"seed": options.seeds - 1, "training": repr(TRAINING)})
        read_policy(data, str(options.save), policy.grammar.spaces)
        options.save.write_bytes(data)
        print(f"{options.save}: {len(data)} bytes")


if __name__ == "__main__":
    main()
