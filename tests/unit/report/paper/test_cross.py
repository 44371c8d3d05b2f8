"""A reader with a calculator: figures of a true paper agree, and one changed figure is named in words."""

from __future__ import annotations

from typing import Any

import pytest

from kernellab.core.records import UntimedTrial
from kernellab.ledger.journal import read_entries
from kernellab.report.paper.claims import Claim
from kernellab.report.paper.cross import contradictions
from kernellab.report.paper.document import PaperFile
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.report.paper.write import make

from .conftest import RUN, MakeRun

ABOUT = "particle_filter N=16777216"


def changed(paper: PaperFile, formula: str, path: str = "", **update: Any) -> list[Claim]:
    """The paper's claims with one of its only shape changed."""

    def is_it(claim: Claim) -> bool:
        return (claim.about, claim.formula, claim.args.get("path", "")) == (ABOUT, formula, path)

    assert sum(map(is_it, paper.claims)) == 1
    return [c.model_copy(update=update) if is_it(c) else c for c in paper.claims]


def test_the_figures_of_a_true_paper_agree(paper: PaperFile, evidence: LedgerPrefix) -> None:
    assert list(contradictions(paper.claims, evidence)) == []


@pytest.mark.parametrize(
    ("formula", "path", "printed", "words"),
    [
        ("bandwidth", "", "3,428.8", ["latency x GB/s is not the bytes moved"]),
        ("of_floor", "", "68.6", ["the share of the floor is not floor / latency"]),
        ("floor", "", "76.00",
         ["the share of the floor is not floor / latency", "the latency lies below what the ceilings allow"]),
        ("ratio", "", "2.263", ["the ratio lies outside of its interval"]),
        ("ratio", "", "2.063", ["the ratio lies outside of its interval"]),
        ("baseline_latency", "", "330.88", ["the quotient of the latencies lies outside of all paired ratios"]),
        ("field", "verdict.max_ulp", "1024.643", ["the error exceeds its budget"]),
    ],
)  # fmt: skip
def test_a_figure_that_cannot_be_true_beside_the_others_is_named(
    formula: str, path: str, printed: str, words: list[str], paper: PaperFile, evidence: LedgerPrefix
) -> None:
    claims = changed(paper, formula, path, printed=printed)
    assert list(contradictions(claims, evidence)) == [f"{ABOUT}: {w}" for w in words]


def test_an_error_as_large_as_its_budget_is_allowed(paper: PaperFile, evidence: LedgerPrefix) -> None:
    assert list(contradictions(changed(paper, "field", "verdict.max_ulp", printed="1024.000"), evidence)) == []


def test_figures_of_one_row_come_from_one_entry(paper: PaperFile, evidence: LedgerPrefix) -> None:
    found = list(contradictions(changed(paper, "pairs", entries="122"), evidence))
    assert found == [f"{ABOUT}: latency, ratio and number of pairs come from different entries"]


def status_of(claim: Claim) -> str | None:
    """Which trials of the whole run a claim counts; None for all other claims."""
    if claim.formula != "count" or claim.args["kind"] != "trial" or not set(claim.args["where"]) <= {"status"}:
        return None
    return str(claim.args["where"].get("status", "all"))


def test_the_counts_of_all_statuses_make_the_number_of_trials(paper: PaperFile, evidence: LedgerPrefix) -> None:
    counts = {status_of(c): c.value for c in paper.claims if status_of(c)}
    assert counts == {
        "measured": 90,
        "rejected": 0,
        "invalid": 30,
        "build-failed": 0,
        "duplicate": 0,
        "busy": 0,
        "all": 120,
    }
    for status, value in (("measured", 91), ("all", 119)):
        claims = [c.model_copy(update={"value": value}) if status_of(c) == status else c for c in paper.claims]
        whole, parts = (120, [91, 0, 30, 0, 0, 0]) if status == "measured" else (119, [90, 0, 30, 0, 0, 0])
        assert list(contradictions(claims, evidence)) == [f"{whole} trials are not the sum of {parts}"]


def test_papers_from_before_trials_could_be_busy_are_added_up_too(paper: PaperFile, evidence: LedgerPrefix) -> None:
    older = [c for c in paper.claims if status_of(c) != "busy"]
    assert list(contradictions(older, evidence)) == []
    wrong = [c.model_copy(update={"value": 121}) if status_of(c) == "all" else c for c in older]
    assert list(contradictions(wrong, evidence)) == ["121 trials are not the sum of [90, 0, 30, 0, 0]"]
    fewer = [c for c in older if status_of(c) != "invalid"]
    assert list(contradictions(fewer, evidence)) == []  # some counts alone make no sum


def test_a_run_with_a_trial_that_was_too_busy_to_time_makes_a_sound_paper(make_run: MakeRun) -> None:
    source = next(e.body for e in read_entries(RUN) if e.kind == "trial" and e.body["status"] == "measured")
    kept = {k: v for k, v in source.items() if k in UntimedTrial.model_fields}
    busy = {**kept, "trial": 120, "status": "busy", "reason": "the machine was too busy"}
    folder = make_run(more=[("trial", busy)], ended=False)
    made = make(LedgerPrefix(folder), "0" * 64)
    counts = {status_of(c): c.value for c in made.paper.claims if status_of(c)}
    assert (counts["busy"], counts["all"]) == (1, 121)
    assert list(contradictions(made.paper.claims, LedgerPrefix(folder))) == []
