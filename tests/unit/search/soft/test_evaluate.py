"""Evaluations count as a run would act, and what is shown of a mistake holds nothing that no prompt may hold."""

from __future__ import annotations

from typing import Any

import pytest

from kernellab.propose.prompts import FormatFailure, Opinion
from kernellab.search.soft.evaluate import Catalogue, Evaluation, flags
from kernellab.search.soft.fate import Fate
from kernellab.search.soft.labelled import Labelled
from kernellab.search.soft.look import AnyAnswer, Said, Silent, Unreadable
from kernellab.tasks.builtin import TASKS

KIND = "soft_numerics"
COMMON: dict[str, Any] = {"kind": KIND, "call": 0}
LOST = Unreadable(
    **COMMON, request="r", failure=FormatFailure(expected=KIND, fault="empty", what="it is empty", excerpt="")
)
GONE = Silent(**COMMON, cause="cut-stream", reason="it broke off")


def said(verdict: Any, confidence: float, problem: str = "", line: int | None = None) -> Said:
    opinion = Opinion(verdict=verdict, confidence=confidence, problem=problem, line=line)
    return Said(**COMMON, request="r", opinion=opinion)


def trial(fate: Fate, backend: Any = "c") -> Labelled:
    return Labelled(source="ab" * 32, task="softmax", backend=backend, family="f", origin="o", fate=fate, wall_s=1.0)


GOOD, WRONG = trial(Fate(outcome="passed")), trial(Fate(outcome="rejected", cause="wrong-output", reason="y is off"))


@pytest.mark.parametrize(
    ("answer", "flagged"),
    [(said("fail", 0.9), True), (said("fail", 0.5), False), (said("fail", 0.3), False), (said("pass", 0.9), False),
     (said("pass", 0.4), True), (LOST, False), (GONE, False)],
)  # fmt: skip
def test_an_answer_flags_what_it_holds_for_more_likely_to_fail_than_not(answer: AnyAnswer, flagged: bool) -> None:
    assert flags(answer) == flagged


def test_rates_of_both_sorts_count_the_same_and_no_opinion_is_a_pass() -> None:
    trials = [WRONG, WRONG, WRONG, WRONG, GOOD, GOOD]
    answers = [said("fail", 0.9), said("pass", 0.9), LOST, GONE, said("pass", 0.9), said("fail", 0.8)]
    found = Evaluation.of(KIND, trials, answers)
    assert (found.caught, found.failing, found.spared, found.passing) == (1, 4, 1, 2)
    assert float(found.balanced) == 0.375
    figures = found.figures()
    assert (figures["unreadable"], figures["silent"]) == (1, 1)
    assert Evaluation.model_validate(found.model_dump(mode="json")) == found


def test_mistakes_say_what_was_said_and_what_is_true() -> None:
    catalogue = Catalogue.of([GOOD, WRONG])
    missed = catalogue.mistake(WRONG, "code", said("pass", 0.75), KIND)
    assert (missed.said, missed.failed, missed.truth) == ("pass with confidence 0.75", True, "wrong-output: y is off")
    alarm = catalogue.mistake(GOOD, "code", said("fail", 0.9, "no maximum", 7), KIND)
    assert (alarm.said, alarm.failed, alarm.truth) == ("fail with confidence 0.90: no maximum (line 7)", False, "")
    assert "it is empty" in catalogue.mistake(WRONG, "code", LOST, KIND).said
    assert catalogue.mistake(WRONG, "code", GONE, KIND).said == "nothing, which counts as pass"


def test_held_out_shapes_in_sources_reasons_and_opinions_are_withheld() -> None:
    held_out = next(d for d in TASKS["softmax"].on("cpu").held_out)
    shape = "x".join(map(str, held_out.values()))
    wrong = trial(Fate(outcome="rejected", cause="wrong-output", reason=f"wrong at {shape}"))
    mistake = Catalogue.of([wrong]).mistake(wrong, f"assert {shape}", said("pass", 0.9, f"seen at {shape}"), KIND)
    assert shape not in mistake.truth + mistake.source + mistake.said


def test_kernels_for_a_gpu_are_shown_with_its_facts() -> None:
    gpu = trial(Fate(outcome="built"), "cuda")
    catalogue = Catalogue.of([gpu, GOOD])
    assert catalogue.device(gpu).is_gpu
    assert not catalogue.device(GOOD).is_gpu
    assert catalogue.facts(gpu).shapes != catalogue.facts(GOOD).shapes
