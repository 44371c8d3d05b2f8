"""The rule: whole intervals decide, and what cannot be tested confirms nothing."""

from __future__ import annotations

from typing import Any

import pytest

from kernellab.core.records import AnyTrial, MeasuredTrial
from kernellab.studies.evidence import Evidence
from kernellab.studies.finding import least_values, of_share
from kernellab.studies.hypothesis import Hypothesis
from kernellab.studies.judgement import judge

from .evidence_made_up import grid

POPULATION = {"device": "cpu", "tasks": ["softmax"], "shapes": ["256x512"]}


def hypothesis(*parts: dict[str, Any], sample: int = 2) -> Hypothesis:
    return Hypothesis.model_validate({"id": "T", "title": "t", "claim": "c", "sample": sample, "seeds": [1, 2, 3],
                                      "level": 0.75, "population": [POPULATION], "part": list(parts)})  # fmt: skip


def within(bound: float, side: str = "at-least", name: str = "p", **more: Any) -> dict[str, Any]:
    options = {"param": "B", "predicted": [1]}
    rule = {"side": side, "bound": bound}
    return {"name": name, "prediction": "p", "statistic": "advantage-of-set", "options": options, "rule": rule, **more}


TWICE = grid(lambda N, B: 2.0 if B == 1 else 1.0, {"B": [1, 2, 3]}, seeds=(1, 2, 3))
"""One shape, three replicates: the set {1} has an advantage of 2 in each."""


@pytest.mark.parametrize(
    ("bound", "side", "verdict"),
    [
        (1.9, "at-least", "confirmed"),
        (2.1, "at-least", "rejected"),
        (2.1, "at-most", "confirmed"),
        (1.9, "at-most", "rejected"),
    ],
)
def test_the_whole_interval_on_one_side_decides(bound: float, side: str, verdict: str) -> None:
    found = judge(hypothesis(within(bound, side)), TWICE, "cpu")
    assert found.verdict == verdict
    assert (found.value, found.n, found.trials) == (pytest.approx(2.0), 3, [0, 1, 2, 3, 4, 5, 6, 7, 8])


def test_an_interval_across_the_bound_is_inconclusive() -> None:
    turns = grid(lambda N, B: (2.0 if N == 512 else 0.5) if B == 1 else 1.0, {"B": [1, 2]}, shapes=(512, 1024))
    found = judge(hypothesis(within(1.0)), turns, "cpu")
    assert (found.verdict, found.low, found.high) == ("inconclusive", pytest.approx(0.5), pytest.approx(2.0))


def test_fewer_values_than_asked_for_are_inconclusive_whatever_they_say() -> None:
    found = judge(hypothesis(within(1.0), sample=4), TWICE, "cpu")
    assert found.verdict == "inconclusive"
    assert "fewer than the 4 values" in found.reason


def test_fewer_values_than_the_level_takes_are_inconclusive_whatever_they_say() -> None:
    """Two values enclose a median in one case of two."""
    two = grid(lambda N, B: 2.0 if B == 1 else 1.0, {"B": [1, 2]}, seeds=(1, 2))
    found = judge(hypothesis(within(1.0)), two, "cpu")
    assert found.verdict == "inconclusive"
    assert "takes 3 values" in found.reason


@pytest.mark.parametrize(("level", "least"), [(0.75, 3), (0.9, 5), (0.95, 6), (0.99, 8)])
def test_the_least_values_of_a_medians_interval(level: float, least: int) -> None:
    assert least_values(level) == least
    assert 1 - 2.0 ** (1 - least) >= level > 1 - 2.0 ** (2 - least)


def test_a_share_of_many_has_its_interval_too() -> None:
    """Wald's interval is good enough to compare with at this size."""
    found = of_share(3000, 10_000, range(5), 0.95)
    assert (found.low, found.high) == (pytest.approx(0.3 - 0.00898, abs=3e-4), pytest.approx(0.3 + 0.00898, abs=3e-4))


def test_one_rejected_part_rejects_the_hypothesis() -> None:
    assert judge(hypothesis(within(1.5), within(3.0, name="q")), TWICE, "cpu").verdict == "rejected"


def test_a_part_that_cannot_be_tested_is_said_and_does_not_count() -> None:
    pressure = {"name": "reason", "prediction": "p", "statistic": "pressure-beyond-optimum", "options": {"param": "B"},
                "rule": {"side": "at-least", "bound": 0.5}}  # fmt: skip
    found = judge(hypothesis(within(1.5), pressure), TWICE, "cpu")
    assert found.verdict == "confirmed"
    assert not found.parts[1].testable
    assert found.parts[1].reason.startswith("not testable here:")
    assert found.parts[1].value is None


def test_without_evidence_for_the_first_part_nothing_is_confirmed() -> None:
    found = judge(hypothesis(within(1.5)), Evidence(), "cpu")
    assert (found.verdict, found.value, found.trials) == ("inconclusive", None, [])


def test_parts_of_another_device_are_not_judged() -> None:
    found = judge(hypothesis(within(1.5, device="cpu"), within(9.0, device="cuda", name="q")), TWICE, "cpu")
    assert [p.name for p in found.parts] == ["p"]


def test_exact_binomial_intervals_are_the_textbook_ones() -> None:
    found = of_share(8, 10, [], 0.95)
    assert (round(found.low, 4), round(found.high, 4)) == (0.4439, 0.9748)
    assert (of_share(0, 20, [], 0.9).low, of_share(20, 20, [], 0.9).high) == (0.0, 1.0)


def busy(evidence: Evidence, keep: int) -> Evidence:
    """The same trials, all but the first few timed while others used the machine."""
    trials = [t if t.trial < keep else _disturbed(t) for t in evidence.trials]
    return Evidence(trials, evidence.examinations, evidence.borrowed, evidence.read)


def _disturbed(trial: AnyTrial) -> AnyTrial:
    assert isinstance(trial, MeasuredTrial)
    return trial.model_copy(update={"timing": trial.timing.model_copy(update={"disturbed": True})})


def test_what_was_lost_to_load_is_the_reason_and_no_other() -> None:
    repeat = {"name": "p", "prediction": "p", "statistic": "repeat-agreement", "options": {"within": 0.05},
              "rule": {"side": "at-least", "bound": 0.5}}  # fmt: skip
    found = judge(hypothesis(repeat), busy(TWICE, 2), "cpu")
    assert found.reason == (
        "not testable here: of 9 trials 7 found the machine too busy; no kernel was timed in two replicates"
    )
    assert "give two seeds" in judge(hypothesis(repeat), busy(TWICE, 2), "cpu", edition=1).reason


def test_too_few_values_say_what_was_lost() -> None:
    found = judge(hypothesis(within(1.0), sample=3), busy(TWICE, 6), "cpu")
    assert found.reason.endswith(
        "fewer than the 3 values that were asked for; of 9 trials 3 found the machine too busy; fastest B: 1 (2x)"
    )
    older = judge(hypothesis(within(1.0), sample=3), busy(TWICE, 6), "cpu", edition=1)
    assert older.reason.endswith("that were asked for; fastest B: 1 (2x)")
    assert (found.edition, older.edition) == (2, 1)
