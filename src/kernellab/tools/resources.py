"""What is too long for a reply, by address: klab://task, kernel, artifact, run and reply.

An address is matched as a whole, and ids and names become paths in one place (workspace.py): there is no way out of the
workspace. Plans and stored blobs are not readable: those of a confirmation hold every shape (discreet.py has the rule). A
ledger is given as its entries say it, for reading: to check signatures, `klab audit` the folder.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from kernellab.core.errors import UsageError
from kernellab.core.records import Record, dump
from kernellab.core.targets import backends, home_of, languages
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.propose.prompts.withhold import without_paths
from kernellab.search.memory.specimen import reader_of
from kernellab.targets.base import platform
from kernellab.tasks.suites import SUITES
from kernellab.tools.context import ToolContext
from kernellab.tools.discreet import entry_shown
from kernellab.tools.records import (
    Benchmarked,
    BestList,
    Compiled,
    Exemplars,
    Explanation,
    Generated,
    NotCompiled,
    Refused,
    Spec,
    TaskList,
    Verified,
)
from kernellab.tools.replies import Link
from kernellab.tools.tasks import guide
from kernellab.tools.workspace import Kept

LONGEST = 400_000
_REPLIES = 32
TEMPLATES = {
    "klab://task/{name}/{backend}": "a task and the candidate format for c, triton or cuda",
    "klab://kernel/{id}/source": "a kernel's source",
    "klab://kernel/{id}/log": "what the compiler said when it was last built",
    "klab://artifact/{id}/source": "the source of an artifact",
    "klab://artifact/{id}/listing": "the PTX of an artifact for a GPU, the instructions of one for the processor",
    "klab://run/{name}/ledger": "a run's entries, one JSON object a line",
    "klab://run/{name}/trial/{number}": "the record of one trial",
    "klab://run/{name}/trial/{number}/source": "the source of one trial",
}
_ID = r"[ka][0-9a-f]{16}"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,119}"


@dataclass
class Shelf:
    """Reads addresses. Replies that were cut are kept until so many others were."""

    context: ToolContext
    _replies: OrderedDict[str, str] = field(default_factory=OrderedDict)
    _count: int = 0

    def keep(self, text: str) -> Link:
        self._count += 1
        number = f"r{self._count}"
        self._replies[number] = text
        while len(self._replies) > _REPLIES:
            self._replies.popitem(last=False)
        return Link(f"klab://reply/{number}", "the whole reply")

    def read(self, uri: str) -> str:
        routes: dict[str, Callable[..., str]] = {
            rf"klab://task/((?:(?:{'|'.join(SUITES)}):)?{_NAME})/({'|'.join(backends())})": self._task,
            rf"klab://kernel/({_ID})/(source|log)": self._kernel,
            rf"klab://artifact/({_ID})/(source|listing)": self._artifact,
            rf"klab://run/({_NAME})/ledger": self._ledger,
            rf"klab://run/({_NAME})/trial/(\d{{1,9}})": self._trial,
            rf"klab://run/({_NAME})/trial/(\d{{1,9}})/source": self._trial_source,
            r"klab://reply/(r\d{1,9})": self._reply,
        }
        for pattern, reader in routes.items():
            if match := re.fullmatch(pattern, uri):
                return _cut(reader(*match.groups()))
        raise UsageError(f"there is no resource '{uri[:120]}'", f"the forms: {', '.join(TEMPLATES)}")

    def listed(self) -> list[Link]:
        """Tasks, and the ledgers of the last runs."""
        tasks = [Link(f"klab://task/{name}/c", f"{name}: the task and the C format") for name in self._names()]
        return tasks + [Link(f"klab://run/{n}/ledger", f"{n}: ledger") for n in self.context.workspace.runs()[-20:]]

    def _names(self) -> list[str]:
        from kernellab.tasks.builtin import TASKS

        return [*TASKS, *(self.context.files or {})]

    def _task(self, name: str, backend: str) -> str:
        return guide(self.context.locate(Spec(task=name))[0], backend)

    def _kernel(self, id: str, part: str) -> str:
        kernel = self.context.workspace.kernel(id)
        text = self.context.workspace.candidate(kernel).text if part == "source" else self.context.workspace.log(kernel)
        return without_paths(text) if part == "log" else text

    def _artifact(self, id: str, part: str) -> str:
        kept: Kept = self.context.workspace.artifact(id)
        kernel = self.context.workspace.kernel(kept.kernel)
        if part == "source":
            return self.context.workspace.candidate(kernel).text
        return (
            without_paths(self.context.workspace.listing(kept)) or "there is no listing: objdump is not installed here"
        )

    def _ledger(self, name: str) -> str:
        folder = self.context.workspace.run(name)
        lines = [{"seq": e.seq, "kind": e.kind, "time": e.time, "body": entry_shown(dict(e.body))}
                 for e in Run(folder).entries]  # fmt: skip
        return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)

    def _trial(self, name: str, number: str) -> str:
        folder = self.context.workspace.run(name)
        return json.dumps(entry_shown(dump(Run(folder).trial(int(number)))), indent=1)

    def _trial_source(self, name: str, number: str) -> str:
        folder = self.context.workspace.run(name)
        return reader_of(Store(folder))(Run(folder).trial(int(number)).proposal.source) or "the source was pruned"

    def _reply(self, number: str) -> str:
        if number not in self._replies:
            raise UsageError("that reply is no longer kept", f"the last {_REPLIES} long ones are; call the tool again")
        return self._replies[number]


def links_of(record: Record) -> list[Link]:
    """What a result points to."""
    match record:
        case TaskList():
            first = languages()[0]
            about = f"the task and the {first.title} format"
            return [Link(f"klab://task/{t.name}/{first.name}", f"{t.name}: {about}") for t in record.tasks]
        case Generated():
            return [Link(f"klab://kernel/{record.kernel}/source", "the source")]
        case NotCompiled():
            return [Link(f"klab://kernel/{record.kernel}/{part}", part) for part in ("source", "log")]
        case Compiled():
            listed = bool(platform(home_of(record.backend)).listings)
            links = {"source": "the source", **({"listing": "the listing"} if listed else {})}
            return [Link(f"klab://artifact/{record.artifact}/{part}", about) for part, about in links.items()]
        case Verified() | Refused():
            return _ledgers([record.folder])
        case Benchmarked():
            return _ledgers([row.folder for row in record.rows])
        case Exemplars():
            return [
                Link(f"klab://run/{record.run}/trial/{c.trial}/source", f"source of trial {c.trial}")
                for c in record.chosen
            ]
        case BestList():
            return [Link(f"klab://run/{r.run}/trial/{r.trial}/source", f"{r.task} {r.shape}") for r in record.rows]
        case Explanation():
            place = f"klab://run/{record.run}/trial/{record.trial}"
            return [Link(f"{place}/source", "the source"), Link(place, "the record")]
    return []


def _ledgers(folders: list[str]) -> list[Link]:
    names = [folder.rpartition("/")[2] for folder in folders if folder]
    return [Link(f"klab://run/{name}/ledger", "the ledger") for name in names]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... cut: {len(text) - LONGEST} more characters"
