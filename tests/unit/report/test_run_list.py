"""The list of runs, on published ledgers and on broken ones among them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.recorded import GENESIS

from kernellab.core.errors import UsageError
from kernellab.ledger import kinds
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.records import End
from kernellab.report.run_list import Wanted, list_runs, run_folders

RUNS = Path(__file__).parents[3] / "runs"
SHORT = {"h200-tuned/particle-filter": "one", "h200-tuned/softmax-bf16-quick": "two", "h200-studies/K1": "deep/study"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A win, a run without one, and a study further down."""
    for source, name in SHORT.items():
        (tmp_path / name).mkdir(parents=True)
        for file in ("ledger.jsonl", "heads.jsonl"):
            shutil.copy(RUNS / source / file, tmp_path / name / file)
    return tmp_path


def names(folder: Path, wanted: Wanted) -> list[str]:
    return [str(row.folder.relative_to(folder)) for row in list_runs([folder], wanted).rows]


def test_a_row_says_what_was_asked_for_and_what_came_of_it(folder: Path) -> None:
    found = list_runs([folder])
    assert not found.unreadable
    study, one, two = found.rows
    assert (one.task, one.status, one.trials, one.won, one.purpose) == ("particle_filter", "better", 24, True, "search")
    assert one.best is not None
    assert (round(one.best.speedup, 3), one.best.win) == (1.233, True)
    assert one.device.startswith("NVIDIA H200")
    assert one.started.startswith("2026-11-16")
    assert (two.status, two.won) == ("nothing-better", False)
    assert two.best is not None
    assert not two.best.win
    assert (study.purpose, study.status, study.best, study.trials) == ("study", "inconclusive", None, 48)
    assert one.data()["best"]["trial"] == one.best.trial


def test_rows_are_chosen_by_task_device_status_and_wins(folder: Path) -> None:
    assert names(folder, Wanted(task="softmax_bf16")) == ["deep/study", "two"]
    assert names(folder, Wanted(device="h200")) == ["deep/study", "one", "two"]
    assert names(folder, Wanted(device="MI300")) == []
    assert names(folder, Wanted(status="better")) == names(folder, Wanted(wins=True)) == ["one"]
    assert names(folder, Wanted(task="softmax_bf16", status="inconclusive")) == ["deep/study"]


def test_the_best_of_a_run_is_a_win_before_anything_that_is_none() -> None:
    (row,) = list_runs([RUNS / "h200-tuned" / "softmax-bf16"]).rows
    assert row.best is not None
    held = [r for r in row.results if getattr(r, "win", False)]
    assert row.best.speedup_low == max(r.speedup_low for r in held)  # type: ignore[union-attr]
    assert row.status == "better"


def test_a_broken_ledger_among_good_ones_is_named_and_the_rest_is_listed(folder: Path) -> None:
    changed, empty, garbage = folder / "one", folder / "empty", folder / "garbage"
    text = (changed / "ledger.jsonl").read_bytes()
    (changed / "ledger.jsonl").write_bytes(text.replace(b'"win":true', b'"win":false'))
    for place, content in ((empty, b""), (garbage, b"\x00\xff not a ledger\n")):
        place.mkdir()
        (place / "ledger.jsonl").write_bytes(content)
    found = list_runs([folder])
    assert [row.folder.name for row in found.rows] == ["study", "two"]
    assert set(found.unreadable) == {changed, empty, garbage}
    assert "were changed after they were signed" in found.unreadable[changed]
    assert all(why.startswith("not sound: ") for why in found.unreadable.values())


def test_a_sound_ledger_of_another_version_is_named_by_its_entry(folder: Path) -> None:
    with Ledger.create(folder / "future", GENESIS, SigningKey.generate()) as ledger:
        ledger.append("result", {"task": "cube", "dims": {"N": 8}, "mood": "good"})
    why = list_runs([folder]).unreadable[folder / "future"]
    assert "entry 1 (result)" in why


def test_a_run_that_has_not_ended_says_so(folder: Path) -> None:
    with Ledger.create(folder / "new", GENESIS, SigningKey.generate()) as ledger:
        (row,) = list_runs([folder / "new"]).rows
        assert (row.status, row.best, row.trials, row.shapes) == ("unfinished", None, 0, ({"N": 8},))
        ledger.write(kinds.END, End(results=[]))
    (row,) = list_runs([folder / "new"]).rows
    assert row.status == "ended"


def test_what_lies_inside_a_run_and_what_is_only_linked_is_not_looked_at(folder: Path) -> None:
    shutil.copytree(folder / "two", folder / "one" / "inner")
    (folder / "link").symlink_to(folder / "two")
    assert [p.relative_to(folder).as_posix() for p in run_folders(folder)] == ["deep/study", "one", "two"]


@pytest.mark.heavy
def test_a_suite_that_is_named_is_listed_with_its_runs() -> None:
    suite = Path(__file__).parents[3] / "runs" / "lab-cpu"
    found = list_runs([suite])
    assert [row.folder for row in found.rows[:1]] == [suite]
    assert {row.folder.parent for row in found.rows[1:]} == {suite / "runs"}
    assert len(found.rows) == 1 + len(list((suite / "runs").iterdir()))
    assert [row.folder for row in list_runs([suite.parent]).rows if suite in row.folder.parents] == []


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are no runs in"):
        list_runs([tmp_path])
