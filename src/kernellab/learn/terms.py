"""What a reward service is opened with, and that a folder which is gone on with was opened with the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.settings import Settings
from kernellab.core.targets import default_language, devices_of, language
from kernellab.learn.reward import WIDEST
from kernellab.learn.samples import MOST_SAMPLES
from kernellab.ledger.reward_records import PURPOSE, REWARD_PLAN, VERSION, RewardForm, RewardPlan, RewardTask
from kernellab.ledger.run import Run
from kernellab.targets.choose import settle_device
from kernellab.tasks.load import is_task_file, load_task, locate
from kernellab.tasks.spec import Dims, Task, dims_label
from kernellab.verdict.controls import examine

MEMORY = 4 << 30
FULL_SHARE = 0.05


@dataclass(frozen=True)
class RewardTerms:
    """`tasks`: names, task files or modules. `backend`: the language of replies; "": the device's first.
    `widest`: interval of a speed-up that still tells it. `memory`: bytes that open shapes may hold while others are used.
    `most`: samples in a batch. `full_share`: of the rewarded samples that get a full verdict by chance; a text gets one at
    most, so 1 has every text judged in full before it is ever paid."""

    tasks: Sequence[str]
    settings: Settings
    form: RewardForm = "log"
    widest: float = WIDEST
    backend: str = ""
    memory: int = MEMORY
    most: int = MOST_SAMPLES
    full_share: float = FULL_SHARE


@dataclass(frozen=True)
class NamedTask:
    """`remarks`: what its outputs cannot show."""

    task: Task
    locator: str
    remarks: tuple[str, ...] = ()


def settled(terms: RewardTerms) -> tuple[Settings, str]:
    """Device and language, each from the other where only one was given."""
    settings, backend = terms.settings, terms.backend
    if backend and settings.device == "auto":
        language(backend)
        settings = settings.model_copy(update={"device": devices_of(backend)[0]})
    settings = settle_device(settings)
    backend = backend or default_language(settings.device)
    if settings.device not in devices_of(backend):
        raise UsageError(f"{language(backend).title} does not run on {settings.device}", "leave --backend out")
    return settings, backend


def named_tasks(locators: Sequence[str], device: str) -> list[NamedTask]:
    """Every task loaded, and its judge proved."""
    if not locators:
        raise UsageError("no task is named", "name one with --task; 'klab tasks' lists them")
    found: dict[str, NamedTask] = {}
    for given in locators:
        locator = locate(given)
        task = load_task(locator).on(device)
        if task.name in found:
            raise UsageError(f"two tasks are called '{task.name}'", "name each once")
        found[task.name] = NamedTask(task, locator, tuple(examine(task).remarks))
    return list(found.values())


def plan_of(terms: RewardTerms, backend: str, tasks: Sequence[NamedTask]) -> RewardPlan:
    listed = [
        RewardTask(
            name=t.task.name, fingerprint=t.task.fingerprint(), file=file_of(number, t), shapes=rewarded_shapes(t.task)
        )
        for number, t in enumerate(tasks)
    ]
    return RewardPlan(version=VERSION, form=terms.form, widest=terms.widest, backend=backend, tasks=listed)


def rewarded_shapes(task: Task) -> list[Dims]:
    """The tuned ones, and the quick one, which a sample gets that names none."""
    return list({dims_label(dims): dims for dims in (*task.tune, task.quick_shape)}.values())


def file_of(number: int, named: NamedTask) -> str:
    """What the run folder calls its copy of a task; the first one's has the name that every run gives it."""
    if not is_task_file(named.locator):
        return ""
    suffix = Path(named.locator).suffix
    return f"task{suffix}" if number == 0 else f"task-{number}{suffix}"


def is_reward(folder: Path) -> bool:
    return Run(folder).purpose == PURPOSE


def recorded_plan(folder: Path) -> RewardPlan:
    run = Run(folder)
    if run.purpose != PURPOSE:
        raise UsageError(
            f"{folder} holds a run of another kind ({run.purpose or 'unknown'}), no rewards", "choose another --out"
        )
    found = run.records(REWARD_PLAN)
    if len(found) != 1:
        raise LedgerFault(
            f"{folder} does not say which rewards it holds", "it was cut off as it began: take another --out"
        )
    return found[0]


def refuse_other_terms(folder: Path, now: RewardPlan, settings: Settings) -> None:
    """One ledger has one kind of reward: what was asked for must be what it was opened with."""
    then, before = recorded_plan(folder), Run(folder).genesis.settings
    differs = {
        f"the form '{then.form}'": now.form != then.form,
        f"intervals up to {then.widest:.0%}": now.widest != then.widest,
        f"replies in {then.backend}": now.backend != then.backend,
        f"the tasks {', '.join(t.name for t in then.tasks)}": _same(now) != _same(then),
        f"effort {before.effort}": settings.effort != before.effort,
        f"device {before.device}": settings.device != before.device,
        f"{before.threads} threads": settings.threads != before.threads,
    }
    if terms := [words for words, other in differs.items() if other]:
        raise UsageError(f"{folder} holds rewards with {', '.join(terms)}", "choose another --out, or ask for the same")


def _same(plan: RewardPlan) -> list[tuple[str, str]]:
    return [(task.name, task.fingerprint) for task in plan.tasks]
