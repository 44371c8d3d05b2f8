"""Running a suite: every task filtered, run in a folder of its own, and named in the root when it has ended.

Finished tasks are left alone when a suite is gone on with, an unfinished one is resumed. A worker that is lost in a run is
replaced, and the run resumed, once; a task that breaks off twice is a record, and the suite goes on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import KlabError, UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.ids import sha256_hex
from kernellab.core.own_code import own_code
from kernellab.core.settings import Settings
from kernellab.core.version import VERSION as OWN_VERSION
from kernellab.ledger import kinds
from kernellab.ledger.check import check as check_ledger
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.records import End, Environment, NamedSource, OtherGenesis, Resume, RunSettings
from kernellab.ledger.store import Store
from kernellab.ledger.suite_records import (
    PURPOSE,
    RECORDS,
    SUITE,
    SUITE_CHECK,
    SUITE_TASK,
    VERSION,
    SuiteCheck,
    SuiteEvidence,
    SuiteItem,
    SuitePlan,
    SuiteTask,
)
from kernellab.suite.check import Beside, Known, check_job
from kernellab.suite.checked import NOT_A_TASK, CheckedProblem
from kernellab.suite.folder import SuiteFolder, checked_of, told_path
from kernellab.suite.problems import digest_of, folders_of
from kernellab.suite.progress import Progress
from kernellab.suite.worker import Worker, WorkerLost
from kernellab.targets.base import platform
from kernellab.tasks.modules.importing import task_name
from kernellab.tasks.modules.wishes import AS_IT_IS, Wishes
from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.finding import Suite
from kernellab.tasks.suites.pairs import forward_name, with_backward

LIMIT_S = 4 * 3600.0
"""For one task beyond the seconds it was given, so that what hangs does not hang for ever."""


@dataclass(frozen=True)
class SuiteRequest:
    """What a suite is run with. `budget_s`: seconds for all tasks together, 0: no limit. `pairs`: the suite's problems are
    followed by their backwards (tasks/suites/pairs.py)."""

    settings: Settings
    wishes: Wishes = AS_IT_IS
    budget_s: float = 0.0
    pairs: bool = False
    candidates: Mapping[str, Sequence[Candidate]] = field(default_factory=dict)


@dataclass(frozen=True)
class SuiteOutcome:
    folder: Path
    root: str
    tasks: tuple[SuiteTask, ...]
    left: tuple[str, ...]

    @property
    def status(self) -> str:
        return "unfinished" if self.left else "ended"


def run_suite(suite: Suite, asked: SuiteRequest, folder: Path, emit: Listener = silent) -> SuiteOutcome:
    """A new suite, or the same one gone on with where its folder exists already."""
    names = _names(suite)
    plan = SuitePlan(
        version=VERSION, suite=suite.name, path=told_path(suite, folder), device=asked.settings.device,
        eval_mode=asked.wishes.eval_mode, precision=asked.wishes.precision, budget_s=asked.budget_s,
        pairs=asked.pairs, drawn=suite.drawn, texts=asked.wishes.keep_text,
        tasks=[_item(names, p, asked.candidates.get(p.name, ())) for p in suite.problems],
    )  # fmt: skip
    if (folder / LEDGER_FILE).exists():
        known = SuiteFolder(folder)
        _refuse_other_terms(known, suite, plan, asked.settings)
        emit(Event("note", f"{folder} holds this suite already: going on with it"))
        return resume_suite(folder, emit, asked.budget_s)
    if suite.drawn:
        emit(Event("note", f"a sample of {suite.name}: {suite.drawn}"))
    with _created(folder, plan, asked) as ledger:
        return _Conduct(ledger, SuiteFolder(folder), suite, asked.settings, asked.budget_s, emit).all()


def resume_suite(folder: Path, emit: Listener = silent, budget_s: float | None = None) -> SuiteOutcome:
    """Go on where the root ends; a suite that has ended is only read. `budget_s`: another one than it was begun with."""
    known = SuiteFolder(folder)
    known.require_sound()
    plan = known.plan
    if known.ended:
        emit(Event("note", f"{folder} is finished: nothing to resume, and nothing was changed"))
        return SuiteOutcome(folder, known.run.root, tuple(known.tasks.values()), ())
    suite = with_backward(known.suite) if plan.pairs else known.suite
    settings = Settings(**known.run.start.settings.model_dump())
    with Ledger.resume(folder, load_or_create_key()) as ledger:
        ledger.write(kinds.RESUME, Resume(environment=_environment(plan.device)))
        seconds = plan.budget_s if budget_s is None else budget_s
        return _Conduct(ledger, SuiteFolder(folder), suite, settings, seconds, emit).all()


def _names(suite: Suite) -> dict[str, str]:
    """What tasks and the folders of their runs are called, each once; by problem."""
    found: dict[str, str] = {}
    for problem in suite.problems:
        plain = task_name(problem.name)
        others = (f"{plain}-{number}" for number in range(2, len(suite.problems) + 2))
        taken = found.values()
        found[problem.name] = plain if plain not in taken else next(n for n in others if n not in taken)
    return found


def _item(names: Mapping[str, str], problem: Problem, candidates: Sequence[Candidate]) -> SuiteItem:
    given = [NamedSource(name=c.name, source=sha256_hex(c.text.encode())) for c in candidates]
    return SuiteItem(
        name=names[problem.name], problem=problem.name, digest=digest_of(problem), candidates=given,
        backward_of=names.get(forward_name(problem), ""),
    )  # fmt: skip


def _environment(device: str) -> Environment:
    here = platform(device).here()
    return Environment(device=here, packages={"kernellab": OWN_VERSION}, code=own_code())


def _created(folder: Path, plan: SuitePlan, asked: SuiteRequest) -> Ledger:
    start = OtherGenesis(
        purpose=PURPOSE,
        settings=RunSettings.model_validate(asked.settings.model_dump()),
        environment=_environment(plan.device),
        candidates=[c for item in plan.tasks for c in item.candidates],
    )
    ledger = Ledger.create(folder, kinds.GENESIS.plain(start), load_or_create_key())
    store = Store(folder)
    for candidate in (c for given in asked.candidates.values() for c in given):
        store.put(candidate.text.encode())
    ledger.write(SUITE, plan)
    return ledger


def _refuse_other_terms(known: SuiteFolder, suite: Suite, plan: SuitePlan, settings: Settings) -> None:
    """Asked for again on other terms than it was begun on: the folder cannot answer that."""
    then, begun = known.plan, Settings(**known.run.start.settings.model_dump())
    differs = {
        "another suite": then.suite != plan.suite or then.path not in (plan.path, suite.path),
        "other tasks": [t.name for t in then.tasks] != [t.name for t in plan.tasks],
        "other candidates": [t.candidates for t in then.tasks] != [t.candidates for t in plan.tasks],
        f"--device {then.device}": then.device != plan.device,
        "other settings": begun != settings,
        "another mode or contract": (then.eval_mode, then.precision) != (plan.eval_mode, plan.precision),
        "the problems' texts kept" if then.texts else "the problems' texts left out": then.texts != plan.texts,
    }
    if terms := [words for words, other in differs.items() if other]:
        raise UsageError(
            f"{known.folder} holds a suite that was begun with {', '.join(terms)}",
            f"'klab resume {known.folder}' goes on with that one; choose another --out for this",
        )


class _Conduct:
    def __init__(
        self, ledger: Ledger, known: SuiteFolder, suite: Suite, settings: Settings, budget_s: float, emit: Listener
    ) -> None:
        self._ledger, self._known, self._settings, self._emit = ledger, known, settings, emit
        self._budget_s = budget_s
        self._plan = known.plan
        self._problems = {p.name: p for p in suite.problems}
        self._worker = Worker({"folders": folders_of(suite)})
        # Processors that do not run what is timed may look at the next problem meanwhile.
        self._spare = platform(self._plan.device).accelerator
        self._checker = Worker({"folders": folders_of(suite), "nice": True}) if self._spare else self._worker
        self._beside = Beside(self._checker)
        self._done, self._checks = known.tasks, known.checks
        self._graphs = Known()
        for check in self._checks.values():
            self._graphs.add(checked_of(check))

    def all(self) -> SuiteOutcome:
        folder = self._known.folder
        self._emit(Event("start", f"suite {self._plan.suite} in {folder}", self._facts()))
        items = [item for item in self._plan.tasks if item.name not in self._done]
        progress = Progress(len(self._plan.tasks), time.monotonic, already=len(self._done))
        started = time.monotonic()
        with self._worker, self._checker:
            for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
                seconds = self._share(started, len(items) - number)
                if seconds < 0:
                    self._emit(Event("note", f"the budget is spent: {len(items) - number} tasks are left"))
                    break
                self._emit(progress.begins(item.name))
                done = self._one(item, seconds, following)
                self._done[item.name] = done
                self._ledger.write(SUITE_TASK, done)
                progress.done()
                self._emit(progress.ends(done))
        left = tuple(item.name for item in self._plan.tasks if item.name not in self._done)
        if not left:
            self._ledger.write(kinds.END, End(results=[]))
        self._ledger.sync()
        return SuiteOutcome(folder, self._ledger.root, tuple(self._done.values()), left)

    def _facts(self) -> dict[str, Any]:
        here = platform(self._plan.device).here()
        return {"folder": str(self._known.folder), "task": f"suite {self._plan.suite}", "device": here, "tier": "auto"}

    def _share(self, started: float, left: int) -> float:
        """Seconds for the next task's search: its share of what is left; 0 without a budget, negative when it is spent."""
        if not self._budget_s:
            return self._settings.seconds
        remaining = self._budget_s - (time.monotonic() - started)
        return max(1.0, remaining / left) if remaining > 0 else -1.0

    def _one(self, item: SuiteItem, seconds: float, following: SuiteItem | None) -> SuiteTask:
        started = time.monotonic()
        found = self._outcome(item, seconds, following)
        return found.model_copy(update={"seconds": round(time.monotonic() - started, 3)})

    def _outcome(self, item: SuiteItem, seconds: float, following: SuiteItem | None) -> SuiteTask:
        problem = self._problems.get(item.problem)
        if problem is None or digest_of(problem) != item.digest:
            what = "is no longer there" if problem is None else "was changed since the suite was begun"
            return SuiteTask(task=item.name, outcome="failed", reason=f"its problem {what}")
        check = self._checked(item, problem)
        checked = checked_of(check)
        if not checked.searched:
            refused = checked.is_a in NOT_A_TASK
            reason = checked.evidence if checked.is_a == "refused" else f"{checked.is_a}: {checked.evidence}"
            return SuiteTask(task=item.name, outcome="refused" if refused else "left-out", reason=reason)
        if following is not None and self._spare:
            self._check_beside(following)
        try:
            return self._run(item, self._record(check), seconds)
        except (KlabError, WorkerLost) as fault:
            return self._failed(item, fault.what if isinstance(fault, KlabError) else str(fault))

    def _checked(self, item: SuiteItem, problem: Problem) -> SuiteCheck:
        """As it is recorded, if the record of its module is still what it was; else anew."""
        known = self._checks.get(item.name)
        if known is not None and (not known.record or self._kept(known)):
            return known
        found, path = self._beside.judged(problem, self._check_job(item, problem))
        checked, _ = self._graphs.new((found, path)) if known is None else (found, path)
        check = _recorded(item.name, checked, Path(path) if path else None)
        self._checks[item.name] = check
        self._ledger.write(SUITE_CHECK, check)
        return check

    def _check_beside(self, item: SuiteItem) -> None:
        """Begun now, recorded when its turn comes."""
        problem = self._problems.get(item.problem)
        if item.name not in self._checks and problem is not None:
            self._beside.begin(self._check_job(item, problem))

    def _check_job(self, item: SuiteItem, problem: Problem) -> dict[str, Any]:
        like = self._checks.get(item.backward_of)
        wishes = Wishes(self._plan.eval_mode, self._plan.precision, keep_text=self._plan.texts)
        return check_job(
            problem, self._plan.device, wishes, self._known.folder / RECORDS,
            like=self._record(like) if like is not None and like.record and self._kept(like) else "",
        )  # fmt: skip

    def _record(self, check: SuiteCheck) -> str:
        return str(self._known.folder / RECORDS / check.record)

    def _kept(self, check: SuiteCheck) -> bool:
        path = Path(self._record(check))
        return path.is_file() and sha256_hex(path.read_bytes()) == check.sha256

    def _run(self, item: SuiteItem, record: str, seconds: float) -> SuiteTask:
        settings = self._settings.model_copy(update={"seconds": seconds, "device": self._plan.device})
        store = self._known.run.store
        job = {
            "job": "run", "record": record, "folder": str(self._known.run_folder(item.name)),
            "settings": settings.model_dump(),
            "candidates": [[c.name, store.get(c.source).decode()] for c in item.candidates],
        }  # fmt: skip
        try:
            reply = self._worker.ask(job, LIMIT_S + seconds, self._emit)
        except WorkerLost as lost:
            self._emit(Event("note", f"{item.name}: {lost}; it is resumed once"))
            reply = self._worker.ask(job, LIMIT_S + seconds, self._emit)
        return SuiteTask(task=item.name, **reply)

    def _failed(self, item: SuiteItem, why: str) -> SuiteTask:
        """With its ledger as far as it came, if it has one."""
        folder = self._known.run_folder(item.name)
        if not (folder / LEDGER_FILE).exists():
            return SuiteTask(task=item.name, outcome="failed", reason=why)
        found = check_ledger(folder)
        return SuiteTask(
            task=item.name, outcome="failed", reason=why, run=found.run, size=found.size, root=found.root
        )  # fmt: skip


def _recorded(name: str, checked: CheckedProblem, path: Path | None) -> SuiteCheck:
    return SuiteCheck(
        task=name, is_a=checked.is_a, operators=checked.operators, graph=checked.graph, sizes=checked.sizes,
        findings=[SuiteEvidence(is_a=f.is_a, evidence=f.evidence) for f in checked.findings],
        timed=checked.timed, reduced=checked.reduced, remarks=list(checked.remarks),
        record=path.name if path else "", sha256=sha256_hex(path.read_bytes()) if path else "",
    )  # fmt: skip
