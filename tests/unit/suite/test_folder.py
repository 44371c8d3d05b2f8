"""Folders that are no suite, or one of another version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.resign import resigned

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.suite.conduct import SuiteOutcome
from kernellab.suite.folder import SuiteFolder, is_suite

RUN = Path(__file__).parents[3] / "runs" / "h200" / "softmax-bf16"


def test_an_ordinary_run_is_no_suite(tmp_path: Path) -> None:
    assert not is_suite(RUN)
    assert not is_suite(tmp_path)
    with pytest.raises(UsageError, match="holds a run of another kind"):
        SuiteFolder(RUN)


def test_a_suite_of_another_version_is_refused_by_name(ran: SuiteOutcome, tmp_path: Path) -> None:
    def newer(entries: list[tuple[str, dict[str, Any]]]) -> None:
        for kind, body in entries:
            if kind == "suite":
                body |= {"version": 7, "moon": "full"}

    with pytest.raises(UsageError, match=r"another format of suites \(7, this version has 1\) by kernellab"):
        SuiteFolder(resigned(ran.folder, tmp_path / "newer", newer))


def test_a_suite_that_was_cut_off_as_it_began_says_so(ran: SuiteOutcome, tmp_path: Path) -> None:
    def early(entries: list[tuple[str, dict[str, Any]]]) -> None:
        del entries[1:]

    with pytest.raises(LedgerFault, match="does not say which tasks it is about"):
        _ = SuiteFolder(resigned(ran.folder, tmp_path / "early", early)).plan


def test_its_problems_are_found_from_where_it_lies(ran: SuiteOutcome, problems: Path, tmp_path: Path) -> None:
    known = SuiteFolder(ran.folder)
    assert not Path(known.plan.path).is_absolute()
    assert known.suite.path == str(problems)
    assert {p.name for p in known.suite.problems} == {"1_scaled", "2_sorted", "4_missing", "6_again"}


def test_a_suite_of_before_names_its_folder_wholly(ran: SuiteOutcome, problems: Path, tmp_path: Path) -> None:
    def older(entries: list[tuple[str, dict[str, Any]]]) -> None:
        for kind, body in entries:
            if kind == "suite":
                body |= {"path": str(problems)}

    assert SuiteFolder(resigned(ran.folder, tmp_path / "elsewhere" / "older", older)).suite.path == str(problems)
