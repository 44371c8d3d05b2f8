"""A data set from recorded runs: a prompt, a reply and what it was worth, one row a trial. Failures are rows like any other.

Covered: nothing that a task keeps back is in it. Trials at held-out shapes are left out, and so is a reply that names one;
prompts are made from facts that do not hold them; of looks and confirmations only their outcome is told. Every reply is read
again as a policy's would be, and must say what was tried. Not covered: text that a candidate encodes on purpose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernellab.core.ids import digest
from kernellab.core.records import AnyTrial, Rejected
from kernellab.core.targets import backend_of
from kernellab.learn.book import IN_FULL, RewardBook, book_of, last_words
from kernellab.learn.feedback import told
from kernellab.learn.prompts import RunPrompts
from kernellab.learn.recorded_reply import as_reply
from kernellab.learn.replies import read_reply, reply_text
from kernellab.learn.reward import Reward
from kernellab.ledger.reward_records import REWARD, REWARD_PLAN, RewardRecord
from kernellab.ledger.run import Run, well_formed
from kernellab.propose.prompts import FormatFailure, Withheld
from kernellab.search.reasons import UNSAID, reason_of
from kernellab.tasks.spec import Dims, Task, dims_label, shape_key
from kernellab.tasks.suites.formulas import structure_in

_PARTS = 5  # of which one is the test part
_HELD_OUT, _NAMED, _UNREADABLE = "at a held-out shape", "names a held-out shape", "cannot be told as a reply"


@dataclass
class Dataset:
    """`left_out`: how many trials are not in it, by reason."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def dataset_of(folders: list[Path]) -> Dataset:
    made = Dataset()
    for folder in folders:
        add_run(Run(folder), made)
    return made


def add_run(run: Run, made: Dataset) -> None:
    with well_formed(run.folder):
        _Reader(run, made).read()


def split_of(task: str, dims: Dims) -> str:
    """Train or test: a task at a shape is in one of them, in every data set that is ever made; a formula is with all that
    have its structure."""
    if structure := structure_in(task):
        return "test" if int(structure[:8], 16) % _PARTS == 0 else "train"
    return "test" if int(digest([task, shape_key(dims)])[:8], 16) % _PARTS == 0 else "train"


class _Reader:
    """One run: its trials, or, where it has rewards, its samples."""

    def __init__(self, run: Run, made: Dataset) -> None:
        self._run, self._made = run, made
        self._book = RewardBook(run.trials)
        self._prompts = RunPrompts(run)

    def read(self) -> None:
        if self._run.count(REWARD):
            self._samples()
            return
        rejected = [c.trial for c in self._run.confirmations if isinstance(c.verdict, Rejected)]
        for trial in self._run.trials:
            settled = self._book.settled(trial.trial)
            reward = self._book.rule.of_trial(settled, IN_FULL if settled.trial in rejected else "")
            source = self._run.source(trial)
            reply = as_reply(source, trial.proposal.params, trial.proposal.why)
            reason = reason_of(settled, source).replace(UNSAID, "it did not build")
            self._add(trial, reply, backend_of(source), reward, reason)

    def _samples(self) -> None:
        """By what is known at the end. `code`: a digest of the machine code that was tried, "" for what was never built."""
        plan = self._run.records(REWARD_PLAN)[0]
        self._book = book_of(self._run)
        for record in last_words(self._run, self._book):
            scored = told(self._book, self._run.store, record, plan.backend)
            reply = reply_text(self._run.store.get(record.reply)).encode("utf-8", "replace").decode()
            row = {"sample": record.sample, **{k: v for k, v in scored.data().items() if k != "id"}}
            row["code"] = self._code(record)
            self._row(record.task, record.dims, plan.backend, reply, row)

    def _code(self, record: RewardRecord) -> str:
        code = self._book.code(record.trials[-1]) if record.trials else None
        return digest(code) if code else ""

    def _add(self, trial: AnyTrial, reply: str, backend: str, reward: Reward, reason: str) -> None:
        found = read_reply(reply, backend)
        if isinstance(found, FormatFailure) or found.params != dict(trial.proposal.params):
            self._made.left_out[_UNREADABLE] += 1
            return
        facts = {"trial": trial.trial, "status": trial.status, "origin": trial.proposal.origin, **reward.model_dump()}
        self._row(trial.task, trial.dims, backend, reply, {**facts, "feedback": reason})

    def _row(self, name: str, dims: Dims, backend: str, reply: str, facts: Mapping[str, Any]) -> None:
        task = self._prompts.task(name)
        secret = self._secret(task)
        if shape_key(dims) in _held_out(task):
            self._made.left_out[_HELD_OUT] += 1
        elif any(secret.clean(text) != text for text in (reply, str(facts.get("feedback", "")))):
            self._made.left_out[_NAMED] += 1
        else:
            where = {"run": self._run.first.run, "task": name, "shape": dims_label(dims), "backend": backend}
            where["split"] = split_of(name, dims)
            self._made.rows.append({**where, "prompt": self._prompts.of(name, dims, backend), "reply": reply, **facts})

    def _secret(self, task: Task) -> Withheld:
        """Powers of two are no secret: they stand in every kernel."""
        found = Withheld.of(replace(task, tune=(*task.tune, *self._shapes(task))))
        return Withheld(frozenset(n for n in found.numbers if n & (n - 1)), found.shapes)

    def _shapes(self, task: Task) -> Iterator[Dims]:
        """Those that the run was asked for, of this task, and that are not kept back."""
        held, names = _held_out(task), set(task.dim_names)
        return (dims for dims in self._run.genesis.shapes if set(dims) == names and shape_key(dims) not in held)


def _held_out(task: Task) -> set[str]:
    """On every kind of device."""
    groups = [task.held_out, *(sizes.held_out for sizes in task.sizes.values())]
    return {shape_key(dims) for group in groups for dims in group if dims not in task.tune}
