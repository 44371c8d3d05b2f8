"""Opening a reward service: a new run folder, or one gone on with. Its tasks share one evaluator and its memory."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from kernellab.core.events import Listener, silent
from kernellab.evaluate.evaluator import LocalEvaluator
from kernellab.evaluate.open_task import OpenTask
from kernellab.learn.book import UNSEEN, book_of
from kernellab.learn.reward import RewardRule
from kernellab.learn.service import RewardService
from kernellab.learn.terms import (
    NamedTask,
    RewardTerms,
    file_of,
    named_tasks,
    plan_of,
    recorded_plan,
    refuse_other_terms,
    settled,
)
from kernellab.learn.tried import RewardedTrials
from kernellab.ledger.check import require_sound
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.reward_records import PURPOSE, REWARD_PLAN, RewardPlan
from kernellab.ledger.run import Run
from kernellab.search.experiment_run import ExperimentRun
from kernellab.tasks.spec import Dims, dims_label


def open_service(
    terms: RewardTerms, folder: Path, emit: Listener = silent, rng: random.Random | None = None
) -> RewardService:
    """With everything that the folder holds already, if it holds rewards on these terms. `rng`: draws further shapes and
    full verdicts; nobody can foresee the one that is taken unless another is given."""
    settings, backend = settled(terms)
    tasks = named_tasks(terms.tasks, settings.device)
    plan = plan_of(terms, backend, tasks)
    old = (folder / LEDGER_FILE).exists()
    if old:
        require_sound(folder)
        refuse_other_terms(folder, plan, settings)
        plan = recorded_plan(folder)  # with its own version of the rule
    with ExitStack() as undo:
        evaluator = undo.enter_context(LocalEvaluator(settings, emit, terms.memory))
        opened = [OpenTask(settings, t.task, t.locator, emit, evaluator=evaluator) for t in tasks]
        archive = RewardedTrials(rule=RewardRule.of_plan(plan))
        first = (
            ExperimentRun.resume(opened[0], folder, archive)
            if old
            else _started(opened[0], folder, plan, tasks, archive)
        )
        undo.push(first)
        book = book_of(Run(folder), archive.trials)
        archive.forget({n for n in range(len(archive.trials)) if book.masked.get(n, UNSEEN)})
        runs = {opened[0].task.name: first, **{o.task.name: first.beside(o) for o in opened[1:]}}
        undo.pop_all()
        return RewardService(runs, plan, book, terms, rng or random.SystemRandom())


def _started(
    opened: OpenTask, folder: Path, plan: RewardPlan, tasks: Sequence[NamedTask], archive: RewardedTrials
) -> ExperimentRun:
    shapes: dict[str, Dims] = {dims_label(dims): dims for task in plan.tasks for dims in task.shapes}
    files = {file_of(n, t): Path(t.locator).read_bytes() for n, t in enumerate(tasks) if n and file_of(n, t)}
    remarks = [f"{t.task.name}: {remark}" for t in tasks for remark in t.remarks]
    run = ExperimentRun.start(
        opened, folder, list(shapes.values()), [], PURPOSE, files=files, archive=archive, remarks=remarks
    )
    run.append(REWARD_PLAN, plan)
    return run
