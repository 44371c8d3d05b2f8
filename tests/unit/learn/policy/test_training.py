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
SHORT = PolicyTraining(steps=30, group=16, rate=1e-2)


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


def like(pick: Pick, goal: Pick) -> float:
    """How much of a goal was met: with nothing for a part of it, few samples would ever tell it from the rest."""
    if pick.recipe != goal.recipe:
        return 0.0
    return 1.0 + sum(one == other for one, other in zip(pick.choices, goal.choices, strict=True))


def test_what_is_rewarded_becomes_likely_and_the_curve_says_so() -> None:
    policy, goal = new(), Pick("wide", (1, 1))

    def worth(_: Situation, pick: Pick) -> float:
        return 1.0 + like(pick, goal)

    room = Rewarding(lambda: [situation()], worth)
    curve = train(policy, room, SHORT, torch.Generator().manual_seed(1))
    assert len(curve) == 30
    assert curve[-1].reward > curve[0].reward + 0.5
    assert curve[-1].kl > 0
    assert policy.chances(situation())[goal] > 0.7


@pytest.mark.heavy
def test_different_tasks_get_different_answers() -> None:
    policy, goals = new(), {"softmax": Pick("wide", (0, 0)), "other": Pick("plain", ())}
    asked = [situation(), situation(task="other")]
    room = Rewarding(lambda: asked, lambda one, pick: like(pick, goals[one.task]))
    train(policy, room, SHORT, torch.Generator().manual_seed(2))
    assert all(policy.chances(one)[goals[one.task]] > 0.6 for one in asked)


@pytest.mark.heavy
def test_it_learns_to_follow_the_faster_exemplar() -> None:
    """The faster of two comes first, as they are chosen; nothing but the exemplars tells which recipe is rewarded."""
    dice, both = random.Random(0), [Pick("wide", (0, 0)), Pick("plain", ())]

    def asked() -> list[Situation]:
        orders = [dice.sample(both, 2) for _ in range(8)]
        return [situation(exemplars=(Shown(fast, 3.0), Shown(slow, 1.0))) for fast, slow in orders]

    def followed(one: Situation, pick: Pick) -> bool:
        return pick.recipe == one.exemplars[0].pick.recipe

    policy = new()
    room = Rewarding(asked, lambda one, pick: float(followed(one, pick)))
    train(policy, room, PolicyTraining(steps=60, group=8, rate=3e-3), torch.Generator().manual_seed(3))
    for one in asked():
        assert sum(chance for pick, chance in policy.chances(one).items() if followed(one, pick)) > 0.8


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
