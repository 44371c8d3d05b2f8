"""A suite's folder as a reader sees it: its root's records, and where its runs lie."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from kernellab.core.errors import KlabError, LedgerFault, UsageError
from kernellab.ledger import kinds
from kernellab.ledger.check import require_sound
from kernellab.ledger.disk import require_ledger
from kernellab.ledger.run import Run
from kernellab.ledger.suite_records import (
    PURPOSE,
    RUNS,
    SUITE,
    SUITE_CHECK,
    SUITE_TASK,
    VERSION,
    SuiteCheck,
    SuitePlan,
    SuiteTask,
)
from kernellab.suite.checked import CheckedProblem
from kernellab.tasks.suites.finding import Suite, find_suite


def is_suite(folder: Path) -> bool:
    """False for what cannot be read: whoever reads it next says why."""
    try:
        return Run(folder).purpose == PURPOSE
    except KlabError:
        return False


def told_path(suite: Suite, folder: Path) -> str:
    """Where a suite's problems lie, from the folder of its run: other machines have other folders above both."""
    return os.path.relpath(suite.path, folder.absolute()) if suite.path else ""


class SuiteFolder:
    """UsageError for a folder that holds another kind of run, or was made by another version."""

    def __init__(self, folder: Path) -> None:
        require_ledger(folder)
        self.folder = folder
        self.run = Run(folder)
        if self.run.purpose != PURPOSE:
            raise UsageError(
                f"{folder} holds a run of another kind ({self.run.purpose or 'unknown'}), not a suite",
                "name a folder that 'klab suite run' made; 'klab show' and 'klab runs' read ordinary runs",
            )
        self._refuse_other_versions()

    def _refuse_other_versions(self) -> None:
        said = next((e.body.get("version", 1) for e in self.run.entries if e.kind == SUITE.name), VERSION)
        if said != VERSION:
            made_by = self.run.start.environment.version
            by = f" by kernellab {made_by}" if made_by else ""
            raise UsageError(
                f"{self.folder} was made in another format of suites ({said}, this version has {VERSION}){by}",
                "use the version of kernellab that made it, or start anew with another --out",
            )

    @cached_property
    def plan(self) -> SuitePlan:
        found = self.run.records(SUITE)
        if len(found) != 1:
            raise LedgerFault(
                f"{self.folder} does not say which tasks it is about", "it was cut off as it began: take another --out"
            )
        return found[0]

    @property
    def suite(self) -> Suite:
        """The suite itself, all of it, as it is here and now."""
        path = self.plan.path
        return find_suite(
            "" if path else self.plan.suite, os.path.normpath(self.folder.absolute() / path) if path else ""
        )

    @property
    def checks(self) -> dict[str, SuiteCheck]:
        return {c.task: c for c in self.run.records(SUITE_CHECK)}

    @property
    def tasks(self) -> dict[str, SuiteTask]:
        return {t.task: t for t in self.run.records(SUITE_TASK)}

    @property
    def ended(self) -> bool:
        return self.run.count(kinds.END) > 0

    def run_folder(self, name: str) -> Path:
        return self.folder / RUNS / name

    def require_sound(self) -> None:
        require_sound(self.folder)


def checked_of(check: SuiteCheck) -> CheckedProblem:
    """A recorded check as the filter gave it."""
    return CheckedProblem.model_validate({
        "name": check.task, "findings": [f.model_dump() for f in check.findings], "operators": check.operators,
        "graph": check.graph, "sizes": check.sizes, "timed": check.timed, "reduced": check.reduced,
        "remarks": check.remarks,
    })  # fmt: skip
