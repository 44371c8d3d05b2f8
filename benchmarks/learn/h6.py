"""H6: does a buffer of non-trivial problems waste fewer groups, and win more at equal judged samples?

    python benchmarks/learn/h6.py --register | --run [--seconds 560] | --verdict

A problem is a recorded file at its first shape with some of its recipes on offer, and some of their parameters given. Some have
one combination left, or only ones that do not build: their groups are trivial. One recipe transformer learns from a stream
of problems; in one arm all are fresh, in the other some come from the buffer (kernellab.learn.buffer). Then it is asked for
each file's second shape with everything on offer. Settings are those of H4; how many parameters are given was chosen on
particle_filter and softmax, with seeds from 1000 on, by the share of trivial problems of an untrained policy alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from recorded import ALL, HERE, File, best_of, files, new_policy, shares
from registration import by_rule, command, interval, power, rows_of, together, told
from space import Point, Space, point
from tuners import ours

from kernellab.core.records import MeasuredTrial
from kernellab.learn import buffer as buffer_module
from kernellab.learn.buffer import Drawn, ProblemBuffer
from kernellab.learn.grpo import GrpoSettings
from kernellab.learn.policy.grammar import Grammar
from kernellab.learn.policy.recipe_policy import RecipePolicy
from kernellab.learn.policy.situation import Situation
from kernellab.learn.policy.training import PolicyTraining, train, trivial
from kernellab.learn.tabular import Pick, Spaces
from kernellab.search.memory.warm import place_of, warm_start

SEEDS = range(80)
TRAINING = PolicyTraining(steps=12, group=8, rate=2e-2, passes=2, grpo=GrpoSettings(beta=0.01, average="token"))
PROBLEMS = 8
GIVEN = 0.8
WIN = 0.9
JUDGED = TRAINING.steps * TRAINING.group * PROBLEMS // len(ALL)
Arm = Literal["fresh", "buffer"]
ARMS: tuple[Arm, ...] = ("fresh", "buffer")
WORDS: dict[str, Any] = {
    "id": "H6",
    "claim": "a non-trivial buffer lowers the share of trivial problems, and raises the rate of wins at equal judged samples",
    "statistic": [
        "share of the training's groups that are trivial: fewer than two rewards, or all the same",
        f"rate of wins: the chance that a sample for the held-out (second) shape, everything on offer, has {WIN} of that shape's"
        " best recorded speed-up; exact, over all combinations; mean over the four files",
    ],
    "unit": "a seed: the same first weights and the same stream of fresh problems in both arms; buffer minus fresh, paired by seed",
    "rule": [
        "part 1: trivial groups, 95 % bootstrap interval over seeds: at most 0",
        "part 2: rate of wins, 95 % bootstrap interval over seeds: at least 0",
        "confirmed where both parts are, rejected where one is, else inconclusive",
    ],
    "judged": f"{TRAINING.steps} steps of {PROBLEMS} problems of {TRAINING.group} samples in either arm, repeats counted",
    "arms": list(ARMS),
    "controls": {
        "random": "any combination",
        "untrained": "the policy before training",
        "gp": "of the first 4 of our tuner at the held-out shape, the share that wins",
        "tpe": "likewise of Optuna's TPE",
        "warm start": f"likewise of the best 4 of our tuner's {JUDGED} trials at the first shape",
        "best of n": f"likewise of the best 4 of {JUDGED} samples of the untrained policy at the first shape",
    },
    "not a control": "exemplars of another task: nothing is shown here",
    "given": GIVEN,
    "seeds": [SEEDS.start, SEEDS.stop],
    "training": repr(TRAINING),
}


def code() -> list[Path]:
    here, learn = Path(__file__).parent, Path(buffer_module.__file__).parent
    spaces = [HERE / "spaces" / f"{name}.json" for name in ALL]
    own = [here / name for name in ("h6.py", "recorded.py", "registration.py")]
    return [*own, *(learn / "policy").glob("*.py"), learn / "grpo.py", learn / "buffer.py", *spaces]


Problem = tuple[str, Spaces]


class Stream:
    """Fresh problems without end."""

    def __init__(self, known: dict[str, File], seed: int) -> None:
        self._files, self._dice = known, random.Random(f"{seed} problems")

    def __call__(self) -> Problem:
        dice = self._dice
        name = dice.choice(list(self._files))
        offer = self._files[name].offer
        some = dice.sample(list(offer), dice.randint(1, len(offer)))
        return name, {recipe: self._narrowed(offer[recipe]) for recipe in offer if recipe in some}

    def _narrowed(self, space: Any) -> dict[str, list[Any]]:
        dice = self._dice
        return {key: [dice.choice(values)] if dice.random() < GIVEN else list(values) for key, values in space.items()}


class School:
    """A batch of problems a step, out of the stream or the buffer; what became of a batch is told when it is whole."""

    def __init__(self, known: dict[str, File], grammar: Grammar, arm: Arm, seed: int) -> None:
        self._files, self._grammar = known, grammar
        most = 0.5 if arm == "buffer" else 0.0
        self.buffer = ProblemBuffer(Stream(known, seed), random.Random(f"{seed} buffer"), most)
        self._batch: list[Drawn[Problem]] = []
        self._trivial: list[bool] = []
        self.groups: list[tuple[bool, bool]] = []
        """Of each group: whether it came from the buffer, and whether it was trivial."""

    def ask(self) -> list[tuple[Problem, Situation]]:
        self._batch, self._trivial = self.buffer.draw(PROBLEMS), []
        return [
            (
                drawn.problem,
                self._files[drawn.problem[0]].situation(self._files[drawn.problem[0]].near, (), drawn.problem[1]),
            )
            for drawn in self._batch
        ]

    def judge(self, problem: Problem, picks: Sequence[Pick]) -> list[float | None]:
        file = self._files[problem[0]]
        rewards = [file.reward(point(pick.recipe, self._grammar.params(pick))) for pick in picks]
        self.groups.append((self._batch[len(self._trivial)].place is not None, trivial(rewards)))
        self._trivial.append(trivial(rewards))
        if len(self._trivial) == len(self._batch):
            self.buffer.told(self._batch, self._trivial)
        return rewards


@cache
def _files() -> dict[str, File]:
    return files()


def exam(policy: RecipePolicy, file: File, seed: int) -> dict[str, float]:
    chance, share = shares(policy, file.far, file.situation(file.far))
    four = best_of(chance, share, 4, np.random.default_rng([seed, 4]), 64)
    return {"wins": float(chance[share >= WIN].sum()), "four": four}


def trained(known: dict[str, File], arm: Arm, seed: int) -> dict[str, Any]:
    policy = new_policy(known, seed)
    school = School(known, policy.grammar, arm, seed)
    train(policy, school, TRAINING, torch.Generator().manual_seed(seed))
    assert len(school.groups) == TRAINING.steps * PROBLEMS
    held = [gone for buffered, gone in school.groups if buffered]
    return {
        "trivial": sum(gone for _, gone in school.groups) / len(school.groups),
        "from the buffer": len(held),
        "of those trivial": sum(held),
        "files": {name: exam(policy, file, seed) for name, file in known.items()},
    }


def controls(file: File, blank: RecipePolicy, seed: int) -> dict[str, float]:
    near, far = file.near, file.far
    before = [near.trial(key, number) for number, key in enumerate(ours(near, "gp", seed, JUDGED))]
    starts = warm_start({"near": before}, place_of(far.trial(far.points[0], 0)), 4)
    (picks,) = blank.sample([file.situation(near)], JUDGED, torch.Generator().manual_seed(seed))
    drawn = list(dict.fromkeys(point(pick.recipe, blank.grammar.params(pick)) for pick in picks))
    return {
        "random": _wins(far, far.points),
        "untrained": exam(blank, file, seed)["wins"],
        "gp": _wins(far, ours(far, "gp", seed, 4)),
        "tpe": _wins(far, ours(far, "tpe", seed, 4)),
        "warm start": _wins(far, [point(start.name, start.params) for start in starts]),
        "best of n": _wins(far, sorted(drawn, key=lambda key: -_low(near, key))[:4]),
    }


def _wins(space: Space, keys: Sequence[Point]) -> float:
    return sum(space.speedups.get(key, 0.0) / space.best >= WIN for key in keys) / len(keys)


def _low(space: Space, key: Point) -> float:
    trial = space.trial(key, 0)
    return trial.timing.speedup_low if isinstance(trial, MeasuredTrial) else 0.0


def one(seed: int) -> dict[str, Any]:
    known = _files()
    blank = new_policy(known, seed)
    found = {name: controls(file, blank, seed) for name, file in known.items()}
    return {"arms": {arm: trained(known, arm, seed) for arm in ARMS}, "controls": found}


def verdict(registration: str) -> None:
    rows = rows_of("H6", registration)
    if [row["seed"] for row in rows] != list(SEEDS):
        raise SystemExit(f"{len(rows)} of {len(SEEDS)} seeds are there: --run goes on")
    idle = {arm: np.array([row["arms"][arm]["trivial"] for row in rows]) for arm in ARMS}
    print(f"{len(rows)} seeds [95 %]")
    for arm in ARMS:
        four = np.array([[row["arms"][arm]["files"][name]["four"] for name in ALL] for row in rows])
        print(f"  {arm}: trivial groups {told(interval(idle[arm]))}; best of four {told(interval(four.mean(axis=1)))}")
    asked, gone = (
        np.array([row["arms"]["buffer"][k] for row in rows]) for k in ("from the buffer", "of those trivial")
    )
    groups = TRAINING.steps * PROBLEMS
    print(
        f"  from the buffer {asked.mean() / groups:.3f} of all groups, of which trivial {gone.sum() / asked.sum():.3f}"
    )
    wins = {arm: np.array([[row["arms"][arm]["files"][name]["wins"] for name in ALL] for row in rows]) for arm in ARMS}
    wins |= {c: np.array([[row["controls"][name][c] for name in ALL] for row in rows]) for c in WORDS["controls"]}
    print("rate of wins: mean over files [95 %], then each file")
    for name, values in wins.items():
        print(
            f"  {name:12} {told(interval(values.mean(axis=1)))}   {' '.join(f'{v:.3f}' for v in values.mean(axis=0))}"
        )
    less, more = idle["buffer"] - idle["fresh"], (wins["buffer"] - wins["fresh"]).mean(axis=1)
    parts = [
        by_rule(*interval(less)[1:], side="at-most", bound=0.0),
        by_rule(*interval(more)[1:], side="at-least", bound=0.0),
    ]
    ratio = wins["buffer"].mean() / wins["fresh"].mean()
    print(f"part 1: trivial groups {told(interval(less), sign=True)}: {parts[0]}")
    print(f"part 2: rate of wins {told(interval(more), sign=True)}, {ratio:.3f} times: {parts[1]}")
    print(f"seeds needed for 0.02 with the spread found: {power(list(more), 0.02)}")
    print(f"H6: {together(parts)}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    command("H6", WORDS, code(), SEEDS, one, verdict)
