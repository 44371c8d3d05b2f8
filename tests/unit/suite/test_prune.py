from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.suite.audit import audit_suite
from kernellab.suite.conduct import SuiteOutcome
from kernellab.suite.prune import prune_suite
from kernellab.suite.score import score_suite


def test_a_pruned_suite_is_smaller_passes_its_audit_and_says_the_same(ran: SuiteOutcome, copied: Path) -> None:
    before = score_suite(copied)
    done = prune_suite(copied)
    assert done.ledger_root == ran.root
    report = audit_suite(copied)
    assert report.ok, report.problems
    after = score_suite(copied)
    assert after.rows == before.rows
    assert after.whole == before.whole
    assert bool(done.removed) == any("pruned since" in remark for remark in report.remarks)


def test_what_is_pruned_already_is_left_alone(copied: Path) -> None:
    prune_suite(copied)
    again = prune_suite(copied)
    assert (again.removed, again.freed_bytes) == (0, 0)


def test_an_ordinary_run_is_no_suite(copied: Path) -> None:
    with pytest.raises(UsageError, match="not a suite"):
        prune_suite(copied / "runs" / "1_scaled")
