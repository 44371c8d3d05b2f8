"""Runs for those who look at them: one that is being written, one whose every text means harm, one with a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.recorded import CUBE, LAB

from kernellab.core.ids import canonical_json
from kernellab.ledger.journal import Entry, Ledger, read_entries
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.store import Store
from kernellab.propose.models.accounts import Spent
from kernellab.propose.models.base import Message, Reply, Request, Usage
from kernellab.propose.models.journal import Journal
from kernellab.propose.prompts.replies import ExperimentReply
from kernellab.search.scientist.notebook import Attempt, Closed, Effect, Generation, Notebook, Selected, Tested

HARM = (
    "<script>alert('harm')</script><img src=x onerror=alert(1)><svg onload=alert(2)>\"'><a href=\"javascript:alert(3)\">x</a>"
    "{{7*7}}</style></title></textarea>\u202e\u2066\x1b[31m\x00"
)
LONG = HARM + "A" * 10_000
FOLDER = "<img src=x onerror=alert(4)>"
_TEXTS = {"name", "why", "reason", "case", "compiler", "device", "baseline", "kernel", "tier", "origin", "task"}


class Growing:
    """A run that its writer has not ended."""

    def __init__(self, folder: Path, source: Path = CUBE) -> None:
        genesis, *rest = read_entries(source)
        self.trials = [e for e in rest if e.kind == "trial"]
        self.ledger = Ledger.create(folder, _begun(genesis), SigningKey.generate())
        self.folder = folder
        self.count = 0
        for entry in (e for e in rest if e.kind == "calibration"):
            self.ledger.append(entry.kind, entry.body)
        (folder / "artifacts").symlink_to(source / "artifacts")

    def add(self) -> int:
        body = self.trials[self.count % len(self.trials)].body
        self.ledger.append("trial", {**body, "trial": self.count})
        self.count += 1
        return self.count - 1


@contextmanager
def growing(folder: Path, source: Path = CUBE) -> Iterator[Growing]:
    made = Growing(folder, source)
    try:
        yield made
    finally:
        made.ledger.close()


class GrowingSuite:
    """A suite that its writer has not ended: the tasks of a recorded one, run with trials of another run."""

    def __init__(self, folder: Path, source: Path = LAB) -> None:
        genesis, plan, *rest = read_entries(source)
        self._outcomes = {e.body["task"]: e.body for e in rest if e.kind == "suite-task"}
        self.tasks = [item["name"] for item in plan.body["tasks"]]
        self.folder = folder
        self.ledger = Ledger.create(folder, _begun(genesis), SigningKey.generate())
        self.ledger.append(plan.kind, plan.body)

    def begin(self, task: str) -> Growing:
        return Growing(self.folder / "runs" / task)

    def end(self, task: str) -> None:
        self.ledger.append("suite-task", self._outcomes[task])


@contextmanager
def growing_suite(folder: Path) -> Iterator[GrowingSuite]:
    made = GrowingSuite(folder)
    try:
        yield made
    finally:
        made.ledger.close()


def _begun(genesis: Entry) -> dict[str, Any]:
    return {k: v for k, v in genesis.body.items() if k not in ("public_key", "nonce")}


def hostile_run(folder: Path, source: Path = CUBE) -> Path:
    """Sound, and every free text in it is one that a careless page would run, obey or choke on."""
    store = Store(folder)
    sha = store.put((HARM * 40 + "\n").encode() + b"x" * 2_000_000)
    genesis, *rest = read_entries(source)
    with Ledger.create(folder, _harmed(_begun(genesis), sha), SigningKey.generate()) as ledger:
        for entry in rest:
            ledger.append(entry.kind, _harmed(entry.body, sha))
    return folder


def _harmed(value: Any, sha: str, key: str = "") -> Any:
    if isinstance(value, dict):
        if key == "params":
            return {LONG: LONG, "a": HARM}
        if key == "settings":
            return value
        return {k: _harmed(v, sha, k) for k, v in value.items()}
    if isinstance(value, list):
        return (
            [HARM for _ in value] if key in ("flags", "abilities", "remarks") else [_harmed(v, sha, key) for v in value]
        )
    if isinstance(value, str) and key in ("source", "log"):
        return sha
    return LONG if isinstance(value, str) and key in _TEXTS else value


def noted_run(folder: Path) -> Path:
    """The recorded run with a scientist's generation, an experiment on trial 1 that started from trial 0, and its question."""
    genesis, *rest = read_entries(CUBE)
    store = Store(folder)
    old, new = store.put(b"one\ntwo\nthree\n"), store.put(b"one\n2\nthree\nfour\n")
    experiment = ExperimentReply(hypothesis="wider loads help", change="load 16 bytes", gain_low=1.0, gain_high=1.5,
                                 risk="none", refuted_if="no gain")  # fmt: skip
    with Ledger.create(folder, _begun(genesis), SigningKey.generate()) as ledger:
        notebook = Notebook(ledger.write)
        dims = next(e.body["dims"] for e in rest if e.kind == "trial")
        notebook.write(Generation(generation=0, task="cube", dims=dims, purpose="improve", first_trial=1))
        notebook.write(Selected(generation=0, base=0, reference=None, why="it is the fastest", by="model"))
        journal = Journal(store, ledger.write)
        request = Request(
            model="a-model", messages=(Message(role="user", content="What would you try?"),), system="Be brief."
        )
        journal.intend(request)
        reply = Reply(text="Wider loads.", finish="stop", usage=Usage(tokens_in=11, tokens_out=3), cost_usd=0.25, seconds=1.5,
                      request=request.digest)  # fmt: skip
        journal.answered(request, reply, Spent(calls=1), [])
        for entry in rest:
            body = dict(entry.body)
            if entry.kind == "trial" and body["trial"] in (0, 1):
                body["proposal"] = {**body["proposal"], "source": old if body["trial"] == 0 else new, "origin": "llm"}
            ledger.append(entry.kind, body)
        notebook.write(Tested(generation=0, number=2, purpose="improve", experiment=experiment, base=0,
                              attempts=[Attempt(call=0, source=new)], trials=[1], best=1,
                              effect=Effect(value=1.2, low=1.1, high=1.3), verdict="held", reason="1.2 is within 1 to 1.5",
                              device="cpu", task="cube", dims=dims))  # fmt: skip
        notebook.write(Closed(generation=0))
    assert canonical_json(experiment.model_dump(mode="json"))
    return folder
