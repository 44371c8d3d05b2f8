"""What the ledger of an agent's session holds beside trials: what it goes on with, and which call each trial belongs to.

A session begins as any run does, with a task. When a call is for another task, another device or another effort, a part
says so, and holds for every entry until the next one.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import TypeAdapter

from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.records import EntryRecord, Environment, RunSettings, TaskFacts

PURPOSE = "session"


class SessionPart(EntryRecord):
    """From here on: this task, these settings, this environment. `file`: the folder's copy of a task file, with its SHA-256;
    "" for a built-in task."""

    task: TaskFacts
    settings: RunSettings
    environment: Environment
    file: str = ""
    sha256: str = ""


class SessionCall(EntryRecord):
    """The trial that a call made, and the ids by which the tools know its kernel and its artifact."""

    tool: Literal["verify", "benchmark"]
    trial: int
    kernel: str
    artifact: str


SESSION_PART = EntryKind("session-part", TypeAdapter(SessionPart))
SESSION_CALL = EntryKind("session-call", TypeAdapter(SessionCall))
SESSION_KINDS: tuple[EntryKind[Any], ...] = (SESSION_PART, SESSION_CALL)
