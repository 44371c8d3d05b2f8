"""What a suite's root says of its problems, derived again from what lies beside it: the modules' records, and each other.

Covered: a task's class by its findings; its outcome by its class; operators, graph, sizes, the timed shape, whether sizes
were reduced, duplicates and linear collapses by the records; a sample by its seed, where the same problems are at hand.
Not covered: findings that only a computation shows (constant, zeros or means that would be accepted, what a judge refuses),
and what has no record; `klab suite check` looks again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kernellab.core.errors import KlabError
from kernellab.core.ids import sha256_hex
from kernellab.ledger.suite_records import RAN, RECORDS, SUITE_CHECK, SuiteCheck, SuitePlan, SuiteTask
from kernellab.suite.checked import NOT_A_TASK, CheckedProblem
from kernellab.suite.folder import SuiteFolder, checked_of
from kernellab.suite.operators import linear_collapse, operator_class
from kernellab.suite.problems import digest_of
from kernellab.targets.base import platform
from kernellab.tasks.modules.record import ModuleRecord, read_module_record
from kernellab.tasks.spec import dims_label
from kernellab.tasks.suites.finding import sample

_DRAWN = re.compile(r"(\d+) of (\d+), drawn by seed (\d+)")


def filter_problems(known: SuiteFolder) -> Iterator[str]:
    seen: dict[str, str] = {}
    looks = Counter(check.task for check in known.run.records(SUITE_CHECK))
    for check in known.checks.values():
        checked = checked_of(check)
        found = [*_class(check, checked), *_outcome(checked, known.tasks.get(check.task)), *_record(known, check)]
        if looks[check.task] == 1:  # one that was looked at again is not held against its own first look
            found += _duplicate(checked, seen)
        yield from (f"{check.task}: {problem}" for problem in found)
        seen.setdefault(checked.same_as, check.task)
    if known.plan.drawn:
        yield from _sample(known)


def _class(check: SuiteCheck, checked: CheckedProblem) -> Iterator[str]:
    if check.is_a != checked.is_a:
        yield f"the filter's findings make it '{checked.is_a}', the suite says '{check.is_a}'"


def _outcome(checked: CheckedProblem, task: SuiteTask | None) -> Iterator[str]:
    """What is worth a search is searched, and nothing else."""
    if task is None:
        return
    refused = "refused" if checked.is_a in NOT_A_TASK else "left-out"
    if not checked.searched and task.outcome not in (refused, "failed"):
        yield f"is '{task.outcome}', though the filter found it '{checked.is_a}'"
    if checked.searched and task.outcome not in (*RAN, "failed"):
        yield f"is '{task.outcome}', though the filter found it '{checked.is_a}', which is searched"


def _duplicate(checked: CheckedProblem, seen: dict[str, str]) -> Iterator[str]:
    said = any(f.is_a == "duplicate" for f in checked.findings)
    first = seen.get(checked.same_as) if checked.same_as else None
    if said and first is None:
        yield "is said to be a duplicate, and no task before it has its graph and sizes"
    if first is not None and not said:
        yield f"has the graph and sizes of {first}, and is not said to be a duplicate"


def _record(known: SuiteFolder, check: SuiteCheck) -> Iterator[str]:
    """Where there is the record that it was looked at as: one that is gone or changed says nothing here."""
    path = known.folder / RECORDS / check.record
    if not check.record or not path.is_file():
        return
    if sha256_hex(path.read_bytes()) != check.sha256:
        yield f"{RECORDS}/{check.record} is not the record that the filter looked at"
        return
    try:
        record = read_module_record(str(path))
    except KlabError as fault:
        yield f"{RECORDS}/{check.record} cannot be read: {fault.what}"
        return
    yield from _derived(known.plan, check, record)


def _derived(plan: SuitePlan, check: SuiteCheck, record: ModuleRecord) -> Iterator[str]:
    shapes = record.device_shapes if platform(plan.device).accelerator else record.shapes
    graph = record.graph
    own = {"graph": graph.digest, "sizes": dims_label(graph.example)}
    same = own == {"graph": check.graph, "sizes": check.sizes}
    if same == check.reduced:
        told, is_so = ("reduced", "the problem's own") if check.reduced else ("the problem's own", "others")
        yield f"its sizes are said to be {told}, those of its record are {is_so}"
    facts = {"timed": dims_label(shapes.tune[0])}
    facts |= {"operators": operator_class(graph)} if same else {}
    for name, value in facts.items():
        if getattr(check, name) != value:
            yield f"the suite says {name} '{getattr(check, name)}', its record says '{value}'"
    if same and bool(linear_collapse(graph)) != any(f.is_a == "linear-collapse" for f in check.findings):
        yield "whether its layers collapse into one is said otherwise than its record shows"


def _sample(known: SuiteFolder) -> Iterator[str]:
    """A sample that was chosen and not drawn, where the problems are at hand as they were."""
    plan = known.plan
    told = _DRAWN.fullmatch(plan.drawn)
    asked = [item for item in plan.tasks if not item.backward_of]
    if told is None:
        yield f"'{plan.drawn}' does not say how its tasks were drawn"
        return
    count, total, seed = map(int, told.groups())
    if count != len(asked):
        yield f"{len(asked)} tasks were asked for, and {count} were drawn"
        return
    try:
        suite = known.suite
    except KlabError:
        return
    here = {p.name: digest_of(p) for p in suite.problems}
    if len(here) != total or any(here.get(item.problem) != item.digest for item in asked):
        return
    if [p.name for p in sample(suite, count, seed).problems] != [item.problem for item in asked]:
        yield f"its tasks are not those that seed {seed} draws: they were chosen otherwise"
