"""Scores by hand: a table small enough to count, and a run that skips set against one that tried everything."""

from __future__ import annotations

import random

import pytest

from kernellab.propose.prompts import Opinion
from kernellab.search.soft import Judged, Look, score
from kernellab.search.soft.fate import Fate, SoftKind
from kernellab.search.soft.look import Said, combined

GOOD, WRONG = Fate(outcome="passed"), Fate(outcome="rejected", cause="wrong-output")
BROKEN, BUILT = Fate(outcome="build-failed"), Fate(outcome="built")


def said(kind: SoftKind, p_fail: float) -> Said:
    verdict = "fail" if p_fail > 0.5 else "pass"
    opinion = Opinion(verdict=verdict, confidence=max(p_fail, 1 - p_fail))  # type: ignore[arg-type]
    return Said(kind=kind, call=0, request="r", opinion=opinion)


def look(skip: bool = False, share: float = 0.1, **p: float) -> Look:
    answers = tuple(said(f"soft_{kind}", value) for kind, value in p.items())  # type: ignore[arg-type]
    p_fail = combined(answers)
    flagged = p_fail is not None and p_fail > 0.8
    return Look(
        answers=answers, p_fail=p_fail, skip_above=0.8, audit_share=share, audited=flagged and not skip, skip=skip
    )


def test_in_hindsight_everything_is_counted_as_it_is() -> None:
    rows = [
        Judged(look(numerics=0.9), WRONG, 2.0),
        Judged(look(numerics=0.9), WRONG, 2.0),
        Judged(look(numerics=0.1), WRONG, 3.0),
        Judged(look(numerics=0.9), GOOD, 5.0),
        Judged(look(numerics=0.1), GOOD, 7.0),
        Judged(look(numerics=0.1), GOOD, 7.0),
        Judged(look(numerics=0.2), GOOD, 7.0),
    ]
    found = score(rows, hindsight=True)
    for figures in (found.combined, found.kinds["soft_numerics"]):
        assert figures.precision is not None
        assert figures.recall is not None
        assert figures.false_skip is not None
        assert figures.precision.value == pytest.approx(2 / 3)
        assert figures.recall.value == pytest.approx(2 / 3)
        assert figures.false_skip.value == pytest.approx(1 / 4)
        assert (figures.precision.n, figures.recall.n, figures.false_skip.n) == (3, 3, 4)
    assert found.hardware_s == pytest.approx(33.0)
    assert found.saved_s == pytest.approx(9.0)
    assert found.lost == pytest.approx(1.0)
    assert (found.looks, found.tried, found.flagged, found.skipped) == (7, 7, 3, 3)


def test_a_verifier_is_measured_on_the_failures_its_question_is_about() -> None:
    rows = [
        Judged(look(compile=0.1, numerics=0.9), WRONG),  # it builds: right of the first, right of the second
        Judged(look(compile=0.9, numerics=0.1), BROKEN),  # it never ran: nothing is known of its numbers
        Judged(look(compile=0.9, numerics=0.1), BUILT),  # builds after all; whether it is right nobody knows
    ]
    found = score(rows, hindsight=True)
    compile_, numerics = found.kinds["soft_compile"], found.kinds["soft_numerics"]
    assert compile_.precision is not None
    assert compile_.precision.value == 0.5
    assert compile_.recall is not None
    assert compile_.recall.n == 1
    assert numerics.recall is not None
    assert (numerics.recall.value, numerics.recall.n) == (1.0, 1)
    assert found.combined.recall is not None
    assert found.combined.recall.n == 2


FLAGGED, SKIPPED, PLAIN = look(numerics=0.9), look(skip=True, numerics=0.9), look(numerics=0.1)


def draw(rng: random.Random, count: int) -> tuple[list[Judged], list[Judged]]:
    """The same candidates, all tried, and in a run that skips nine of ten that are flagged."""
    everything, run = [], []
    for _ in range(count):
        fails = rng.random() < 0.5
        flagged = rng.random() < (0.8 if fails else 0.1)
        row = Judged(FLAGGED if flagged else PLAIN, WRONG if fails else GOOD, 1.0 if fails else 3.0)
        everything.append(row)
        run.append(Judged(SKIPPED, None) if flagged and rng.random() > 0.1 else row)
    return everything, run


def test_audited_trials_stand_for_all_that_was_skipped() -> None:
    everything, run = draw(random.Random(3), 4000)
    truth, estimate = score(everything, hindsight=True), score(run)
    for name in ("precision", "recall", "false_skip"):
        true, found = getattr(truth.combined, name), getattr(estimate.combined, name)
        assert found.low <= true.value <= found.high, name
        assert found.high - found.low > true.high - true.low
    assert estimate.saved_s == pytest.approx(0.9 * truth.saved_s, rel=0.1)
    assert estimate.hardware_s == pytest.approx(truth.hardware_s, rel=0.1)
    assert estimate.skipped + estimate.tried == 4000


def test_intervals_from_audited_runs_hold_the_truth_as_often_as_they_say() -> None:
    rng = random.Random(4)
    inside = dict.fromkeys(("precision", "recall", "false_skip"), 0)
    true = {"precision": 8 / 9, "recall": 0.8, "false_skip": 0.1}
    for _ in range(60):
        found = score(draw(rng, 400)[1]).combined
        for name in inside:
            rate = getattr(found, name)
            inside[name] += rate.low <= true[name] <= rate.high
    assert min(inside.values()) >= 55, inside


def test_a_run_that_tried_nothing_flagged_has_no_precision() -> None:
    found = score([Judged(look(skip=True, numerics=0.9), None), Judged(look(numerics=0.1), GOOD, 1.0)])
    assert found.combined.precision is None
    assert found.combined.recall is None
    assert found.combined.false_skip is None
    assert found.saved_s == 0.0


def test_where_nothing_was_flagged_nothing_was_caught() -> None:
    found = score([Judged(PLAIN, WRONG, 1.0), Judged(PLAIN, GOOD, 1.0)]).combined
    assert found.precision is None
    assert found.recall is not None
    assert (found.recall.value, found.recall.n) == (0.0, 1)


def test_no_looks_are_no_figures() -> None:
    found = score([])
    assert (found.looks, found.kinds, found.combined.precision) == (0, {}, None)
