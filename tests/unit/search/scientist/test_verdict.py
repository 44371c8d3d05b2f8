"""A hypothesis stands or falls with an interval."""

from __future__ import annotations

import pytest

from kernellab.measurement.stats import Estimate
from kernellab.propose.prompts.replies import ExperimentReply
from kernellab.search.scientist.verdict import judge


def predicted(low: float = 1.1, high: float = 1.3) -> ExperimentReply:
    return ExperimentReply(hypothesis="h", change="c", gain_low=low, gain_high=high, risk="r", refuted_if="f")


@pytest.mark.parametrize(
    ("low", "value", "high", "verdict"),
    [
        (1.12, 1.2, 1.25, "held"),
        (1.02, 1.08, 1.12, "held"),
        (1.4, 1.5, 1.6, "held"),
        (1.01, 1.03, 1.05, "refuted"),
        (0.7, 0.8, 0.9, "refuted"),
        (0.95, 1.0, 1.05, "refuted"),
        (0.95, 1.05, 1.15, "undecided"),
    ],
)
def test_the_interval_decides(low: float, value: float, high: float, verdict: str) -> None:
    found, reason = judge(Estimate(value, low, high, 11), predicted())
    assert found == verdict
    assert f"{value:.3f} [{low:.3f}, {high:.3f}]" in reason


def test_more_than_was_predicted_is_said() -> None:
    assert "more than the 1.3 predicted" in judge(Estimate(1.5, 1.4, 1.6, 11), predicted())[1]


def test_what_never_ran_decides_nothing() -> None:
    assert judge(None, predicted())[0] == "undecided"


def test_without_a_prediction_faster_is_enough() -> None:
    assert judge(Estimate(1.05, 1.01, 1.1, 11), None)[0] == "held"
    assert judge(Estimate(0.95, 0.9, 0.99, 11), None)[0] == "refuted"
