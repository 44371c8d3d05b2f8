"""The recipe transformer samples what it says it samples, reads what it is told, and writes replies that can be read."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

import pytest
from tests.unit.learn.policy.situations import SPACES, situation

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.learn.policy.recipe_policy import RecipePolicy
from kernellab.learn.policy.situation import Shown, Situation
from kernellab.learn.replies import ReadReply, read_reply
from kernellab.learn.tabular import Pick
from kernellab.propose.prompts import DeviceFacts
from kernellab.propose.recipe import builtin_candidates, space_in

torch = pytest.importorskip("torch")
FAST, SLOW = Shown(Pick("wide", (2, 1)), 3.0), Shown(Pick("wide", (0, 1)), 0.8)


@pytest.fixture
def policy() -> RecipePolicy:
    return RecipePolicy.new(SPACES, ["softmax"], torch.Generator().manual_seed(0))


def test_its_size_is_that_of_a_small_policy(policy: RecipePolicy) -> None:
    assert 100_000 <= policy.parameters <= 2_000_000


@pytest.mark.parametrize("shown", [(), (FAST,), (FAST, SLOW)])
def test_probabilities_add_up_and_samples_follow_them(policy: RecipePolicy, shown: tuple[Shown, ...]) -> None:
    asked = situation(exemplars=shown)
    chances = policy.chances(asked)
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-5)
    (drawn,) = policy.sample([asked], 800, torch.Generator().manual_seed(1))
    counts = Counter(drawn)
    assert set(counts) <= set(chances)
    for pick, chance in chances.items():
        assert counts[pick] / 800 == pytest.approx(chance, abs=0.08)


def test_only_what_is_offered_is_sampled(policy: RecipePolicy) -> None:
    small = situation(offer={"wide": {"U": [4, 2], "V": ["b"]}})
    whole, some = policy.sample([situation(), small], 300, torch.Generator().manual_seed(2))
    assert set(some) == {Pick("wide", (1, 1)), Pick("wide", (2, 1))}
    assert {pick.recipe for pick in whole} == set(SPACES)


def test_a_choice_that_is_none_costs_nothing(policy: RecipePolicy) -> None:
    only = situation(offer={"odd": {"U": [1], "W": [0.5]}})
    said = policy.log_probability(policy.asked([only], [[Pick("odd", (0, 0))]]))
    assert said.whole.tolist() == [0.0]
    assert float(said.mask.sum()) == 0.0


def test_a_batch_says_the_same_as_one_at_a_time(policy: RecipePolicy) -> None:
    asked = [situation(), situation(exemplars=(FAST, SLOW), dims={"M": 4, "N": 4})]
    picks = [[Pick("plain", ()), Pick("wide", (1, 0))], [Pick("odd", (2, 0))]]
    together = policy.log_probability(policy.asked(asked, picks)).whole.tolist()
    apart = [policy.log_probability(policy.asked([a], [p])).whole.tolist() for a, p in zip(asked, picks, strict=True)]
    assert together == pytest.approx([*apart[0], *apart[1]], abs=1e-5)


def test_the_same_seed_samples_the_same(policy: RecipePolicy) -> None:
    once, again = (policy.sample([situation()], 20, torch.Generator().manual_seed(3)) for _ in range(2))
    assert once == again


@pytest.mark.parametrize(
    "other",
    [
        situation(task="stencil3x3"),
        situation(task="softmax_bf16"),
        situation(dims={"M": 4096, "N": 512}),
        situation(device=DeviceFacts("another", "sm_90", 132, 4000.0, 4000.0, 60000.0)),
        situation(exemplars=(FAST,)),
        situation(exemplars=(FAST, SLOW)),
        situation(exemplars=(SLOW, FAST)),
        situation(exemplars=(FAST, replace(SLOW, speedup=0.0))),
    ],
    ids=["task", "dtype", "shape", "device", "exemplar", "exemplars", "order", "failure"],
)
def test_whatever_it_is_told_can_change_its_mind(policy: RecipePolicy, other: Situation) -> None:
    before, after = policy.chances(situation()), policy.chances(other)
    if len(other.exemplars) == 2:
        before = policy.chances(situation(exemplars=(FAST, replace(SLOW, speedup=0.5))))
    assert max(abs(before[pick] - after[pick]) for pick in before) > 1e-6


def test_tasks_without_a_word_of_their_own_are_read_alike(policy: RecipePolicy) -> None:
    assert policy.chances(situation(task="one")) == policy.chances(situation(task="other"))


def test_three_exemplars_are_refused(policy: RecipePolicy) -> None:
    with pytest.raises(UsageError, match="3 exemplars are too many"):
        policy.sample([situation(exemplars=(FAST, SLOW, FAST))], 1, torch.Generator())


SOURCE = """SPACE = {"U": [1, 2, 4], "V": ["a", "b"]}
SOURCE = "void f(void) {}"


def launch(x, y, U, V):
    return None
"""


def test_a_pick_is_written_as_a_reply_that_the_reward_service_reads(policy: RecipePolicy) -> None:
    text = policy.reply(situation(exemplars=(FAST, SLOW)), Pick("wide", (1, 0)), SOURCE)
    found = read_reply(text, "c")
    assert isinstance(found, ReadReply)
    assert found.params == {"U": 2, "V": "a"}
    assert "wide with U=4, V=b: 3.00 times the baseline's speed" in found.think
    assert "they differ in U; chosen: wide" in found.think


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ((), "no exemplar was shown"),
        ((replace(SLOW, speedup=0.0),), "did not work"),
        ((FAST, Shown(Pick("plain", ()), 1.0)), "they differ in the recipe"),
    ],
)
def test_what_was_shown_is_told(policy: RecipePolicy, shown: tuple[Shown, ...], words: str) -> None:
    assert words in policy.reply(situation(exemplars=shown), Pick("wide", (1, 0)), SOURCE)


def test_whatever_it_samples_of_the_built_in_recipes_can_be_read() -> None:
    texts = {c.name: c.text for c in builtin_candidates("softmax") if space_in(c.text)}
    spaces = {name: space_in(text) for name, text in texts.items()}
    policy = RecipePolicy.new(spaces, ["softmax"], torch.Generator().manual_seed(0))
    asked = situation(offer=spaces)
    (picks,) = policy.sample([asked], 12, torch.Generator().manual_seed(1))
    for pick in picks:
        found = read_reply(policy.reply(asked, pick, texts[pick.recipe]), "c")
        assert isinstance(found, ReadReply)
        assert found.params == policy.grammar.params(pick)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(EnvironmentFault) as fault:
        RecipePolicy.new(SPACES, ["softmax"], generator)
    assert "kernellab[learn]" in fault.value.fix
