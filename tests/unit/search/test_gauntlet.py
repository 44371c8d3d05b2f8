from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.core.settings import Settings
from kernellab.search.gauntlet import Row, builtin_folder, collect, run_gauntlet, summary


def test_the_shipped_gauntlet_has_cheats_honest_kernels_and_tasks() -> None:
    entries = collect([], [])
    kinds = [e.kind for e in entries]
    assert kinds.count("cheat") > 100
    assert kinds.count("honest") > 20
    assert kinds.count("task") > 10
    assert all(e.path.is_relative_to(builtin_folder()) for e in entries)
    assert all(e.caught_by for e in entries if e.kind == "cheat")


def test_a_files_constants_are_read_without_running_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'TASK = "stencil3x3"\nTHREADS = 2\nHARMLESS = True\nCAUGHT_BY = "crash"\nraise SystemExit\n'
    )
    (tmp_path / "b.py").write_text("this is no Python")
    (tmp_path / "c.py").write_text("TASK = Task(name='x')\n")
    a, b, c = collect([tmp_path], [], builtin=False)
    assert (a.task, a.threads, a.harmless, a.caught_by, a.kind) == ("stencil3x3", 2, True, ("crash",), "cheat")
    assert (b.task, b.threads, b.harmless, b.kind) == ("softmax", 1, False, "cheat")
    assert c.kind == "task"


def test_a_single_file_can_be_given_and_an_empty_folder_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "empty").mkdir()
    assert [e.kind for e in collect([], [tmp_path / "mine.py"], builtin=False)] == ["honest"]
    with pytest.raises(UsageError, match="holds no Python files"):
        collect([tmp_path / "empty"], [], builtin=False)


def test_every_shipped_task_that_must_be_refused_is_refused() -> None:
    rows = run_gauntlet([e for e in collect([], []) if e.kind == "task"], Settings())
    assert [r.name for r in rows if not r.right] == []


def test_the_summary_counts_caught_missed_and_false_alarms() -> None:
    def row(kind: str, right: bool) -> Row:
        return Row("n", kind, right, "", "", "")  # type: ignore[arg-type]

    rows = [row("cheat", True), row("task", True), row("cheat", False), row("honest", True), row("honest", False)]
    assert summary(rows) == {"caught": 2, "missed": 1, "false_alarms": 1, "honest": 2}
