"""Whole studies, tiny ones, with real compilers: registered first, resumable, refused when changed, audited."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.events import Event
from kernellab.core.records import MeasuredTrial
from kernellab.core.settings import Settings
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import SigningKey
from kernellab.report.audit import audit
from kernellab.search.replay import read_trials, replay_trial
from kernellab.study.conduct import Report, resume_study, run_study
from kernellab.study.hypothesis import Hypothesis
from kernellab.study.library import SHIPPED, checked, find, read
from kernellab.study.mine.follow_up import as_toml
from kernellab.study.register import read_study

pytestmark = pytest.mark.backend_c
QUICK = Settings(device="cpu", sample_s=0.0002)
TINY: dict[str, dict[str, Any]] = {
    "H1": {
        "shapes": ["16x128"],
        "space": {"BLOCK": [128, 512], "UNROLL": [4], "POLYNOMIAL": ["horner"], "SCHEDULE": ["source"]},
    },
    "H2": {"shapes": ["4x64"], "distributions": ["normal", "large"]},
    "H3": {"shapes": ["16x128", "16x256"], "candidates": ["softmax_online"], "most": 2, "space": {"EXP": ["poly"]}},
}


def tiny(name: str, folder: Path) -> Path:
    """A shipped hypothesis with its own claim and rule, and a population that takes seconds."""
    content = read(find(name)).content()
    content["population"] = [{**p, **TINY[name]} for p in content["population"] if p["device"] == "cpu"]
    content["part"] = [p for p in content["part"] if p["device"] in (None, "cpu")]
    content |= {"seeds": content["seeds"][:3], "sample": 3, "level": 0.75}
    folder.mkdir(exist_ok=True)
    shutil.copytree(SHIPPED / "candidates", folder / "candidates", dirs_exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(as_toml(checked(content, name)))
    return path


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    home = tmp_path_factory.mktemp("studies")
    return {name: run_study(tiny(name, home), QUICK, home / name) for name in TINY}


def kinds(folder: Path) -> list[str]:
    return [e.kind for e in read_entries(folder)]


def resigned(report: Report, target: Path, change: Callable[[list[tuple[str, dict[str, Any]]]], object]) -> Path:
    """The study as its owner could have signed it, had this been the content."""
    entries = [(e.kind, copy.deepcopy(dict(e.body))) for e in read_entries(report.folder)]
    entries[0][1].pop("public_key")
    entries[0][1].pop("nonce")
    change(entries)
    with Ledger.create(target, entries[0][1], SigningKey.generate()) as ledger:
        for kind, body in entries[1:]:
            ledger.append(kind, body)
    shutil.copytree(report.folder / "artifacts", target / "artifacts")
    return target


def body_of(entries: list[tuple[str, dict[str, Any]]], kind: str) -> dict[str, Any]:
    return next(body for k, body in entries if k == kind)


@pytest.mark.parametrize("name", TINY)
def test_a_study_is_registered_before_its_first_trial_and_judged_after_its_last(
    reports: dict[str, Report], name: str
) -> None:
    found = kinds(reports[name].folder)
    last = max(n for n, kind in enumerate(found) if kind == "trial")
    assert found.index("study") < found.index("calibration") < found.index("trial")
    assert last < found.index("study-verdict") == len(found) - 2
    assert found[-1] == "end"
    body = read_study(reports[name].folder).body
    assert body is not None
    assert {"id", "claim", "statistic", "prediction", "rule", "n", "digest", "hypothesis"} <= set(body)


@pytest.mark.parametrize("name", TINY)
def test_the_audit_derives_the_verdict_again(reports: dict[str, Report], name: str) -> None:
    report = audit(reports[name].folder)
    assert report.ok, report.problems
    assert report.ended


def test_the_sweet_spot_says_what_a_processor_cannot_tell(reports: dict[str, Report]) -> None:
    optimum, pressure = reports["H1"].verdict.parts
    assert optimum.testable
    assert optimum.n == 3
    assert not pressure.testable
    assert pressure.reason.startswith("not testable here")


def test_without_the_maximum_large_inputs_are_not_finite_and_with_it_all_are_right(reports: dict[str, Report]) -> None:
    verdict = reports["H2"].verdict
    worst, ulp, without = verdict.parts
    assert (worst.verdict, ulp.verdict) == ("confirmed", "confirmed")
    assert worst.value is not None
    assert worst.value < 4e-3
    assert without.value == 0.5  # 'large' of two distributions, in every replicate
    assert "under: large" in without.reason


def test_replicates_measure_the_same_machine_code_anew(reports: dict[str, Report]) -> None:
    evidence = read_study(reports["H3"].folder).evidence
    statuses = {t.status for t in evidence.trials}
    assert statuses == {"measured"}
    cells = next(iter(evidence.places().values()))
    assert len(cells) == 2
    assert len({frozenset(c) for c in cells.values()}) == 1
    assert reports["H3"].verdict.n == 4


def test_a_trial_of_a_study_replays_against_the_baseline_it_was_measured_with(reports: dict[str, Report]) -> None:
    row = replay_trial(reports["H3"].folder, 0)
    assert (row["same_machine_code"], row["baseline"]) == (True, "numpy")


def test_a_finished_study_is_not_run_again(reports: dict[str, Report], tmp_path: Path) -> None:
    before = (reports["H1"].folder / "ledger.jsonl").read_bytes()
    again = run_study(tiny("H1", tmp_path), QUICK, reports["H1"].folder)
    assert again.verdict == reports["H1"].verdict
    assert (reports["H1"].folder / "ledger.jsonl").read_bytes() == before


def test_a_hypothesis_changed_after_its_registration_is_refused_and_the_difference_shown(
    reports: dict[str, Report], tmp_path: Path
) -> None:
    path = tiny("H3", tmp_path)
    path.write_text(path.read_text().replace("bound = 0.2", "bound = 0.3"))
    with pytest.raises(UsageError, match="changed after hypothesis H3 was registered") as caught:
        run_study(path, QUICK, reports["H3"].folder)
    assert "part[0].rule.bound: registered 0.2, now 0.3" in caught.value.what


def test_an_edited_copy_in_the_folder_is_refused_too(reports: dict[str, Report], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(reports["H3"].folder, tmp_path / "run"))
    text = (folder / "hypothesis.toml").read_text()
    (folder / "hypothesis.toml").write_text(text.replace("bound = 0.2", "bound = 0.9"))
    with pytest.raises(UsageError, match=r"registered 0\.2, now 0\.9"):
        resume_study(folder)


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


def _flip(entries: list[tuple[str, dict[str, Any]]]) -> None:
    verdict = body_of(entries, "study-verdict")
    verdict["verdict"] = "rejected" if verdict["verdict"] != "rejected" else "confirmed"


def _move_interval(entries: list[tuple[str, dict[str, Any]]]) -> None:
    verdict = body_of(entries, "study-verdict")
    verdict["high"] += 0.01
    verdict["parts"][0]["high"] += 0.01


def _soften_rule(entries: list[tuple[str, dict[str, Any]]]) -> None:
    body_of(entries, "study")["hypothesis"]["part"][0]["rule"]["bound"] = 100.0


def _say_other_claim(entries: list[tuple[str, dict[str, Any]]]) -> None:
    body_of(entries, "study")["claim"] = "the opposite"


def _register_late(entries: list[tuple[str, dict[str, Any]]]) -> None:
    study = next(e for e in entries if e[0] == "study")
    entries.remove(study)
    entries.insert(-2, study)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_flip, "give another verdict: verdict is"),
        (_move_interval, "give another verdict: high is"),
        (_soften_rule, "the digest is not that of the registered hypothesis"),
        (_say_other_claim, "claim is 'the opposite'"),
        (_register_late, "registers a hypothesis after"),
    ],
)
def test_the_audit_sees_a_study_that_was_rewritten(
    reports: dict[str, Report], tmp_path: Path, change: Any, words: str
) -> None:
    problems = audit(resigned(reports["H3"], tmp_path / "run", change)).problems
    assert any(words in p for p in problems), problems


def test_portability_says_that_one_device_is_not_enough_and_compares_with_another(
    reports: dict[str, Report], tmp_path: Path
) -> None:
    path = portable(tmp_path)
    alone = run_study(path, QUICK, tmp_path / "alone")
    assert alone.verdict.verdict == "inconclusive"
    assert "not testable here: there is one device and one ledger" in alone.verdict.reason

    def elsewhere(entries: list[tuple[str, dict[str, Any]]]) -> None:
        entries[0][1]["environment"]["device"] = "Another processor"
        for kind, body in entries:
            if kind == "trial":
                body["device"] = "Another processor"

    other = resigned(reports["H3"], tmp_path / "other", elsewhere)
    both = run_study(path, QUICK, tmp_path / "both", [other])
    assert both.verdict.parts[0].testable, both.verdict.reason
    assert "from Another processor" in both.verdict.reason
    assert audit(tmp_path / "both").ok

    generic = run_study(
        path, QUICK.model_copy(update={"target": "generic"}), tmp_path / "generic", [reports["H3"].folder]
    )
    assert generic.verdict.parts[0].testable, generic.verdict.reason
    trials = [t for t in read_trials(tmp_path / "generic") if isinstance(t, MeasuredTrial)]
    assert trials
    assert all(t.device.endswith("built for generic") for t in trials)
    assert not [f for t in trials for f in t.artifact.flags if f.startswith(("-march", "-mcpu"))]
    assert audit(tmp_path / "generic").ok


def portable(folder: Path) -> Path:
    content = read(find("H5")).content()
    content["population"] = [{**content["population"][0], "tasks": ["softmax"], "shapes": ["16x128"]}]
    content |= {"seeds": [1, 2, 3], "sample": 3, "level": 0.75, "torch": False}
    path = folder / "H5.toml"
    path.write_text(as_toml(Hypothesis.model_validate(content)))
    return path


def test_a_ledger_that_was_changed_is_not_compared_with(reports: dict[str, Report], tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(reports["H3"].folder, other)
    text = (other / "ledger.jsonl").read_text()
    at = text.index('"candidate_s":[') + len('"candidate_s":[')
    (other / "ledger.jsonl").write_text(text[:at] + "9" + text[at + 1 :])
    with pytest.raises(LedgerFault, match="is not sound"):
        run_study(portable(tmp_path), QUICK.model_copy(update={"target": "generic"}), tmp_path / "run", [other])
    assert not (tmp_path / "run").exists()


def test_another_run_must_have_something_to_compare_with(reports: dict[str, Report], tmp_path: Path) -> None:
    for others, words in (
        ([reports["H3"].folder], "on this same device"),
        ([reports["H2"].folder], "no measured trial"),
    ):
        with pytest.raises(UsageError, match=words):
            run_study(portable(tmp_path), QUICK, tmp_path / "run", others)
    with pytest.raises(UsageError, match="compares with no other run"):
        run_study(tiny("H3", tmp_path), QUICK, tmp_path / "run", [reports["H3"].folder])
    assert not (tmp_path / "run").exists()


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


def test_a_study_that_is_there_is_not_taken_for_one_on_other_terms(reports: dict[str, Report]) -> None:
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
