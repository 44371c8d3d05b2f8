"""A suite's folder that somebody changed: the audit names the task and what was done to it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.resign import Bodies, resigned

from kernellab.ledger import kinds
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.records import Note, Pruned
from kernellab.suite.audit import audit_suite
from kernellab.suite.conduct import SuiteOutcome

pytestmark = pytest.mark.backend_c


def test_a_sound_suite_passes_with_all_its_runs(ran: SuiteOutcome) -> None:
    report = audit_suite(ran.folder, ran.root)
    assert (report.problems, sorted(report.runs), report.root.ended) == ([], ["1_scaled", "2_sorted"], True)
    assert report.trials == 1
    assert report.figures > 10
    assert report.data()["status"] == "ok"


def remove(folder: Path) -> None:
    shutil.rmtree(folder / "runs" / "2_sorted")


def swap(folder: Path) -> None:
    shutil.rmtree(folder / "runs" / "2_sorted")
    shutil.copytree(folder / "runs" / "1_scaled", folder / "runs" / "2_sorted")


def grow(folder: Path) -> None:
    with Ledger.resume(folder / "runs" / "1_scaled", load_or_create_key()) as ledger:
        ledger.write(kinds.NOTE, Note(candidate="a", unusable="later"))


def cut(folder: Path) -> None:
    for name in ("ledger.jsonl", "heads.jsonl"):
        path = folder / "runs" / "1_scaled" / name
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def edit_run(folder: Path) -> None:
    path = folder / "runs" / "1_scaled" / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"kind":"trial"', b'"kind":"Trial"', 1))


def edit_root(folder: Path) -> None:
    path = folder / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"outcome":"no-candidates"', b'"outcome":"better"', 1))


def add(folder: Path) -> None:
    shutil.copytree(folder / "runs" / "1_scaled", folder / "runs" / "6_again")


def add_strange(folder: Path) -> None:
    shutil.copytree(folder / "runs" / "1_scaled", folder / "runs" / "more")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (remove, r"2_sorted: its run [0-9a-f]+ is missing from runs/2_sorted"),
        (swap, r"2_sorted: its run is [0-9a-f]+, the suite names [0-9a-f]+: it was exchanged"),
        (grow, r"1_scaled: its run has grown by 1 entries since the suite wrote it down"),
        (cut, r"1_scaled: its run was cut: \d+ entries, the suite counted \d+"),
        (edit_run, r"1_scaled: its run: "),
        (edit_root, r"were changed after they were signed"),
        (add, r"6_again: runs/6_again holds a run, and the suite names none"),
        (add_strange, r"runs/more is foreign: the suite does not name it"),
    ],
)
def test_what_was_changed_is_named(copied: Path, change: Callable[[Path], None], words: str) -> None:
    change(copied)
    report = audit_suite(copied)
    assert not report.ok
    assert any(re.search(words, problem) for problem in report.problems), report.problems


def test_an_outcome_that_does_not_follow_from_its_run_is_named_whoever_signed_it(
    ran: SuiteOutcome, tmp_path: Path
) -> None:
    def claim(entries: list[tuple[str, dict[str, object]]]) -> None:
        body = next(b for kind, b in entries if kind == "suite-task" and b["task"] == "2_sorted")
        body["outcome"] = "better"

    folder = resigned(ran.folder, tmp_path / "claimed", claim, load_or_create_key())
    if not (folder / "runs").exists():
        shutil.copytree(ran.folder / "runs", folder / "runs")
    problems = audit_suite(folder).problems
    assert "2_sorted: says 'better', its run says 'no-candidates'" in problems


def hidden(outcome: str) -> Callable[[Bodies], None]:
    def change(entries: Bodies) -> None:
        next(b for kind, b in entries if kind == "suite-task" and b["task"] == "1_scaled")["outcome"] = outcome

    return change


def told_twice(entries: Bodies) -> None:
    entries.append(next((kind, b) for kind, b in entries if kind == "suite-task" and b["task"] == "1_scaled"))


def on_another_device(entries: Bodies) -> None:
    next(b for kind, b in entries if kind == "suite")["device"] = "cuda"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (hidden("failed"), "1_scaled: is 'failed', and its run came to "),
        (hidden("left-out"), "1_scaled: is 'left-out', and its run came to "),
        (told_twice, "1_scaled: the suite says 2 times what came of it"),
        (on_another_device, "1_scaled: its run is on cpu, the suite was asked for cuda"),
    ],
    ids=["failed", "left-out", "twice", "device"],
)
def test_a_root_that_does_not_count_what_a_run_came_to_is_named(
    ran: SuiteOutcome, tmp_path: Path, change: Callable[[Bodies], None], words: str
) -> None:
    """What is not counted is not in the mean: a lost task must not be called something else."""
    folder = resigned(ran.folder, tmp_path / "claimed", change, load_or_create_key())
    shutil.copytree(ran.folder / "runs", folder / "runs", dirs_exist_ok=True)
    problems = audit_suite(folder).problems
    assert any(problem.startswith(words) for problem in problems), problems


def test_a_root_signed_by_somebody_else_is_not_that_of_its_runs(ran: SuiteOutcome, tmp_path: Path) -> None:
    folder = resigned(ran.folder, tmp_path / "foreign", lambda entries: None)
    if not (folder / "runs").exists():
        shutil.copytree(ran.folder / "runs", folder / "runs")
    assert "1_scaled: its run was signed with another key than the suite" in audit_suite(folder).problems


def test_files_that_were_pruned_on_the_record_are_a_remark(copied: Path) -> None:
    with Ledger.resume(copied / "runs" / "2_sorted", load_or_create_key()) as ledger:
        ledger.write(kinds.PRUNED, Pruned(blobs=[]))
    report = audit_suite(copied)
    assert report.problems == []
    assert "2_sorted: stored files of its run were pruned since, on the record" in report.remarks
