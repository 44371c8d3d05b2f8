"""A tuning as a run folder: everything it needs is in it, every call is journalled, and a cut one goes on without paying
twice. What comes of it is `templates/`, a folder for --templates, and figures.json."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.ids import canonical_json
from kernellab.core.own_code import own_code
from kernellab.core.records import dump
from kernellab.core.version import VERSION
from kernellab.ledger import kinds
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.records import End, Environment, NamedSource, OtherGenesis, RunSettings
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.propose.author import Author
from kernellab.propose.models import NEVER, Account, Budget, Cancel, Journal, Model, Policy, Prices, Recorded, Spent
from kernellab.propose.models.journal import exchanges
from kernellab.propose.prompts import PromptBook
from kernellab.search.soft.labelled import Labelled, LabelledSet, Split, split
from kernellab.search.soft.tuning import NOTES, AnyNote, Tuned, TuneOrder, Tuning

PURPOSE = "tune-verifier"
FIGURES, TEMPLATES = "figures.json", "templates"


class LabelledHalves(BaseModel):
    """The labelled trials that were given, and the blobs of the two halves that they were split into."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    digest: str
    trials: int
    halves: dict[str, str]


class TuningGenesis(OtherGenesis):
    """What a tuning was asked for; `templates`: blobs of those that it started from, if not the built-in ones."""

    order: TuneOrder
    labelled: LabelledHalves
    families: dict[str, list[str]]
    templates: dict[str, str]


TUNING = EntryKind(kinds.GENESIS.name, TypeAdapter(TuningGenesis))


@dataclass(frozen=True)
class Access:
    """How the model of this name is reached, and within what limits; none of it is part of what a run is."""

    model: Model
    name: str
    prices: Prices
    budget: Budget = field(default_factory=Budget)
    policy: Policy = field(default_factory=Policy)
    cancel: Cancel = NEVER
    tell: Callable[[str], None] = lambda text: None


@dataclass(frozen=True)
class Finished:
    """`templates` is a folder that --templates takes."""

    folder: Path
    tuned: Tuned
    spent: Spent
    ledger_root: str

    @property
    def templates(self) -> Path:
        return self.folder / TEMPLATES

    def data(self) -> dict[str, Any]:
        return {
            **self.tuned.data(),
            "spent": dump(self.spent),
            "run": str(self.folder),
            "templates": str(self.templates),
            "ledger_root": self.ledger_root,
        }


def start_tuning(
    folder: Path, labelled: LabelledSet, order: TuneOrder, access: Access, templates: Path | None = None
) -> Finished:
    """Split, record what is asked for, and run. `templates`: a folder to start from instead of the built-in ones."""
    PromptBook(templates)
    texts = {p.name: p.read_text() for p in sorted(templates.glob("*.j2"))} if templates is not None else {}
    halves = split(labelled, order.kind, order.seed, order.most)
    store = Store(folder)
    rows = {name: store.put(_lines(half)) for name, half in halves.halves()}
    for half in (halves.train, halves.test):
        for text in half.sources.values():
            store.put(text.encode())
    start = TuningGenesis(
        purpose=PURPOSE,
        environment=Environment(packages={"kernellab": VERSION}, code=own_code()),
        order=order,
        labelled=LabelledHalves(digest=labelled.digest, trials=len(labelled.trials), halves=rows),
        families=halves.families(),
        templates={name: store.put(text.encode()) for name, text in texts.items()},
        settings=RunSettings.model_validate({}),
        candidates=_candidates(halves),
    )
    with Ledger.create(folder, TUNING.plain(start), load_or_create_key()) as ledger:
        return _run(ledger, order, halves, texts, access)


def resume_tuning(folder: Path, access: Access) -> Finished:
    """Go through it all again: what has been answered is in the journal, and costs nothing."""
    order, halves, texts = read_tuning(folder)
    with Ledger.resume(folder, load_or_create_key()) as ledger:
        return _run(ledger, order, halves, texts, access)


def read_tuning(folder: Path) -> tuple[TuneOrder, Split, dict[str, str]]:
    """What a folder's first entry asked for."""
    if not is_tuning(folder):
        raise UsageError(
            f"{folder} does not hold a tuning of a verifier", "name the folder that 'klab tune-verifier' made"
        )
    run = Run(folder)
    (start,) = run.records(TUNING)
    try:
        train, test = (_half(run.store, start.labelled.halves[name]) for name in ("train", "test"))
    except (KeyError, ValueError) as err:
        said = " ".join(str(err).split())[:200]
        raise LedgerFault(f"{folder} cannot be read: {said}", "use the version of kernellab that made it") from None
    texts = {name: run.store.get(sha).decode() for name, sha in start.templates.items()}
    return start.order, Split(train, test, start.order.seed), texts


def figures_of(folder: Path) -> dict[str, Any]:
    """The figures that a tuning wrote last."""
    path = folder / FIGURES
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as err:
        raise UsageError(
            f"{path} cannot be read: {err}", f"'klab tune-verifier --resume {folder}' writes it again"
        ) from None
    return found


def is_tuning(folder: Path) -> bool:
    return Run(folder).purpose == PURPOSE


def _run(ledger: Ledger, order: TuneOrder, halves: Split, texts: Mapping[str, str], access: Access) -> Finished:
    folder, store = ledger.folder, Store(ledger.folder)
    run = Run(folder)
    journal = Journal(store, ledger.write, exchanges(run))
    account = Account(access.budget, access.prices, journal.spent)
    model = Recorded(access.model, journal, account, random.Random(order.seed), access.policy)
    written = {(kind.name, note.name) for kind in NOTES.values() for note in run.records(kind)}

    def note(said: AnyNote) -> None:
        kind = NOTES[type(said)]
        if (kind.name, said.name) not in written:
            written.add((kind.name, said.name))
            ledger.write(kind, said)

    def keep(text: str) -> str:
        return store.put(text.encode())

    author = Author(model, order.name, PromptBook())
    tuned = Tuning(order, halves, author, texts, note, keep, access.tell, access.cancel).run()
    keep(tuned.template)
    if not tuned.stopped and not run.count(kinds.END):
        ledger.write(kinds.END, End.model_validate({"name": kinds.END.name, "results": [], **tuned.data()}))
    _write_templates(folder / TEMPLATES, tuned.texts)
    finished = Finished(folder, tuned, account.spent, ledger.root)
    (folder / FIGURES).write_text(json.dumps(finished.data(), indent=2) + "\n")
    return finished


def _write_templates(folder: Path, texts: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)


def _candidates(halves: Split) -> list[NamedSource]:
    """As in any run, so that an audit looks for their sources."""
    found = {t.source: t.origin for _, half in halves.halves() for t in half.trials}
    return [NamedSource(name=origin, source=sha) for sha, origin in found.items()]


def _lines(half: LabelledSet) -> bytes:
    return b"".join(canonical_json(dump(trial)) + b"\n" for trial in half.trials)


def _half(store: Store, sha: str) -> LabelledSet:
    trials = tuple(Labelled.model_validate(json.loads(line)) for line in store.get(sha).splitlines())
    return LabelledSet(trials, {t.source: store.get(t.source).decode() for t in trials})
