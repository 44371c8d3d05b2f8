"""A recorded run as a model: the same replies and faults, byte for byte, no network, no cost.

A call is found by its words; where those differ, because a prompt quotes figures that were measured anew, by its number:
the reply is the recorded one all the same. `strict` refuses that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernellab.ledger.run import Run
from kernellab.propose.models.base import NEVER, Cancel, ModelFault, Reply, Request
from kernellab.propose.models.journal import Answered, Calls, Outcome, exchanges

_SHOWN = 24
_FIX = "replay with the settings, task, templates and version of kernellab of that run, or name a live model"


class ReplayModel:
    """`name` is the model that was asked then; a run that asked several has no single name."""

    def __init__(self, folder: Path, strict: bool = False) -> None:
        self._folder = folder
        self._strict = strict
        run = Run(folder)
        self._calls = Calls(run.store, exchanges(run))
        if not self._calls.outcomes:
            raise ModelFault("not-recorded", f"{folder} holds no model calls", "name a run that was made with --model")
        names = {outcome.model for outcome in self._calls.outcomes.values()}
        self.name = names.pop() if len(names) == 1 else ""

    def complete(self, request: Request, cancel: Cancel = NEVER) -> Reply:
        outcome = self._calls.outcomes.get((request.call, request.digest)) or self._by_number(request.call)
        if isinstance(outcome, Answered):
            return self._calls.reply_of(outcome)
        if outcome is not None:
            raise outcome.fault.fault()
        raise ModelFault("not-recorded", f"{self._folder} has no reply to this: {self._why(request)}", _FIX)

    def _by_number(self, call: int) -> Outcome | None:
        """The last outcome of that call, whatever was asked."""
        if self._strict:
            return None
        return next((o for (number, _), o in reversed(self._calls.outcomes.items()) if number == call), None)

    def __repr__(self) -> str:
        return f"ReplayModel({str(self._folder)!r})"

    def _why(self, request: Request) -> str:
        calls = self._calls
        if (request.call, request.digest) in calls.intents:
            return f"call {request.call} was cut before its reply came"
        if twins := sorted(call for call, digest in calls.intents if digest == request.digest):
            return f"these words were asked as call {twins[0]}, not {request.call}"
        same = [name for name in calls.intents if name[0] == request.call]
        if not same:
            known = [call for call, _ in calls.intents]
            return f"call {request.call} was never made (the run has calls {min(known)} to {max(known)})"
        return f"call {request.call} was made with another {difference(calls.request_of(same[-1]), request)}"


def difference(then: Request, now: Request) -> str:
    """The first part in which two requests differ, and how."""
    old, new = (r.model_dump(mode="json", exclude={"call"}) for r in (then, now))
    return next((found for key in old if (found := _differs(key, old[key], new[key]))), "nothing")


def _differs(where: str, old: Any, new: Any) -> str:
    if old == new:
        return ""
    if isinstance(old, list) and isinstance(new, list):
        for number, (a, b) in enumerate(zip(old, new, strict=False)):
            if found := _differs(f"{where}[{number}]", a, b):
                return found
        return f"number of {where} (then {len(old)}, now {len(new)})"
    if isinstance(old, dict) and isinstance(new, dict):
        return next(found for key in old if (found := _differs(f"{where}.{key}", old[key], new[key])))
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > _SHOWN:
        at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        return f"{where}, from character {at} on (then {_cut(old, at)}, now {_cut(new, at)})"
    return f"{where} (then {old!r}, now {new!r})"


def _cut(text: str, at: int) -> str:
    return repr(text[at : at + _SHOWN] + ("..." if len(text) > at + _SHOWN else ""))
