"""The core of group-relative policy optimisation, by hand-made numbers."""

from __future__ import annotations

import math
import sys

import pytest

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.learn.grpo import GrpoSettings, advantages, grpo_loss, k3

torch = pytest.importorskip("torch")
PLAIN = GrpoSettings(beta=0.0)


def test_equal_rewards_have_no_advantage() -> None:
    assert advantages([0.0] * 4, 4) == advantages([1.7] * 4, 4) == [0.0] * 4


def test_an_advantage_is_the_distance_from_the_groups_mean_in_its_spread() -> None:
    found = advantages([1.0, 2.0, 3.0, 10.0, 10.0, 13.0], 3)
    assert found[:3] == pytest.approx([-1.0, 0.0, 1.0], abs=1e-3)
    assert found[3:] == pytest.approx([-0.577, -0.577, 1.155], abs=1e-3)


def test_advantages_are_clipped_either_way() -> None:
    assert max(advantages([0.0] * 15 + [9.0], 16)) == 1.5
    assert min(advantages([9.0] * 15 + [0.0], 16)) == -1.5
    assert max(advantages([0.0] * 15 + [9.0], 16, most=100)) == pytest.approx(3.75, abs=1e-2)


def test_a_sample_without_a_reward_says_nothing_and_moves_nobody_else() -> None:
    found = advantages([1.0, None, 3.0, None], 4)
    assert (found[1], found[3]) == (0.0, 0.0)
    assert [found[0], found[2]] == advantages([1.0, 3.0], 2)
    assert advantages([None, None, 2.0], 3) == [0.0] * 3


@pytest.mark.parametrize(("count", "group"), [(5, 4), (4, 0)])
def test_rewards_come_in_whole_groups(count: int, group: int) -> None:
    with pytest.raises(UsageError, match="are no groups of"):
        advantages([1.0] * count, group)


def test_k3_is_exact_and_never_negative() -> None:
    policy, reference = torch.tensor([-1.0, -2.0, -0.5]), torch.tensor([-1.5, -1.0, -0.5])
    wanted = [math.exp(-0.5) + 0.5 - 1, math.exp(1.0) - 1.0 - 1, 0.0]
    assert k3(policy, reference).tolist() == pytest.approx(wanted, abs=1e-6)
    assert (k3(torch.randn(1000), torch.randn(1000)) >= 0).all()


def test_k3_is_an_unbiased_estimate_of_the_divergence() -> None:
    """Summed over every outcome by its chance, it is the divergence itself."""
    p, q = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.3, 0.3, 0.4])
    assert float((p * k3(p.log(), q.log())).sum()) == pytest.approx(float((p * (p / q).log()).sum()), abs=1e-6)


@pytest.mark.parametrize(
    ("ratio", "gain", "loss", "clipped"),
    [
        (1.0, 1.0, -1.0, 0.0),
        (1.1, 1.0, -1.1, 0.0),
        (1.5, 1.0, -1.2, 1.0),
        (0.5, 1.0, -0.5, 0.0),
        (1.5, -1.0, 1.5, 0.0),
        (0.5, -1.0, 0.8, 1.0),
    ],
)
def test_a_ratio_stops_paying_where_it_has_gone_far_enough(
    ratio: float, gain: float, loss: float, clipped: float
) -> None:
    policy = torch.tensor([[math.log(ratio)]], requires_grad=True)
    found = grpo_loss(policy, torch.zeros(1, 1), None, torch.tensor([gain]), torch.ones(1, 1), PLAIN)
    assert float(found.loss.detach()) == pytest.approx(loss, abs=1e-6)
    assert found.clipped == clipped
    (slope,) = torch.autograd.grad(found.loss, policy)
    assert bool(slope.abs().sum() == 0) == bool(clipped)


def test_the_penalty_is_added_by_its_weight() -> None:
    policy, reference = torch.full((2, 3), -1.0), torch.full((2, 3), -1.5)
    found = grpo_loss(policy, policy, reference, torch.zeros(2), torch.ones(2, 3), GrpoSettings(beta=0.1))
    apart = math.exp(-0.5) + 0.5 - 1
    assert (float(found.loss), found.kl) == pytest.approx((0.1 * apart, apart), abs=1e-6)


def test_samples_or_tokens_are_averaged_and_masked_tokens_do_not_count() -> None:
    policy = torch.zeros(2, 3)
    mask = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    gains = torch.tensor([1.0, -1.0])
    by_sample = grpo_loss(policy, policy, None, gains, mask, PLAIN).loss
    by_token = grpo_loss(policy, policy, None, gains, mask, GrpoSettings(beta=0.0, average="token")).loss
    assert (float(by_sample), float(by_token)) == pytest.approx((0.0, 0.5))
    wild = torch.where(mask.bool(), policy, torch.tensor(50.0))
    assert float(grpo_loss(policy, policy, wild, gains, mask).loss) == pytest.approx(0.0)
    nothing = grpo_loss(policy, policy, None, gains, torch.zeros(2, 3), PLAIN)
    assert float(nothing.loss) == 0.0


def test_a_penalty_needs_a_reference() -> None:
    with pytest.raises(UsageError, match="needs the reference's"):
        grpo_loss(torch.zeros(1, 1), torch.zeros(1, 1), None, torch.zeros(1), torch.ones(1, 1))


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(EnvironmentFault) as caught:
        grpo_loss(*[None] * 5)  # type: ignore[arg-type]
    assert caught.value.fix == "pip install 'kernellab[learn]'"
