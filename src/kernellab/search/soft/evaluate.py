"""A verifier's template on labelled trials: how often it is right, and where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from kernellab.core.records import Record
from kernellab.core.targets import home_of, platform_facts
from kernellab.propose.author import Author
from kernellab.propose.models import NEVER, Cancel
from kernellab.propose.prompts import DeviceFacts, Mistake, TaskFacts, Withheld, shown
from kernellab.search.soft.fate import SoftKind
from kernellab.search.soft.interval import Rate
from kernellab.search.soft.labelled import Labelled, LabelledSet
from kernellab.search.soft.look import AnyAnswer, Said, Unreadable, ask, brief_for
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Task

HALF = 0.5


class Evaluation(Record):
    """Answers in the order of the trials. Right means: flagged (probability of failure above one half) and failing, or
    neither. No opinion flags nothing, as in a run."""

    kind: SoftKind
    answers: tuple[Annotated[AnyAnswer, Field(discriminator="status")], ...]
    failing: int
    caught: int
    passing: int
    spared: int

    @staticmethod
    def of(kind: SoftKind, trials: Sequence[Labelled], answers: Sequence[AnyAnswer]) -> Evaluation:
        rows = [(bool(t.fate.fails(kind)), flags(a)) for t, a in zip(trials, answers, strict=True)]
        return Evaluation(
            kind=kind, answers=tuple(answers),
            failing=sum(fails for fails, _ in rows), caught=sum(fails and flag for fails, flag in rows),
            passing=sum(not fails for fails, _ in rows), spared=sum(not fails and not flag for fails, flag in rows),
        )  # fmt: skip

    @property
    def balanced(self) -> Fraction:
        """Balanced accuracy, the mean of both rates of being right; exact, so that a tie is a tie.

        It asks neither how many of the trials fail, which is an accident of a labelled set, nor what a lost kernel costs,
        which is a matter of the threshold for skipping.
        """
        return (Fraction(self.caught, self.failing) + Fraction(self.spared, self.passing)) / 2

    def figures(self) -> dict[str, object]:
        """For people and JSON."""
        recall = Rate.of(self.caught, self.failing - self.caught)
        specificity = Rate.of(self.spared, self.passing - self.spared)
        statuses = [a.status for a in self.answers]
        return {
            "balanced_accuracy": float(self.balanced),
            "recall": recall.model_dump() if recall else None,
            "specificity": specificity.model_dump() if specificity else None,
            "unreadable": statuses.count("unreadable"),
            "silent": statuses.count("silent"),
        }

    def standing(self) -> str:
        return (
            f"it caught {self.caught} of {self.failing} kernels that fail in this way, and let "
            f"{self.spared} of {self.passing} pass that do not."
        )


def flags(answer: AnyAnswer) -> bool:
    return answer.p_fail is not None and answer.p_fail > HALF


@dataclass(frozen=True)
class Catalogue:
    """The tasks that labelled trials are about, and their facts by task and kind of device, gathered once."""

    tasks: Mapping[str, Task]
    known: Mapping[tuple[str, str], TaskFacts]

    @staticmethod
    def of(trials: Sequence[Labelled]) -> Catalogue:
        tasks = {name: load_task(name) for name in sorted({t.task for t in trials})}
        pairs = sorted({(t.task, home_of(t.backend)) for t in trials})
        return Catalogue(tasks, {(name, device): TaskFacts.of(tasks[name], device) for name, device in pairs})

    def facts(self, trial: Labelled) -> TaskFacts:
        return self.known[trial.task, home_of(trial.backend)]

    def device(self, trial: Labelled) -> DeviceFacts:
        found = platform_facts(home_of(trial.backend))
        machine = found.example
        return DeviceFacts(
            machine.name, machine.architecture, machine.processors if found.accelerator else trial.threads
        )

    def mistake(self, trial: Labelled, source: str, answer: AnyAnswer, kind: SoftKind) -> Mistake:
        secret = Withheld.of(self.tasks[trial.task].on(home_of(trial.backend)))
        truth = f"{trial.fate.cause or trial.fate.outcome}: {trial.fate.reason}" if trial.fate.fails(kind) else ""
        return Mistake(
            self.facts(trial), shown(source, secret), trial.params, shown(_said(answer), secret),
            bool(trial.fate.fails(kind)), shown(truth, secret),
        )  # fmt: skip


def evaluate(
    author: Author, kind: SoftKind, half: LabelledSet, catalogue: Catalogue, first_call: int, jobs: int = 1,
    cancel: Cancel = NEVER,
) -> Evaluation:  # fmt: skip
    """One call a trial, numbered from `first_call` on, `jobs` at a time. A fault that stops a run is raised once the
    calls in flight have ended: what was paid is on record."""

    def one(number: int) -> AnyAnswer:
        trial = half.trials[number]
        brief = brief_for(
            half.text(trial), trial.params, catalogue.facts(trial), catalogue.device(trial), trial.backend
        )
        return ask(author, kind, brief, first_call + number, cancel)

    pool = ThreadPoolExecutor(jobs)
    try:
        answers = list(pool.map(one, range(len(half.trials))))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return Evaluation.of(kind, half.trials, answers)


def _said(answer: AnyAnswer) -> str:
    if isinstance(answer, Said):
        opinion = answer.opinion
        where = f" (line {opinion.line})" if opinion.line is not None else ""
        problem = f": {opinion.problem}{where}" if opinion.problem else ""
        return f"{opinion.verdict} with confidence {opinion.confidence:.2f}{problem}"
    if isinstance(answer, Unreadable):
        return f"nothing that could be read ({answer.failure.what}), which counts as pass"
    return "nothing, which counts as pass"
