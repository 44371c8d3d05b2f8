"""The audit of a study: what was registered, whether its record keeps to that, and whether the verdict follows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.records import dump
from kernellab.report.audit import audit
from kernellab.report.entry_kinds import ENTRY_KINDS
from kernellab.studies.evidence import Evidence
from kernellab.studies.judgement import judge
from kernellab.studies.library import checked

from .small_studies import NAMES, Entries, Reports, body_of, resigned

pytestmark = pytest.mark.backend_c


@pytest.mark.parametrize("name", NAMES)
def test_the_audit_derives_the_verdict_again(reports: Reports, name: str) -> None:
    report = audit(reports[name].folder)
    assert report.ok, report.problems
    assert report.ended


def _flip(entries: Entries) -> None:
    verdict = body_of(entries, "study-verdict")
    verdict["verdict"] = "rejected" if verdict["verdict"] != "rejected" else "confirmed"


def _move_interval(entries: Entries) -> None:
    verdict = body_of(entries, "study-verdict")
    verdict["high"] += 0.01
    verdict["parts"][0]["high"] += 0.01


def _soften_rule(entries: Entries) -> None:
    body_of(entries, "study")["hypothesis"]["part"][0]["rule"]["bound"] = 100.0


def _say_other_claim(entries: Entries) -> None:
    body_of(entries, "study")["claim"] = "the opposite"


def _register_late(entries: Entries) -> None:
    study = next(e for e in entries if e[0] == "study")
    entries.remove(study)
    entries.insert(-2, study)


def _say_other_title(entries: Entries) -> None:
    body_of(entries, "study")["title"] = "Twelve times faster"


def _name_others(entries: Entries) -> None:
    body_of(entries, "study")["others"] = [{"run": "0" * 16, "root": "0", "device": "Another"}]


def _announce_loans(entries: Entries) -> None:
    body_of(entries, "study")["loans"] = 7


def _name_other_candidates(entries: Entries) -> None:
    body_of(entries, "study")["candidates"] = {"another": "0" * 64}


def _add_a_word(entries: Entries) -> None:
    body_of(entries, "study")["note"] = "confirmed"


def _register_a_smaller_space(entries: Entries) -> None:
    body_of(entries, "study")["spaces"]["softmax_online"][0][1].pop()


def _measure_with_less_effort(entries: Entries) -> None:
    body_of(entries, "run")["settings"]["effort"] = "full"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_flip, "give another verdict: verdict is"),
        (_move_interval, "give another verdict: high is"),
        (_soften_rule, "the digest is not that of the registered hypothesis"),
        (_say_other_claim, "claim is 'the opposite'"),
        (_register_late, "registers a hypothesis after"),
        (_say_other_title, "title is 'Twelve times faster'"),
        (_name_others, "was registered to compare with, and nothing of it is there"),
        (_announce_loans, "7 loans were registered, and 0 are there"),
        (_name_other_candidates, "candidates.another is"),
        (_add_a_word, "(study): is not a well-formed record: note: Extra inputs are not permitted"),
        (_register_a_smaller_space, "the space registered for candidate softmax_online is not the one in its source"),
        (_measure_with_less_effort, "the run has effort 'full'"),
    ],
)
def test_the_audit_sees_a_study_that_was_rewritten(reports: Reports, tmp_path: Path, change: Any, words: str) -> None:
    problems = audit(resigned(reports["H3"], tmp_path / "run", change)).problems
    assert any(words in p for p in problems), problems


def trials_of(entries: Entries) -> list[dict[str, Any]]:
    return [body for kind, body in entries if kind == "trial"]


def judged_again(change: Callable[[Entries], object]) -> Callable[[Entries], None]:
    """The verdict that the changed record gives by the rule: no figure of it is false."""

    def rewrite(entries: Entries) -> None:
        change(entries)
        evidence = Evidence()
        for kind, body in entries:
            if kind in ("trial", "examination", "borrowed"):
                evidence.take(ENTRY_KINDS[kind].read(body))
        body = body_of(entries, "study")
        verdict = judge(checked(body["hypothesis"], "it"), evidence, body["device"])
        body_of(entries, "study-verdict").update(dump(verdict))

    return rewrite


def _add(entries: Entries, **changes: Any) -> None:
    added = {**copy.deepcopy(trials_of(entries)[-1]), "trial": len(trials_of(entries)), **changes}
    entries.insert(-2, ("trial", added))


def _add_a_seed(entries: Entries) -> None:
    _add(entries, seed=99)


def _try_twice(entries: Entries) -> None:
    _add(entries)


def _try_something_else(entries: Entries) -> None:
    trials_of(entries)[0]["proposal"]["params"]["BLOCK"] = 3


def _try_another_source(entries: Entries) -> None:
    trials_of(entries)[0]["proposal"]["source"] = entries[1][1]["candidates"]["softmax_online"][::-1]


def _leave_out(entries: Entries) -> None:
    last = max(n for n, (kind, _) in enumerate(entries) if kind == "trial")
    del entries[last]


def _try_elsewhere(entries: Entries) -> None:
    trials_of(entries)[0]["device"] = "Another"


def _stand_for_another_replicate(entries: Entries) -> None:
    first, last = trials_of(entries)[0], trials_of(entries)[-1]
    for name in ("timing", "trust", "verdict", "inputs_seed"):
        del last[name]
    last |= {"status": "duplicate", "of": 0, "artifact": first["artifact"]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_add_a_seed, "has the seed 99, which was not registered"),
        (_try_twice, "again, which the plan has once"),
        (_try_something_else, "trial 0 is not in the registered plan"),
        (_try_another_source, "trial 0 is not in the registered plan"),
        (_leave_out, "a verdict is given, and 1 of the 8 registered trials are missing"),
        (_try_elsewhere, "is of Another, and the run of"),
        (_stand_for_another_replicate, "stands for trial 0 of another shape or replicate"),
    ],
)
def test_a_study_has_the_trials_of_its_plan_and_no_other(
    reports: Reports, tmp_path: Path, change: Callable[[Entries], None], words: str
) -> None:
    problems = audit(resigned(reports["H3"], tmp_path / "run", judged_again(change))).problems
    assert any(words in p for p in problems), problems
    assert not any("another verdict" in p for p in problems), problems


def _examinations(entries: Entries) -> list[dict[str, Any]]:
    return [body for kind, body in entries if kind == "examination"]


def _examine_twice(entries: Entries) -> None:
    entries.insert(-2, ("examination", copy.deepcopy(_examinations(entries)[0])))


def _examine_on_other_inputs(entries: Entries) -> None:
    _examinations(entries)[0]["inputs_seed"] = "00" * 32


def _examine_under_another(entries: Entries) -> None:
    _examinations(entries)[0]["distribution"] = "masked"


def _leave_an_examination_out(entries: Entries) -> None:
    entries.remove(("examination", _examinations(entries)[0]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_examine_twice, "examines trial 0 under 'normal' a second time"),
        (_examine_on_other_inputs, "examines trial 0 on other inputs"),
        (_examine_under_another, "examines trial 0 under 'masked', which was not registered"),
        (_leave_an_examination_out, "trial 0 was not examined under 'normal'"),
    ],
)
def test_a_study_has_the_examinations_of_its_plan_and_no_other(
    reports: Reports, tmp_path: Path, change: Callable[[Entries], None], words: str
) -> None:
    problems = audit(resigned(reports["H2"], tmp_path / "run", judged_again(change))).problems
    assert any(words in p for p in problems), problems


def _end_without(entries: Entries) -> None:
    entries.remove(("study-verdict", body_of(entries, "study-verdict")))


def _go_on(entries: Entries) -> None:
    entries.insert(-1, ("trial", {**copy.deepcopy(trials_of(entries)[-1]), "trial": len(trials_of(entries))}))


@pytest.mark.parametrize(
    ("change", "words"), [(_end_without, "the study ends without a verdict"), (_go_on, "comes after the verdict")]
)
def test_the_verdict_is_the_end_of_a_study(
    reports: Reports, tmp_path: Path, change: Callable[[Entries], None], words: str
) -> None:
    problems = audit(resigned(reports["H3"], tmp_path / "run", change)).problems
    assert any(words in p for p in problems), problems


def test_an_unfinished_study_lacks_trials_and_is_sound(reports: Reports, tmp_path: Path) -> None:
    def cut(entries: Entries) -> None:
        del entries[-3:]

    assert audit(resigned(reports["H3"], tmp_path / "run", cut)).ok
