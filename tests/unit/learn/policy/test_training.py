"""A recipe transformer learns what is rewarded, and what it is shown."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from tests.unit.learn.policy.situations import SPACES, situation

from kernellab.learn.grpo import GrpoSettings
from kernellab.learn.policy.recipe_policy import RecipePolicy
from kernellab.learn.policy.situation import Shown, Situation
from kernellab.learn.policy.training import PolicyTraining, train, trivial
from kernellab.learn.tabular import Pick

torch = pytest.importorskip("torch")
SHORT = PolicyTraining(steps=20, group=16, rate=1e-2)


class Rewarding:
    """One situation after the other, rewarded by a function of it and the pick."""

    def __init__(self, asked: Callable[[], list[Situation]], worth: Callable[[Situation, Pick], float | None]) -> None:
        self._asked, self._worth = asked, worth

    def ask(self) -> list[tuple[Situation, Situation]]:
        return [(one, one) for one in self._asked()]

    def judge(self, problem: Situation, picks: Sequence[Pick]) -> list[float | None]:
        return [self._worth(problem, pick) for pick in picks]


def new(seed: int = 0) -> RecipePolicy:
    return RecipePolicy.new(SPACES, ["softmax"], torch.Generator().manual_seed(seed))


def test_what_is_rewarded_becomes_likely_and_the_curve_says_so() -> None:
    policy, goal = new(), Pick("wide", (1, 1))
    room = Rewarding(lambda: [situation()], lambda _, pick: 1.0 + (pick.recipe == "wide") + (pick == goal))
    curve = train(policy, room, SHORT, torch.Generator().manual_seed(1))
    assert len(curve) == 20
    assert curve[-1].reward > curve[0].reward + 0.5
    assert curve[-1].kl > 0
    assert policy.chances(situation())[goal] > 0.7


def test_different_tasks_get_different_answers() -> None:
    policy, goals = new(), {"softmax": Pick("wide", (0, 0)), "other": Pick("plain", ())}
    asked = [situation(), situation(task="other")]
    room = Rewarding(lambda: asked, lambda one, pick: float(pick == goals[one.task]))
    train(policy, room, PolicyTraining(steps=30, group=16, rate=1e-2), torch.Generator().manual_seed(2))
    assert all(policy.chances(one)[goals[one.task]] > 0.6 for one in asked)


def test_it_learns_to_take_the_faster_exemplar() -> None:
    """The reward is for the recipe of the faster of two: nothing but the exemplars tells which one that is."""
    dice, both = random.Random(0), [Pick("wide", (0, 0)), Pick("plain", ())]

    def asked() -> list[Situation]:
        found = []
        for _ in range(8):
            dice.shuffle(both)
            speeds = dice.sample([1.0, 3.0], 2)
            found.append(situation(exemplars=tuple(Shown(p, s) for p, s in zip(both, speeds, strict=True))))
        return found

    def faster(one: Situation) -> str:
        return max(one.exemplars, key=lambda shown: shown.speedup).pick.recipe

    policy = new()
    room = Rewarding(asked, lambda one, pick: float(pick.recipe == faster(one)))
    train(policy, room, PolicyTraining(steps=50, group=8, rate=1e-2), torch.Generator().manual_seed(3))
    exam = [one for _ in range(4) for one in asked()]
    right = [sum(c for p, c in policy.chances(one).items() if p.recipe == faster(one)) for one in exam]
    assert sum(right) / len(right) > 0.8


@pytest.mark.parametrize("reward", [0.0, 1.3, None])
def test_a_group_of_equals_changes_nothing(reward: float | None) -> None:
    policy = new()
    before = {name: weight.detach().clone() for name, weight in policy.weights.items()}
    settings = PolicyTraining(steps=2, group=4, grpo=GrpoSettings(beta=0.0))
    curve = train(policy, Rewarding(lambda: [situation()], lambda *_: reward), settings, torch.Generator())
    assert all(torch.equal(before[name], weight) for name, weight in policy.weights.items())
    assert [step.equal for step in curve] == [1.0, 1.0]


def test_the_same_seed_learns_the_same() -> None:
    settings = PolicyTraining(steps=4, group=8)
    room = Rewarding(lambda: [situation()], lambda _, pick: float(sum(pick.choices)))
    curves = [train(new(), room, settings, torch.Generator().manual_seed(4)) for _ in range(2)]
    assert curves[0] == curves[1]


@pytest.mark.parametrize(
    ("rewards", "says"),
    [
        ([1.0, 1.0], True),
        ([None, 1.0], True),
        ([None, None], True),
        ([1.0, 2.0, None], False),
        ([0.0, 0.0, 1.0], False),
    ],
)
def test_a_group_is_trivial_where_it_teaches_nothing(rewards: list[float | None], says: bool) -> None:
    assert trivial(rewards) is says
