"""The tabular policy samples what it says it samples, and learns what is rewarded."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from kernellab.learn.grpo import GrpoSettings
from kernellab.learn.tabular import Pick, TabularPolicy, Training, train

torch = pytest.importorskip("torch")
SPACES = {"wide": {"U": [1, 2, 4], "V": ["a", "b"]}, "plain": {}}
PICKS = [*(Pick("wide", choices) for choices in product(range(3), range(2))), Pick("plain", ())]


def test_probabilities_add_up_and_samples_follow_them() -> None:
    policy = TabularPolicy(SPACES)
    chances = policy.log_probability(PICKS).detach().exp().squeeze(1)
    assert float(chances.sum()) == pytest.approx(1.0)
    drawn = Counter(policy.sample(3000, torch.Generator().manual_seed(0)))
    assert set(drawn) == set(PICKS)
    assert drawn[Pick("plain", ())] / 3000 == pytest.approx(0.5, abs=0.05)


def test_a_pick_names_its_parameters() -> None:
    policy = TabularPolicy(SPACES)
    assert policy.params(Pick("wide", (2, 1))) == {"U": 4, "V": "b"}
    assert policy.params(Pick("plain", ())) == {}


@pytest.mark.parametrize("passes", [1, 2])
def test_what_is_rewarded_becomes_likely(passes: int) -> None:
    policy, goal = TabularPolicy(SPACES), Pick("wide", (1, 1))

    def worth(pick: Pick) -> float | None:
        if pick.recipe == "plain":
            return None if len(pick.choices) else 0.2
        return 1.0 + (pick.choices[0] == 1) + (pick.choices[1] == 1)

    curve = train(policy, worth, Training(samples=640, passes=passes), torch.Generator().manual_seed(1))
    assert len(curve) == 40
    assert sum(curve[-5:]) > sum(curve[:5])
    assert float(policy.log_probability([goal]).detach().exp()) > 0.8


@pytest.mark.parametrize("reward", [0.0, 1.3, None])
def test_a_group_of_equals_changes_nothing(reward: float | None) -> None:
    policy = TabularPolicy(SPACES)
    before = [weight.detach().clone() for weight in policy.weights]
    train(policy, lambda _: reward, Training(samples=64, grpo=GrpoSettings(beta=0.0)), torch.Generator().manual_seed(2))
    assert all(torch.equal(old, new) for old, new in zip(before, policy.weights, strict=True))


def test_the_same_seed_learns_the_same() -> None:
    curves = []
    for _ in range(2):
        generator = torch.Generator().manual_seed(3)
        curves.append(
            train(TabularPolicy(SPACES), lambda pick: float(sum(pick.choices)), Training(samples=160), generator)
        )
    assert curves[0] == curves[1]
