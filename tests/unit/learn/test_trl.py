"""TRL's form of a reward function: texts or messages in, numbers or None out, columns beside them."""

from __future__ import annotations

from typing import Any

import pytest

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.learn.trl import trl_reward


class Scripted:
    """Answers with the rewards it was given, and remembers what it was asked."""

    def __init__(self, *rewards: float | None) -> None:
        self.rewards, self.asked = rewards, list[dict[str, str]]()

    def score_plain(self, samples: list[dict[str, str]]) -> list[dict[str, Any]]:
        self.asked += samples
        return [
            {"reward": r, "accuracy": 1 if r else 0, "why": "" if r else "busy"} for r in self.rewards[: len(samples)]
        ]


def test_texts_and_messages_become_samples_with_ids_and_columns() -> None:
    scorer = Scripted(1.5, 0.0)
    completions = ["one", [{"role": "user", "content": "?"}, {"role": "assistant", "content": "two"}]]
    found = trl_reward(scorer)(["p", "q"], completions, task=["cube", "cube"], shape=["N=4", None], step=[1, 2])
    assert found == [1.5, 0.0]
    assert [(s["reply"], s["task"], s["shape"]) for s in scorer.asked] == [("one", "cube", "N=4"), ("two", "cube", "")]
    assert len({s["id"] for s in scorer.asked}) == 2


def test_a_masked_sample_is_none() -> None:
    assert trl_reward(Scripted(None, 1.0, 1.0, 1.0))(["p"] * 4, ["a"] * 4) == [None, 1.0, 1.0, 1.0]


def test_training_stops_where_too_much_is_masked_and_says_why() -> None:
    with pytest.raises(EnvironmentFault, match="2 of 4 samples could not be rewarded, more than 30%: busy"):
        trl_reward(Scripted(None, 1.0, None, 1.0))(["p"] * 4, ["a"] * 4)


def test_a_group_of_zeros_is_a_group_like_any_other() -> None:
    assert trl_reward(Scripted(0.0, 0.0))(["p"] * 2, ["a"] * 2) == [0.0, 0.0]


def test_what_trl_offers_for_logging_is_used() -> None:
    extra: dict[str, Any] = {}
    metrics: dict[str, float] = {}
    trl_reward(Scripted(None, 2.0), 1.0)(
        ["p"] * 2, ["a"] * 2, log_extra=extra.__setitem__, log_metric=metrics.__setitem__
    )
    assert extra == {"why": ["busy", ""]}
    assert metrics == {"masked": 0.5, "right": 0.5}


@pytest.mark.parametrize("completion", [7, None, [], ["text"], [{"role": "assistant"}]])
def test_what_is_no_completion_is_told(completion: object) -> None:
    with pytest.raises(UsageError, match="neither a text nor a list of messages"):
        trl_reward(Scripted())(["p"], [completion])


def test_a_column_has_a_value_for_every_completion() -> None:
    with pytest.raises(UsageError, match="the column 'task' has 1 values for 2 completions"):
        trl_reward(Scripted())(["p"] * 2, ["a"] * 2, task=["cube"])
