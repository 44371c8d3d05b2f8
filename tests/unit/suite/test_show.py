"""`klab show` and `klab prune` on a suite's folder, and on folders that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernellab.cli.app import app
from kernellab.core.errors import UsageError
from kernellab.suite.audit import audit_suite
from kernellab.suite.conduct import SuiteOutcome
from kernellab.suite.score import score_suite


def klab(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False, standalone_mode=False)
    return result.output


def test_a_suite_is_shown_in_short_with_every_task_and_the_score(ran: SuiteOutcome) -> None:
    text, score = klab("show", ran.folder), score_suite(ran.folder)
    for row in score.rows:
        assert row.task in text
    assert "geomean" in text
    assert score.root in text
    assert f"klab suite report {ran.folder}" in text


def test_as_json_it_is_what_the_report_says(ran: SuiteOutcome) -> None:
    assert json.loads(klab("show", ran.folder, "--json")) == json.loads(json.dumps(score_suite(ran.folder).data()))


def test_trials_are_asked_of_its_runs(ran: SuiteOutcome) -> None:
    with pytest.raises(UsageError, match="its trials are in its runs"):
        klab("show", ran.folder, "--trial", "0")


def test_pruning_on_the_command_line_keeps_the_audit_passing(copied: Path) -> None:
    told = json.loads(klab("prune", copied, "--json"))
    assert told["status"] == "pruned"
    assert audit_suite(copied).ok


@pytest.mark.parametrize("command", ["show", "prune"])
def test_the_folder_of_a_suites_runs_is_neither_a_run_nor_a_suite(ran: SuiteOutcome, command: str) -> None:
    with pytest.raises(UsageError, match="holds no ledger") as caught:
        klab(command, ran.folder / "runs")
    assert caught.value.fix == (
        f"name what lies around it, {ran.folder}, or of a suite one of its runs, {ran.folder}/runs/NAME"
    )
