"""Which experiments are carried out."""

from __future__ import annotations

from kernellab.propose.prompts.replies import ExperimentReply
from kernellab.search.scientist.pick import novelty, pick


def experiment(hypothesis: str, low: float, high: float) -> ExperimentReply:
    return ExperimentReply(
        hypothesis=hypothesis, change="as said", gain_low=low, gain_high=high, risk="r", refuted_if="f"
    )


SAFE = experiment("unroll the inner loop by four", 1.01, 1.05)
BOLD = experiment("keep the whole row in registers", 1.2, 1.6)
ODD = experiment("sort columns before the reduction starts", 1.0, 1.02)
TWIN = experiment("keep the whole row in registers", 1.2, 1.6)


def test_promising_and_novel_ones_take_turns() -> None:
    chosen, reasons = pick([SAFE, BOLD, TWIN, ODD], 3, [])
    assert chosen[0] == 1
    assert reasons == ["promising", "novel", "promising"]
    assert chosen[1] in (0, 3)
    assert 2 not in chosen


def test_what_was_tested_before_comes_last() -> None:
    assert pick([BOLD, SAFE], 1, ["keep the whole row in registers as said"])[0] == [1]


def test_no_more_are_chosen_than_there_are() -> None:
    assert sorted(pick([SAFE, BOLD], 5, [])[0]) == [0, 1]
    assert pick([], 3, []) == ([], [])


def test_the_choice_is_the_same_each_time() -> None:
    assert pick([SAFE, BOLD, ODD, TWIN], 3, ["x"]) == pick([SAFE, BOLD, ODD, TWIN], 3, ["x"])


def test_novelty_is_about_words() -> None:
    assert novelty("wider vectors", []) == 1
    assert novelty("wider vectors", ["wider vectors"]) == 0
    assert 0 < novelty("wider vectors help", ["wider loads help"]) < 1
