"""A ledger of rewards in numbers, and what was paid before it was found out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.recorded import CUBE
from tests.support.resign import Bodies, resigned
from tests.unit.learn.conftest import Score
from tests.unit.learn.kernels import HONEST, WRONG

from kernellab.learn.summary import RewardSummary, summary_of
from kernellab.ledger.run import Run


@pytest.mark.heavy
def test_samples_are_counted_by_what_they_got(score: Score, folder: Path) -> None:
    scored = score(HONEST, WRONG, "none")
    found = summary_of(Run(folder))
    assert found is not None
    rewards = [one.reward for one in scored]
    assert (found.samples, found.nothing, found.refused_later) == (3, 2, 0)
    assert (found.paid, found.masked) == ((1, 0) if rewards[0] else (0, 1))
    assert found.words.startswith(f"3 samples: {found.paid} paid, 2 got nothing, {found.masked} masked, ")


def test_what_was_paid_and_failed_a_look_later_is_counted(score: Score, folder: Path, tmp_path: Path) -> None:
    score(HONEST)

    def refuse(entries: Bodies) -> None:
        look = next(dict(body) for kind, body in entries if kind == "reward-check")
        verdict = {"status": "rejected", "cause": "wrong-output", "reason": "off", "case": ""}
        entries.append(("reward-check", {**look, "verdict": verdict}))

    changed = summary_of(Run(resigned(folder, tmp_path / "run", refuse)))
    assert changed is not None
    assert changed.refused_later == changed.paid


def test_words_say_what_failed_later() -> None:
    assert RewardSummary(4, 2, 1, 1, 0.5, 1).words == (
        "4 samples: 2 paid, 1 got nothing, 1 masked, 0.500 on average; 1 of the paid failed a look later"
    )
    assert RewardSummary(1, 0, 0, 1, None, 0).words == "1 samples: 0 paid, 0 got nothing, 1 masked"


def test_a_run_without_rewards_has_none() -> None:
    assert summary_of(Run(CUBE)) is None
