"""The records behind rewards: strict, and written as they were given."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kernellab.ledger.reward_records import REWARD, REWARD_BATCH, REWARD_CHECK

GIVEN: dict[str, Any] = {
    "sample": "a", "task": "cube", "dims": {"N": 8}, "reply": "00", "format": 1, "accuracy": None, "speedup": None,
    "reward": None, "why": "the laboratory failed",
}  # fmt: skip
BATCH: dict[str, Any] = {
    "batch": 0,
    "first": 0,
    "task": "cube",
    "dims": {"N": 8},
    "aa": [[1.0], [1.0]],
    "disturbed": False,
    "masked": "",
}


def test_a_reward_is_written_as_it_was_read() -> None:
    found = REWARD.read(GIVEN)
    assert (found.trials, found.failed, found.fault) == ([], "", "")
    assert REWARD.plain(found) == GIVEN


@pytest.mark.parametrize("change", [{"reward": "1"}, {"reward": float("nan")}, {"trials": ["0"]}, {"bonus": 1.0}])
def test_a_reward_that_is_none_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        REWARD.read({**GIVEN, **change})


@pytest.mark.parametrize("aa", [[[1.0]], [[1.0], []], [[], []], [[1.0, 1.0], [1.0]]])
def test_samples_of_a_batch_come_in_pairs(aa: list[list[float]]) -> None:
    with pytest.raises(ValidationError, match="samples come in pairs"):
        REWARD_BATCH.read({**BATCH, "aa": aa})


def test_a_look_has_a_level_and_a_verdict() -> None:
    verdict = {"status": "rejected", "cause": "wrong-output", "reason": "off", "case": ""}
    look = {"trial": 0, "level": "further", "dims": {"N": 3}, "inputs_seed": "00", "verdict": verdict}
    assert REWARD_CHECK.read(look).distribution == ""
    with pytest.raises(ValidationError):
        REWARD_CHECK.read({**look, "level": "glance"})
