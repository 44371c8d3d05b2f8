"""Ideas that are fixed beforehand: recipes as they are, and a recorded run's ideas again."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import KlabError
from kernellab.core.settings import Settings
from kernellab.ledger.run import Run
from kernellab.report.audit import audit
from kernellab.search.runs import resume_run, run_search

pytestmark = pytest.mark.backend_c
SHAPES = [{"N": 4096}]


def search(task_file: Path, folder: Path, proposer: str, trials: int) -> list[tuple[str, dict[str, object]]]:
    """A run of its own, and what it tried."""
    settings = Settings(
        effort="quick", device="cpu", sample_s=0.0001, build_timeout_s=600, trials=trials, proposer=proposer
    )
    run_search(str(task_file), settings, folder, SHAPES)
    return tried(folder)


def tried(folder: Path) -> list[tuple[str, dict[str, object]]]:
    return [(t.proposal.source, dict(t.proposal.params)) for t in Run(folder).trials]


@pytest.mark.heavy
def test_recipes_are_tried_once_at_their_first_choices(task_file: Path, tmp_path: Path) -> None:
    (only,) = search(task_file, tmp_path / "run", "recipes", 6)
    assert only[1] == {"STEP": 1, "BAD": 0}


@pytest.mark.heavy
def test_a_replay_tries_a_runs_ideas_in_their_order_and_goes_on_where_it_was_cut(
    task_file: Path, tmp_path: Path
) -> None:
    """None of these kernels is right: what is tried does not depend on it, and nothing has to be confirmed."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(task_file.read_text().replace('"BAD": [0, 1]', '"BAD": [1, 2]'))
    ideas = search(wrong, tmp_path / "then", "tuner", 4)
    assert len(ideas) == 4
    assert search(wrong, tmp_path / "now", f"replay:{tmp_path / 'then'}", 2) == ideas[:2]
    resume_run(tmp_path / "now", extra_trials=9)
    assert tried(tmp_path / "now") == ideas
    assert {t.proposal.origin for t in Run(tmp_path / "now").trials} == {"replay"}
    assert Run(tmp_path / "now").trials[3].proposal.why.startswith("trial 3 again: ")
    report = audit(tmp_path / "now")
    assert report.ok, report.problems


def test_a_replay_of_nothing_is_refused_before_there_is_a_folder(task_file: Path, tmp_path: Path) -> None:
    with pytest.raises(KlabError):
        search(task_file, tmp_path / "run", f"replay:{tmp_path / 'none'}", 2)
    assert not (tmp_path / "run").exists()
