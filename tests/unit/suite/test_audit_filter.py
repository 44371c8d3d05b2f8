"""What the filter is said to have found, edited and signed anew by the suite's owner: the audit derives it again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded import LAB
from tests.support.resign import Bodies, resigned

from kernellab.suite.audit import audit_suite
from kernellab.suite.audit_filter import filter_problems
from kernellab.suite.folder import SuiteFolder
from kernellab.suite.problems import digest_of
from kernellab.tasks.suites.finding import find_suite, sample

TASK = "rms_norm-f32"


def problems_of(target: Path, change: Callable[[Bodies], object]) -> list[str]:
    folder = resigned(LAB, target, change)
    shutil.copytree(LAB / "tasks", folder / "tasks", dirs_exist_ok=True)
    return list(filter_problems(SuiteFolder(folder)))


def body(entries: Bodies, kind: str, task: str = TASK) -> dict[str, Any]:
    return next(b for k, b in entries if k == kind and b.get("task", task) == task)


def check_with(**changes: Any) -> Callable[[Bodies], None]:
    return lambda entries: body(entries, "suite-check").update(changes)


def test_a_sound_suite_is_as_it_says(tmp_path: Path) -> None:
    assert problems_of(tmp_path / "same", lambda entries: None) == []


CONSTANT = [{"is_a": "constant", "evidence": "every element is 0"}]
COLLAPSE = [{"is_a": "linear-collapse", "evidence": "two layers"}]
DUPLICATE = [{"is_a": "duplicate", "evidence": "the same graph"}]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"is_a": "constant"}, "the filter's findings make it 'ok', the suite says 'constant'"),
        ({"is_a": "constant", "findings": CONSTANT}, "though the filter found it 'constant'"),
        ({"reduced": True}, "its sizes are said to be reduced, those of its record are the problem's own"),
        ({"sizes": "d0=1"}, "its sizes are said to be the problem's own, those of its record are others"),
        ({"graph": "ab" * 32}, "its sizes are said to be the problem's own, those of its record are others"),
        ({"operators": "product"}, "the suite says operators 'product', its record says '"),
        ({"timed": "d0=1"}, "the suite says timed 'd0=1', its record says '"),
        ({"is_a": "linear-collapse", "findings": COLLAPSE}, "whether its layers collapse into one is said otherwise"),
        ({"is_a": "duplicate", "findings": DUPLICATE}, "is said to be a duplicate, and no task before it has"),
        ({"sha256": "ab" * 32}, "is not the record that the filter looked at"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_an_edited_word_of_the_filter_is_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    found = problems_of(tmp_path / "edited", check_with(**changes))
    assert any(problem.startswith(f"{TASK}: ") and words in problem for problem in found), found


def test_a_task_that_is_searched_cannot_be_left_out(tmp_path: Path) -> None:
    found = problems_of(tmp_path / "out", lambda entries: body(entries, "suite-task").update(outcome="left-out"))
    assert found == [f"{TASK}: is 'left-out', though the filter found it 'ok', which is searched"]


def test_the_same_graph_again_is_a_duplicate(tmp_path: Path) -> None:
    def copied(entries: Bodies) -> None:
        first = next(b for kind, b in entries if kind == "suite-check")
        body(entries, "suite-check").update({k: first[k] for k in ("graph", "sizes", "operators", "timed")}, record="")

    found = problems_of(tmp_path / "copied", copied)
    assert any(p.startswith(f"{TASK}: has the graph and sizes of ") for p in found), found


def drawn_by(seed: int, told: str) -> Callable[[Bodies], None]:
    """Five tasks of our suite as it is now, of which none was looked at yet."""
    chosen = sample(find_suite("lab"), 5, seed).problems

    def change(entries: Bodies) -> None:
        tasks = [{"name": p.name, "problem": p.name, "digest": digest_of(p)} for p in chosen]
        body(entries, "suite").update(tasks=tasks, drawn=told)
        entries[:] = entries[:2]

    return change


def test_a_sample_is_what_its_seed_draws(tmp_path: Path) -> None:
    total = len(find_suite("lab").problems)
    assert problems_of(tmp_path / "drawn", drawn_by(3, f"5 of {total}, drawn by seed 3")) == []
    chosen = problems_of(tmp_path / "chosen", drawn_by(3, f"5 of {total}, drawn by seed 4"))
    assert chosen == ["its tasks are not those that seed 4 draws: they were chosen otherwise"]
    fewer = problems_of(tmp_path / "fewer", drawn_by(3, f"9 of {total}, drawn by seed 3"))
    assert fewer == ["5 tasks were asked for, and 9 were drawn"]
    assert "does not say how" in problems_of(tmp_path / "words", drawn_by(3, "by chance"))[0]
    other = drawn_by(3, f"5 of {total + 1}, drawn by seed 4")
    assert problems_of(tmp_path / "other", other) == [], "of another suite than the one at hand nothing is known"


@pytest.mark.heavy
def test_the_suites_audit_asks(tmp_path: Path) -> None:
    folder = resigned(LAB, tmp_path / "edited", check_with(reduced=True))
    for place in ("tasks", "runs"):
        shutil.copytree(LAB / place, folder / place, dirs_exist_ok=True)
    words = f"{TASK}: its sizes are said to be reduced, those of its record are the problem's own"
    assert words in audit_suite(folder).problems
