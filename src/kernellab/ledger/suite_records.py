"""What the root of a suite holds: the tasks that were asked for, what the filter said of each, and what came of its run.

The runs have ledgers of their own; the root names each by its id and by the size and root of its ledger when it ended.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, TypeAdapter

from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.records import EntryRecord, NamedSource
from kernellab.tasks.modules.record import Precision

PURPOSE = "suite"
VERSION = 1
RUNS, RECORDS = "runs", "tasks"
"""The folders of the runs and of the modules' records, below that of the root."""
TaskOutcome = Literal[
    "better", "busy", "nothing-better", "nothing-verified", "no-candidates", "left-out", "refused", "failed"
]
RAN: tuple[TaskOutcome, ...] = ("better", "busy", "nothing-better", "nothing-verified", "no-candidates")
"""Outcomes with a run behind them. "left-out": the filter found it no test; "failed": the run itself broke off."""


class SuiteItem(EntryRecord):
    """A task that is to be run. `digest`: of its problem as it was; `candidates`: kernels that were given for it.
    `backward_of`: the task whose gradients it computes, and that it is scored together with."""

    name: str
    problem: str
    digest: str
    candidates: list[NamedSource] = Field(default_factory=list)
    backward_of: str = ""


class SuitePlan(EntryRecord):
    """What was asked for. `path`: the folder of the problems, "" for a suite that has a name. `pairs`: with backwards.
    `drawn`: how the tasks were drawn, where they are a sample. `texts`: whether records hold the problems' own text."""

    version: int = VERSION
    suite: str
    path: str = ""
    device: str
    eval_mode: bool = False
    precision: Precision = "ieee"
    budget_s: float = 0.0
    pairs: bool = False
    drawn: str = ""
    texts: bool = True
    tasks: list[SuiteItem]


class SuiteEvidence(EntryRecord):
    is_a: str
    evidence: str


class SuiteCheck(EntryRecord):
    """What the filter says of a task. `record`: the name and `sha256` of its module's record, in the folder tasks/."""

    task: str
    is_a: str
    findings: list[SuiteEvidence] = Field(default_factory=list)
    operators: str = ""
    graph: str = ""
    sizes: str = ""
    timed: str = ""
    reduced: bool = False
    remarks: list[str] = Field(default_factory=list)
    record: str = ""
    sha256: str = ""


class SuiteTask(EntryRecord):
    """What came of a task. `run`, `size` and `root`: its run's id, and its ledger as it was then; "" where there is none."""

    task: str
    outcome: TaskOutcome
    reason: str = ""
    run: str = ""
    size: int = 0
    root: str = ""
    seconds: float = 0.0


SUITE = EntryKind("suite", TypeAdapter(SuitePlan))
SUITE_CHECK = EntryKind("suite-check", TypeAdapter(SuiteCheck))
SUITE_TASK = EntryKind("suite-task", TypeAdapter(SuiteTask))
SUITE_KINDS: tuple[EntryKind[Any], ...] = (SUITE, SUITE_CHECK, SUITE_TASK)
