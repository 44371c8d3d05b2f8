"""Every question and answer of a run, kept so that a cut run never pays for one it has, and a replay needs no network.

Two entries a call: "model-intent" before it is made and "model-call" after. Their texts are blobs in the run's
store (canonical JSON), named by hash. An intent without its outcome is in doubt: the server may have been paid.
Nobody can know, so it is asked again, once for each time the run was cut, and both entries say so.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, TypeAdapter

from kernellab.core.errors import LedgerFault
from kernellab.core.ids import canonical_json
from kernellab.core.records import Record
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.propose.models.accounts import Spent
from kernellab.propose.models.base import FaultNote, ModelFault, Reply, Request, Usage

Name = tuple[int, str]
_LOST = Spent(calls=1, failed=1, unreported=1)


class Append(Protocol):
    """Writes one record to the ledger."""

    def __call__(self, kind: EntryKind[Any], record: Any) -> object: ...


class Intent(Record):
    """`request` is the blob's hash and the request's digest at once; `asked_before`: intents that led to nothing."""

    call: int
    request: str
    model: str
    asked_before: int = 0
    note: str = ""


class _Outcome(Record):
    """`spent` covers every attempt, failed ones too."""

    call: int
    request: str
    model: str
    attempts: int
    faults: tuple[FaultNote, ...] = ()
    spent: Spent


class Answered(_Outcome):
    status: Literal["answered"] = "answered"
    reply: str
    usage: Usage
    cost_usd: float | None
    seconds: float


class Failed(_Outcome):
    status: Literal["failed"] = "failed"
    fault: FaultNote


Outcome = Answered | Failed
Exchange = Intent | Outcome
INTENT = EntryKind("model-intent", TypeAdapter(Intent))
CALL = EntryKind[Outcome]("model-call", TypeAdapter(Annotated[Outcome, Field(discriminator="status")]))


def exchanges(run: Run) -> list[Exchange]:
    """A run's intents and outcomes, in the order of its ledger."""
    return [entry.record for entry in run.in_order(INTENT, CALL)]


class Calls:
    """What a run's entries say of its calls."""

    def __init__(self, store: Store, entries: Iterable[Exchange] = ()) -> None:
        self.store = store
        self.intents: dict[Name, Intent] = {}
        self.outcomes: dict[Name, Outcome] = {}
        self.spent = Spent()
        for entry in entries:
            self.take(entry)

    def take(self, entry: Exchange) -> None:
        name = (entry.call, entry.request)
        if isinstance(entry, Intent):
            self.intents[name] = entry
            if entry.asked_before:
                self.spent = self.spent.plus(_LOST)
            self.outcomes.pop(name, None)
        else:
            self.outcomes[name] = entry
            self.spent = self.spent.plus(entry.spent)

    def doubts(self) -> list[Intent]:
        return [intent for name, intent in self.intents.items() if name not in self.outcomes]

    def reply_of(self, outcome: Answered) -> Reply:
        try:
            reply = Reply.model_validate(json.loads(self.store.get(outcome.reply)))
        except ValueError:
            raise LedgerFault(
                f"blob {outcome.reply} is not a reply", "use the version of kernellab that made the run"
            ) from None
        return reply

    def request_of(self, name: Name) -> Request:
        return Request.model_validate({**json.loads(self.store.get(name[1])), "call": name[0]})


class Journal:
    """Writes a run's calls; `entries` are those of the run's earlier part."""

    def __init__(self, store: Store, append: Append, entries: Iterable[Exchange] = (), most_doubts: int = 8) -> None:
        self._calls = Calls(store, entries)
        self._store = store
        self._append = append
        self._most_doubts = most_doubts
        self._guard = threading.Lock()
        self.doubts = self._calls.doubts()
        """Intents without outcome that the earlier part of the run left, for the report."""

    @property
    def spent(self) -> Spent:
        """What a resumed account starts from; each call in doubt counts as a failed one."""
        with self._guard:
            total = self._calls.spent
            for _ in self._calls.doubts():
                total = total.plus(_LOST)
            return total

    def answer(self, request: Request) -> Reply | None:
        """What was answered before, or its fault again; None: it has to be asked, also after a fault that stopped."""
        with self._guard:
            outcome = self._calls.outcomes.get((request.call, request.digest))
        if isinstance(outcome, Answered):
            return self._calls.reply_of(outcome)
        if outcome is not None and not outcome.fault.fault().stops:
            raise outcome.fault.fault()
        return None

    def intend(self, request: Request) -> None:
        """On record before the call is made."""
        name = (request.call, request.digest)
        with self._guard:
            known = None if name in self._calls.outcomes else self._calls.intents.get(name)
        before = known.asked_before + 1 if known else 0
        if before > self._most_doubts:
            raise ModelFault(
                "in-doubt", f"call {request.call} was cut {before} times before its reply came", "see what ends the run"
            )
        note = f"asked {before} times before without an outcome on record: it may have been paid" if before else ""
        intent = Intent(call=request.call, request=request.digest, model=request.model, asked_before=before, note=note)
        self._store.put(request.canonical)
        self._write(INTENT, intent)

    def answered(self, request: Request, reply: Reply, spent: Spent, faults: Iterable[FaultNote]) -> None:
        sha = self._store.put(canonical_json(reply.model_dump(mode="json")))
        noted = tuple(faults)
        self._write(CALL, Answered(
            call=request.call, request=request.digest, model=request.model, attempts=spent.calls, faults=noted,
            spent=spent, reply=sha, usage=reply.usage, cost_usd=reply.cost_usd, seconds=reply.seconds,
        ))  # fmt: skip

    def failed(self, request: Request, fault: ModelFault, spent: Spent, faults: Iterable[FaultNote]) -> None:
        self._write(CALL, Failed(
            call=request.call, request=request.digest, model=request.model, attempts=spent.calls,
            faults=tuple(faults), spent=spent, fault=fault.note,
        ))  # fmt: skip

    def _write(self, kind: EntryKind[Any], record: Exchange) -> None:
        """Entry first, memory after: what is believed to be on record is."""
        with self._guard:
            self._append(kind, record)
            self._calls.take(record)
