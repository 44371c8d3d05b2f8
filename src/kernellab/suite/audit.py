"""The audit of a suite: its root, every run that the root names, and that they are still the runs it names.

Covered: everything that the audit of a run covers, for each; a run that was exchanged, removed, cut or gone on with since;
outcomes that do not follow from the run, or hide what it came to; runs beside them that the root does not know; what the
filter said of a problem, as far as its record shows it again (audit_filter.py).
Not covered: as for a run, and for the filter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import KlabError, UsageError
from kernellab.ledger.entry import AFTERWARDS, LEDGER_FILE
from kernellab.ledger.run import Run
from kernellab.ledger.suite_records import RAN, RUNS, SUITE_TASK, SuiteTask
from kernellab.report.audit import Audit, audit
from kernellab.report.audit_origin import NOBODY, Witnesses
from kernellab.suite.audit_filter import filter_problems
from kernellab.suite.folder import SuiteFolder
from kernellab.suite.one_task import made_from

_ORDER = ("better", "busy", "nothing-better", "nothing-verified")


@dataclass
class SuiteAudit:
    """`runs`: the audits of the runs that could be read, by task."""

    root: Audit
    runs: dict[str, Audit] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def trials(self) -> int:
        return sum(a.trials for a in self.runs.values())

    @property
    def figures(self) -> int:
        return sum(a.figures for a in self.runs.values())

    def data(self) -> dict[str, Any]:
        runs = {name: {"run": a.run, "status": "ok" if a.ok else "failed", "ledger_root": a.root, "trials": a.trials,
                       "figures": a.figures} for name, a in self.runs.items()}  # fmt: skip
        return {
            **self.root.data(), "status": "ok" if self.ok else "failed", "trials": self.trials,
            "figures": self.figures, "runs": runs, "problems": self.problems, "remarks": self.remarks,
        }  # fmt: skip


def audit_suite(folder: Path, root: str = "", witnesses: Witnesses = NOBODY) -> SuiteAudit:
    """`root`, `witnesses`: of the suite's own ledger, which vouches for those of its runs."""
    report = SuiteAudit(audit(folder, root, witnesses))
    report.problems += report.root.problems
    report.remarks += report.root.remarks
    try:
        known = SuiteFolder(folder)
        named = known.tasks
        for name in named.keys() - {item.name for item in known.plan.tasks}:
            report.problems.append(f"{name}: the suite was not asked for this task")
        for name, count in Counter(task.task for task in known.run.records(SUITE_TASK)).items():
            if count > 1:
                report.problems.append(f"{name}: the suite says {count} times what came of it")
        for task in named.values():
            report.problems += [f"{task.task}: {p}" for p in _run(known, task, report)]
        report.problems += _unnamed(known, report)
        report.problems += filter_problems(known)
        if known.ended and (left := [i.name for i in known.plan.tasks if i.name not in named]):
            report.problems.append(f"the suite has ended without a word of {', '.join(left[:5])}")
    except UsageError as fault:
        report.problems.append(fault.what)
    except KlabError as fault:
        report.problems.append(f"{fault.what}: its runs were not looked at")
    return report


def _run(known: SuiteFolder, task: SuiteTask, report: SuiteAudit) -> Iterator[str]:
    folder = known.run_folder(task.task)
    there = (folder / LEDGER_FILE).is_file()
    if not task.run:
        if there:
            yield f"{RUNS}/{task.task} holds a run, and the suite names none"
        if task.outcome in RAN:
            yield f"is '{task.outcome}' without a run"
        return
    if not there:
        yield f"its run {task.run} is missing from {RUNS}/{task.task}"
        return
    found = audit(folder)
    report.runs[task.task] = found
    cut = task.outcome == "failed"  # a run that broke off may end in lines that nobody signed
    yield from (f"its run: {p}" for p in found.problems if not (cut and "have no signed head" in p))
    if found.run != task.run:
        yield f"its run is {found.run}, the suite names {task.run}: it was exchanged"
        return
    check = known.checks.get(task.task)
    if check is None or made_from(Run(folder)) != check.sha256:
        yield "its run is of another task than the one that the filter looked at"
    if found.public_key != report.root.public_key:
        yield "its run was signed with another key than the suite"
    if (device := Run(folder).genesis.settings.device) != known.plan.device:
        yield f"its run is on {device}, the suite was asked for {known.plan.device}"
    yield from _since(folder, task, found, report)
    if task.outcome not in RAN and (task.outcome != "failed" or found.ended):
        yield f"is '{task.outcome}', and its run came to '{_outcome(Run(folder))}'"
    if task.outcome in RAN and task.outcome != _outcome(Run(folder)):
        yield f"says '{task.outcome}', its run says '{_outcome(Run(folder))}'"


def _since(folder: Path, task: SuiteTask, found: Audit, report: SuiteAudit) -> Iterator[str]:
    """What happened to a run after the suite wrote it down."""
    if found.entries < task.size:
        yield f"its run was cut: {found.entries} entries, the suite counted {task.size}"
        return
    if Run(folder, task.size).root != task.root:
        yield f"its run is not what it was: the root of its first {task.size} entries is another"
        return
    later = {entry.kind for entry in Run(folder).entries[task.size :]}
    if later - set(AFTERWARDS):
        yield f"its run has grown by {found.entries - task.size} entries since the suite wrote it down"
    elif later:
        report.remarks.append(f"{task.task}: stored files of its run were pruned since, on the record")


def _outcome(run: Run) -> str:
    if not run.start.candidates:
        return "no-candidates"
    return min((r.status for r in run.results), key=_ORDER.index, default="nothing-verified")


def _unnamed(known: SuiteFolder, report: SuiteAudit) -> Iterator[str]:
    """Runs that the root does not name: of an unfinished suite the one that it is at."""
    place = known.folder / RUNS
    open_ = {item.name for item in known.plan.tasks if item.name not in known.tasks}
    for folder in sorted(place.iterdir()) if place.is_dir() else ():
        if folder.name in known.tasks:
            continue
        if folder.name in open_ and not known.ended:
            report.remarks.append(f"{folder.name} is not finished: 'klab resume {known.folder}' goes on with it")
        else:
            yield f"{RUNS}/{folder.name} is foreign: the suite does not name it"
