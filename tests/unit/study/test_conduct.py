"""Whole studies, tiny ones, with real compilers: registered first, resumable, refused when changed, audited."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.report.audit import audit
from kernellab.search.replay import replay_trial
from kernellab.studies.conduct import resume_study, run_study
from kernellab.studies.library import checked, read
from kernellab.studies.mine.follow_up import as_toml
from kernellab.studies.register import read_study

from .small_studies import NAMES, QUICK, Reports, kinds, tiny

pytestmark = pytest.mark.backend_c


@pytest.mark.parametrize("name", NAMES)
def test_a_study_is_registered_before_its_first_trial_and_judged_after_its_last(reports: Reports, name: str) -> None:
    found = kinds(reports[name].folder)
    last = max(n for n, kind in enumerate(found) if kind == "trial")
    assert found.index("study") < found.index("calibration") < found.index("trial")
    assert last < found.index("study-verdict") == len(found) - 2
    assert found[-1] == "end"
    registered = read_study(reports[name].folder).registration
    assert registered is not None
    assert checked(registered.hypothesis, "the record").digest == registered.digest
    assert all((registered.claim, registered.statistic, registered.prediction, registered.rule, registered.n))


@pytest.mark.heavy(of="study H1")
def test_the_sweet_spot_says_what_a_processor_cannot_tell(reports: Reports) -> None:
    optimum, pressure = reports["H1"].verdict.parts
    assert optimum.testable
    assert optimum.n == 3
    assert not pressure.testable
    assert pressure.reason.startswith("not testable here")


def test_without_the_maximum_large_inputs_are_not_finite_and_with_it_all_are_right(reports: Reports) -> None:
    verdict = reports["H2"].verdict
    worst, ulp, without = verdict.parts
    assert (worst.verdict, ulp.verdict) == ("confirmed", "confirmed")
    assert worst.value is not None
    assert worst.value < 4e-3
    assert without.value == 0.5  # 'large' of two distributions, in every replicate
    assert "under: large" in without.reason


def test_replicates_measure_the_same_machine_code_anew(reports: Reports) -> None:
    evidence = read_study(reports["H3"].folder).evidence
    statuses = {t.status for t in evidence.trials}
    assert statuses == {"measured"}
    cells = next(iter(evidence.places().values()))
    assert len(cells) == 2
    assert len({frozenset(c) for c in cells.values()}) == 1
    assert reports["H3"].verdict.n == 4


@pytest.mark.heavy
def test_a_trial_of_a_study_replays_against_the_baseline_it_was_measured_with(reports: Reports) -> None:
    row = replay_trial(reports["H3"].folder, 0)
    assert (row["same_machine_code"], row["baseline"]) == (True, "numpy")


def test_a_finished_study_is_not_run_again(reports: Reports, tmp_path: Path) -> None:
    before = (reports["H3"].folder / "ledger.jsonl").read_bytes()
    again = run_study(tiny("H3", tmp_path), QUICK, reports["H3"].folder)
    assert again.verdict == reports["H3"].verdict
    assert (reports["H3"].folder / "ledger.jsonl").read_bytes() == before


def test_a_hypothesis_changed_after_its_registration_is_refused_and_the_difference_shown(
    reports: Reports, tmp_path: Path
) -> None:
    path = tiny("H3", tmp_path)
    path.write_text(path.read_text().replace("bound = 0.2", "bound = 0.3"))
    with pytest.raises(UsageError, match="changed after hypothesis H3 was registered") as caught:
        run_study(path, QUICK, reports["H3"].folder)
    assert "part[0].rule.bound: registered 0.2, now 0.3" in caught.value.what


def test_an_edited_copy_in_the_folder_is_refused_too(reports: Reports, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(reports["H3"].folder, tmp_path / "run"))
    text = (folder / "hypothesis.toml").read_text()
    (folder / "hypothesis.toml").write_text(text.replace("bound = 0.2", "bound = 0.9"))
    with pytest.raises(UsageError, match=r"registered 0\.2, now 0\.9"):
        resume_study(folder)


@pytest.mark.heavy
def test_an_interrupted_study_goes_on_with_the_same_plan(tmp_path: Path) -> None:
    path, folder, seen = tiny("H2", tmp_path), tmp_path / "run", 0

    def stop(event: Event) -> None:
        nonlocal seen
        seen += event.kind == "trial"
        if seen == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(path, QUICK, folder, (), stop)
    assert "study-verdict" not in kinds(folder)
    report = resume_study(folder)
    evidence = read_study(folder).evidence
    configs = [(t.seed, str(t.proposal.params)) for t in evidence.trials]
    assert len(configs) == len(set(configs)) == 6
    examined = [(e.trial, e.distribution) for e in evidence.examinations]
    assert len(examined) == len(set(examined)) == 12  # the trial that was cut off has been examined after all
    assert report.verdict.verdict == "confirmed"
    assert audit(folder).ok


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("place", "change", "words"),
    [
        ("population", {"space": {"NOPE": [1]}}, "no candidate has a parameter 'NOPE'"),
        ("population", {"vary": "NOPE"}, "no candidate has a parameter 'NOPE'"),
        ("part", {"where": {"BLOCK": 3}}, "no candidate has the choice BLOCK=3"),
        ("part", {"options": {"param": "NOPE", "predicted": [1]}}, "no candidate has a parameter 'NOPE'"),
        ("part", {"options": {"param": "BLOCK", "predicted": [3]}}, "no candidate has the choice BLOCK=3"),
    ],
)
def test_what_no_candidate_has_is_refused_before_anything_is_registered(
    tmp_path: Path, place: str, change: dict[str, Any], words: str
) -> None:
    content = read(tiny("H1", tmp_path)).content()
    content[place][0] |= change
    path = tmp_path / "changed.toml"
    path.write_text(as_toml(checked(content, "changed")))
    with pytest.raises(UsageError, match=words):
        run_study(path, QUICK, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_study_that_is_there_is_not_taken_for_one_on_other_terms(reports: Reports) -> None:
    folder = reports["H2"].folder
    path = folder.parent / "H2.toml"
    assert run_study(path, QUICK, folder).ledger_root == reports["H2"].ledger_root
    for change, words in (({"threads": 2}, "--threads 1"), ({"target": "generic"}, "--target of its own")):
        with pytest.raises(UsageError, match=words):
            run_study(path, QUICK.model_copy(update=change), folder)
    candidate = next((folder.parent / "candidates").glob("*_c.py"))
    text = candidate.read_text()
    candidate.write_text(text + "\n# another one\n")
    try:
        with pytest.raises(UsageError, match="other candidate files"):
            run_study(path, QUICK, folder)
    finally:
        candidate.write_text(text)
