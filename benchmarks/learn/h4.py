"""H4: at equal judged samples, does a policy that is shown contrastive exemplars beat one that is shown none?

    python benchmarks/learn/h4.py --register | --run [--seconds 560] | --verdict

One recipe transformer learns the four recorded files at their first shape by group-relative policy optimisation; then four
different combinations are drawn from it for each file's second shape, which nothing was trained on. Arms differ in the two
exemplars that are shown, in training and at the end; they come out of the samples that were judged at the first shape, and cost
no others. Settings were chosen on particle_filter and softmax, with seeds from 1000 on.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import recorded
import torch
from recorded import ALL, HERE, File, Lessons, best_of, files, held_out, new_policy
from registration import by_rule, command, interval, power, rows_of, together, told
from space import Point, Space, point
from tuners import ours

from kernellab.core.records import MeasuredTrial
from kernellab.learn.grpo import GrpoSettings
from kernellab.learn.policy import training as policy_training
from kernellab.learn.policy.recipe_policy import RecipePolicy
from kernellab.learn.policy.training import PolicyTraining, train
from kernellab.search.memory.warm import place_of, warm_start

SEEDS = range(80)
TRIES = 4
TRAINING = PolicyTraining(steps=12, group=8, rate=2e-2, passes=2, grpo=GrpoSettings(beta=0.01, average="token"))
JUDGED = TRAINING.steps * TRAINING.group
ARMS: dict[str, recorded.Exemplars] = {"plain": "none", "contrastive": "contrastive", "another task": "other"}
WORDS: dict[str, Any] = {
    "id": "H4",
    "claim": "at equal judged samples, contrastive exemplars beat none on at least two of the recorded files",
    "statistic": "best of four different combinations, drawn from the trained policy for the held-out (second) shape, as a share"
    " of that shape's best recorded speed-up; mean over 32 draws, and over 2 draws of exemplars where there are any",
    "unit": "a seed: the same first weights in every arm; the difference contrastive minus plain is paired by seed",
    "rule": [
        "part 1: mean over the four files, 95 % bootstrap interval over seeds: at least 0",
        "part 2: files whose own interval (98.75 %) lies above 0: confirmed with two, rejected where three or more lie below 0",
        "confirmed where both parts are, rejected where one is, else inconclusive",
    ],
    "also": "if part 1's interval ends below 0.02, a gain of 0.02 is excluded",
    "judged": f"{JUDGED} samples a file and arm at the first shape, repeats counted, those behind exemplars among them; then 4",
    "arms": dict(ARMS),
    "controls": {
        "random": "4 combinations at random",
        "gp": "the first 4 of our tuner, without a warm start",
        "tpe": "the first 4 of Optuna's TPE, without a warm start",
        "warm start": f"the best 4 of our tuner's {JUDGED} trials at the first shape",
        "best of n": f"the best 4 of {JUDGED} samples of the untrained policy at the first shape",
    },
    "seeds": [SEEDS.start, SEEDS.stop],
    "training": repr(TRAINING),
}


def code() -> list[Path]:
    here = Path(__file__).parent
    learn = Path(policy_training.__file__).parent
    spaces = [HERE / "spaces" / f"{name}.json" for name in ALL]
    return [
        here / "h4.py",
        here / "recorded.py",
        here / "registration.py",
        *learn.glob("*.py"),
        learn.parent / "grpo.py",
        *spaces,
    ]


@cache
def _files() -> dict[str, File]:
    return files()


def share(space: Space, keys: list[Point]) -> float:
    return max(space.speedups.get(key, 0.0) for key in keys) / space.best


def trained(known: dict[str, File], kind: recorded.Exemplars, seed: int) -> dict[str, dict[str, float]]:
    policy = new_policy(known, seed)
    lessons = Lessons(known, policy.grammar, kind, seed)
    train(policy, lessons, TRAINING, torch.Generator().manual_seed(seed))
    assert lessons.judged == JUDGED * len(known)
    found = {}
    for name, file in known.items():
        contexts = 1 if kind == "none" else 2
        four, one = held_out(policy, file, lambda name=name: lessons.memory.shown(name), seed, contexts, 64 // contexts)
        found[name] = {"four": four, "one": one, "different": float(len(lessons.memory.tried[name]))}
    return found


def controls(file: File, policy: RecipePolicy, seed: int) -> dict[str, float]:
    near, far = file.near, file.far
    even = np.array([far.speedups.get(key, 0.0) / far.best for key in far.points])
    before = [near.trial(key, number) for number, key in enumerate(ours(near, "gp", seed, JUDGED))]
    starts = warm_start({"near": before}, place_of(far.trial(far.points[0], 0)), TRIES)
    (picks,) = policy.sample([file.situation(near)], JUDGED, torch.Generator().manual_seed(seed))
    drawn = list(dict.fromkeys(point(pick.recipe, policy.grammar.params(pick)) for pick in picks))
    drawn.sort(key=lambda key: -(_low(near, key)))
    return {
        "random": best_of(np.full(len(even), 1 / len(even)), even, TRIES, np.random.default_rng([seed, 0]), 64),
        "gp": share(far, ours(far, "gp", seed, TRIES)),
        "tpe": share(far, ours(far, "tpe", seed, TRIES)),
        "warm start": share(far, [point(start.name, start.params) for start in starts]),
        "best of n": share(far, drawn[:TRIES]),
    }


def _low(space: Space, key: Point) -> float:
    trial = space.trial(key, 0)
    return trial.timing.speedup_low if isinstance(trial, MeasuredTrial) else 0.0


def one(seed: int) -> dict[str, Any]:
    known = _files()
    arms = {arm: trained(known, kind, seed) for arm, kind in ARMS.items()}
    blank = new_policy(known, seed)
    return {"arms": arms, "controls": {name: controls(file, blank, seed) for name, file in known.items()}}


def verdict(registration: str) -> None:
    rows = rows_of("H4", registration)
    if [row["seed"] for row in rows] != list(SEEDS):
        raise SystemExit(f"{len(rows)} of {len(SEEDS)} seeds are there: --run goes on")
    four = {arm: np.array([[row["arms"][arm][name]["four"] for name in ALL] for row in rows]) for arm in ARMS}
    held = {c: np.array([[row["controls"][name][c] for name in ALL] for row in rows]) for c in WORDS["controls"]}
    print(
        f"{len(rows)} seeds; best of four at the held-out shape, share of its best: mean over files [95 %], then each file"
    )
    for name, values in {**four, **held}.items():
        print(
            f"  {name:14} {told(interval(values.mean(axis=1)))}   {' '.join(f'{v:.3f}' for v in values.mean(axis=0))}"
        )
    for other in ("plain", "another task", *held):
        apart = four["contrastive"] - (four[other] if other in four else held[other])
        print(f"  contrastive minus {other}: {told(interval(apart.mean(axis=1)), sign=True)}")
    apart = four["contrastive"] - four["plain"]
    mean, low, high = interval(apart.mean(axis=1))
    parts = [by_rule(low, high, "at-least", 0.0)]
    each = [interval(apart[:, at], 0.9875) for at in range(len(ALL))]
    won, lost = sum(low > 0 for _, low, _ in each), sum(high < 0 for _, _, high in each)
    parts.append("confirmed" if won >= 2 else "rejected" if lost >= 3 else "inconclusive")
    for name, figure in zip(ALL, each, strict=True):
        print(f"  {name}: {told(figure, sign=True)} (98.75 %)")
    gain = "a gain of 0.02 is excluded" if high < 0.02 else "a gain of 0.02 is not excluded"
    print(
        f"part 1: {told((mean, low, high), sign=True)}: {parts[0]}; {gain}; part 2: {won} of {len(ALL)} won, {lost} lost: {parts[1]}"
    )
    print(f"seeds needed for 0.02 with the spread found: {power(list(apart.mean(axis=1)), 0.02)}")
    print(f"H4: {together(parts)}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    command("H4", WORDS, code(), SEEDS, one, verdict)
