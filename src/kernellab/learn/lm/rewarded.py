"""What specialists wrote and the judge rewarded: the best replies to each prompt, and as many of one task as of another.

Covered: replies at held-out shapes or that name one, prompts of the test part, what was not rewarded, and what a look
refused after it was paid, are left out, each counted by its reason. Ledgers are read as far as they were audited.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeVar

from kernellab.core.ids import digest
from kernellab.learn.book import IN_FULL, SECRET_SHAPE
from kernellab.learn.dataset import Dataset, add_run
from kernellab.learn.lm.corpus import Lesson
from kernellab.learn.lm.specialists import Specialist
from kernellab.ledger.reward_records import EXAM, REWARD_EXAM
from kernellab.ledger.run import Run

_OTHERS, _TEST, _MASKED = "of another model's exam", "of the test part", "masked: it has no reward"
_REFUSED, _NOTHING = "refused by a look", "not right, or not readable"
_SAME, _OUTDONE = "the same machine code or text as a better one", "not among the best of its prompt"
T = TypeVar("T")


@dataclass(frozen=True)
class AuditedLedger:
    """A ledger that passed its audit, as far as it went then: a writer may go on."""

    folder: Path
    run: str
    root: str
    entries: int

    def opened(self) -> Run:
        return Run(self.folder, self.entries)


@dataclass(frozen=True)
class Reply:
    """`owner`: which specialist wrote it. `code`: the digest of its machine code."""

    lesson: Lesson
    reward: float
    code: str
    owner: int
    ledger: AuditedLedger

    @property
    def prompt(self) -> str:
        return digest(self.lesson.prompt)


@dataclass
class Harvest:
    """`left_out`: by ledger (its root) and reason."""

    kept: list[Reply]
    left_out: dict[str, Counter[str]]

    def leave_out(self, reply: Reply, why: str) -> None:
        self.left_out[reply.ledger.root][why] += 1


def rewarded(specialists: Sequence[Specialist], ledgers: Mapping[Path, AuditedLedger]) -> Harvest:
    """Every rewarded reply of theirs, by what is known at the ledgers' ends."""
    found = Harvest([], defaultdict(Counter))
    for owner, specialist in enumerate(specialists):
        for ledger in (ledgers[folder] for folder in specialist.ledgers):
            made = Dataset()
            add_run(ledger.opened(), made)
            left = found.left_out[ledger.root]
            left.update(made.left_out)
            mine = _mine(specialist, ledger)
            for row in made.rows:
                if why := _no_lesson(row, mine):
                    left[why] += 1
                else:
                    lesson = Lesson(row["prompt"], row["reply"], row["task"], row["shape"])
                    found.kept.append(Reply(lesson, row["reward"], row["code"], owner, ledger))
    return found


def choose(found: Harvest, most: int, fits: Callable[[Lesson], bool], too_long: str) -> Harvest:
    """The `most` best of each prompt, whoever wrote them, of those that fit. Equals in reward stand in the ledger's order;
    equal machine code, or an equal text, is one."""
    made = Harvest([], found.left_out)
    prompts: dict[str, list[Reply]] = defaultdict(list)
    for reply in found.kept:
        prompts[reply.prompt].append(reply)
    for replies in prompts.values():
        best: list[Reply] = []
        seen: set[str] = set()
        for reply in sorted(replies, key=lambda reply: -reply.reward):
            same = {reply.code, reply.lesson.reply}
            if seen & same:
                made.leave_out(reply, _SAME)
            elif len(best) == most:
                made.leave_out(reply, _OUTDONE)
            elif not fits(reply.lesson):
                made.leave_out(reply, too_long)
            else:
                best.append(reply)
                seen |= same
        made.kept += best
    return made


def balanced(kept: Sequence[Reply]) -> list[Reply]:
    """No task drowns another: the replies of each task come in turn until it has as many as the specialist's largest, and
    those of each specialist until it has as many as the largest specialist."""
    owners: dict[int, dict[str, list[Reply]]] = defaultdict(lambda: defaultdict(list))
    for reply in kept:
        owners[reply.owner][reply.lesson.task].append(reply)
    return _evened([_evened(list(tasks.values())) for tasks in owners.values()])


def _evened(groups: Sequence[Sequence[T]]) -> list[T]:
    most = max(map(len, groups), default=0)
    return [one for group in groups for one in islice(cycle(group), most)]


def _mine(specialist: Specialist, ledger: AuditedLedger) -> Callable[[str], bool]:
    """Which samples are this specialist's: those of its training, and those of an exam that names it."""
    exams = ledger.opened().records(REWARD_EXAM)
    examined = any(exam.record == specialist.training.digest for exam in exams)
    trained = ledger.run == specialist.run
    return lambda sample: examined if sample.startswith(EXAM) else trained


def _no_lesson(row: Mapping[str, Any], mine: Callable[[str], bool]) -> str:
    """Why a row of a data set teaches nothing here; "" where it does."""
    if not mine(row["sample"]):
        return _OTHERS
    if row["split"] != "train":
        return _TEST
    if row["reward"] is None:
        return _MASKED
    if not row["reward"]:
        return _REFUSED if row["why"] in (SECRET_SHAPE, IN_FULL) else _NOTHING
    return ""
