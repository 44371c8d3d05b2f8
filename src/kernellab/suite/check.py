"""Every problem of a suite through the filter, one after the other; a broken one costs its line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from kernellab.core.errors import KlabError
from kernellab.core.events import Event, Listener, silent
from kernellab.suite.checked import CheckedProblem, Finding
from kernellab.suite.problems import folders_of, plain
from kernellab.suite.progress import Progress
from kernellab.suite.worker import Worker, WorkerLost
from kernellab.tasks.modules.wishes import AS_IT_IS, Wishes
from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.finding import Suite

LIMIT_S = 1200.0
"""For one problem, its captures included. They have limits of their own; this one is for what is ours."""


def check_suite(
    suite: Suite, device: str, wishes: Wishes = AS_IT_IS, emit: Listener = silent
) -> Iterator[CheckedProblem]:
    """A row for each problem, as it comes."""
    progress = Progress(len(suite.problems), time.monotonic)
    known = Known()
    with Worker({"folders": folders_of(suite)}) as worker:
        for problem in suite.problems:
            checked, _ = known.new(judged(worker, problem, device, wishes))
            progress.done()
            emit(Event("note", progress.line(problem.name, checked.is_a)))
            yield checked


def judged(
    worker: Worker, problem: Problem, device: str, wishes: Wishes, keep: Path | None = None, like: str = ""
) -> tuple[CheckedProblem, str]:
    """One problem, and the path of its record where one was to be kept. `like`: the record of its forward, if it has one."""
    return _answered(problem, partial(worker.ask, check_job(problem, device, wishes, keep, like, True), LIMIT_S))


def check_job(
    problem: Problem, device: str, wishes: Wishes, keep: Path | None, like: str, both_modes: bool = False
) -> dict[str, Any]:
    """What a worker is asked."""
    return {
        "job": "check", "problem": plain(problem), "device": device, "eval_mode": wishes.eval_mode,
        "precision": wishes.precision, "keep": str(keep) if keep else "", "like": like,
        "texts": wishes.keep_text, "both_modes": both_modes,
    }  # fmt: skip


def _answered(problem: Problem, ask: Callable[[], dict[str, Any]]) -> tuple[CheckedProblem, str]:
    try:
        reply = ask()
    except WorkerLost as lost:
        return CheckedProblem(name=problem.name, findings=(Finding(is_a="broken", evidence=str(lost)),)), ""
    return CheckedProblem.model_validate(reply["checked"]), reply["record"]


class Beside:
    """The next problem's check, made while the present one is searched, in a worker of its own. At most one is under way."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._job: dict[str, Any] = {}

    def begin(self, job: dict[str, Any]) -> None:
        """One that cannot be begun is made when its turn comes."""
        with suppress(WorkerLost):
            self._worker.begin(job)
            self._job = job

    def judged(self, problem: Problem, job: dict[str, Any]) -> tuple[CheckedProblem, str]:
        """What was begun, if it was this; anything else is asked for now."""
        begun, self._job = self._job, {}
        if begun == job:
            return _answered(problem, partial(self._worker.answer, LIMIT_S))
        if begun:  # of another problem, or on other terms: nobody wants it any more
            with suppress(WorkerLost, KlabError):
                self._worker.answer(LIMIT_S)
        return _answered(problem, partial(self._worker.ask, job, LIMIT_S))


class Known:
    """The graphs that came before: what is the same again is a duplicate, what differs in its sizes is remarked."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._graphs: dict[str, str] = {}

    def add(self, checked: CheckedProblem) -> None:
        if checked.graph:
            self._first.setdefault(checked.same_as, checked.name)
            self._graphs.setdefault(checked.graph, checked.name)

    def new(self, found: tuple[CheckedProblem, str]) -> tuple[CheckedProblem, str]:
        """The same with what is known of it, which is remembered."""
        checked, record = found
        if first := self._first.get(checked.same_as) if checked.graph else None:
            again = Finding(is_a="duplicate", evidence=f"the same graph at the same sizes as {first}")
            checked = checked.model_copy(update={"findings": (*checked.findings, again)})
        elif other := self._graphs.get(checked.graph) if checked.graph else None:
            said = f"the same graph as {other} at other sizes"
            checked = checked.model_copy(update={"remarks": (*checked.remarks, said)})
        self.add(checked)
        return checked, record
