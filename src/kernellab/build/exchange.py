"""One request to a confined job and its reply, through memory files; and what every back end does with a candidate file.

Nothing that comes back is believed: a reply is plain data that a record can hold, or it is no reply.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kernellab.build.base import Candidate, Described, NotBuilt
from kernellab.build.plan import Plan
from kernellab.build.recorder import MOST_CHOICES, MOST_PARAMETERS
from kernellab.build.words import WORDS_OF_C
from kernellab.core.ids import canonical_json, digest
from kernellab.core.printable import printable
from kernellab.core.records import Param
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.job import Job
from kernellab.sandbox.limits import Limits
from kernellab.sandbox.zygote import Profile
from kernellab.tasks.spec import Dims, Task

MAX_STATIC = 64 << 10
BESIDE = 5
"""Builds for a GPU run on every core while others are judged and timed: those who wait for it go first."""
_MAX_REPLY = 48 << 20
_UNFIT = "gave what no record can hold: a number that is not finite, half of a character, or endless nesting"
_NAME = "candidate"  # the same for every file and every job: a name would tell them apart
_PLAN = TypeAdapter(Plan)


class Exchange:
    """Memory files for one job: a request, a reply, and perhaps an output, none of which can name a path."""

    def __init__(self, request: bytes, replies: int) -> None:
        self.fds = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("request", "reply", "output")[: 1 + replies]]
        os.write(self.fds[0], request)
        self.unfit = False

    def reply(self) -> dict[str, Any] | None:
        """What the job said, if it is plain data that a record can hold (no NaN, no broken text, no endless nesting)."""
        try:
            value = json.loads(os.pread(self.fds[1], _MAX_REPLY, 0))
        except (ValueError, RecursionError):
            return None
        try:
            canonical_json(value)
        except (ValueError, RecursionError):
            self.unfit = True
            return None
        return value if isinstance(value, dict) else None

    def output(self) -> bytes:
        return os.pread(self.fds[2], _MAX_REPLY, 0)

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self.fds:
            os.close(fd)


def ask(
    sandbox: Sandbox, entry: str, request: dict[str, Any], limits: Limits, what: str, profile: Profile = "build"
) -> tuple[dict[str, Any], bytes] | NotBuilt:
    """Run one build job; `what` says in words what it does. Returns its reply and its output."""
    shared = replace(limits, processes=limits.processes * sandbox.together)  # the kernel counts those of all jobs
    with sandbox.room, Exchange(canonical_json(request), 2) as exchange:
        job = sandbox.spawn(entry, profile, shared, exchange.fds)
        with job:
            job.wait()
            reply = exchange.reply()
            if reply is None:
                why = _UNFIT if exchange.unfit else ending(job)
                return NotBuilt("build-failed", f"{what} {why}", job.log()[:2000])
            return reply, exchange.output()


def ask_recorder(
    sandbox: Sandbox, entry: str, request: dict[str, Any], limits: Limits, profile: Profile = "build"
) -> tuple[dict[str, Any], bytes] | NotBuilt:
    """Run the candidate's Python in a job; a reply that is not a recording or a description is a failed build."""
    answer = ask(sandbox, entry, request, limits, "running the candidate's Python", profile)
    if isinstance(answer, NotBuilt) or answer[0].get("status") in ("recorded", "described"):
        return answer
    reason = printable(str(answer[0].get("reason", "no reason given"))[:1000])
    log = printable(str(answer[0].get("log", ""))[:4000])
    return NotBuilt("invalid" if answer[0].get("status") == "invalid" else "build-failed", reason, log)


def recording_request(task: Task, candidate: Candidate, params: dict[str, Param], dims: Dims) -> dict[str, Any]:
    """All that the job which runs the candidate's Python is told: the stand-ins of one shape, and of no other.

    Nothing in it says which shapes there are beside this one, how many, in which order, or what the build is for.
    """
    buffers = [{"shape": list(b.shape(dims)), "dtype": b.dtype} for b in (*task.inputs, *task.outputs)]
    return {"text": candidate.text, "name": _NAME, "params": params, "buffers": buffers}


def read_plan(reply: dict[str, Any], task: Task) -> Plan | NotBuilt:
    """The recorded plan, if it is one and fits the task."""
    try:
        plan = _PLAN.validate_python(reply["plan"])
    except (ValidationError, KeyError, TypeError) as err:
        return NotBuilt("build-failed", f"the recorded plan is not a plan: {str(err)[:300]}")
    fault = plan.faults(len(task.inputs) + len(task.outputs))
    return NotBuilt("build-failed", fault) if fault else plan


@dataclass(frozen=True)
class Recorded:
    """What a candidate with a SOURCE says at one shape. The text and the flags may not depend on the shape."""

    source: str
    flags: tuple[str, ...]
    plan: Plan

    @property
    def text(self) -> str:
        """Names the text and the flags."""
        return digest([self.source, list(self.flags)])


def record(sandbox: Sandbox, entry: str, request: dict[str, Any], limits: Limits, task: Task) -> Recorded | NotBuilt:
    """Run the candidate's Python at one shape, in a fresh job that starts nothing beside itself."""
    answer = ask_recorder(sandbox, entry, request, limits, "record")
    if isinstance(answer, NotBuilt):
        return answer
    plan = read_plan(answer[0], task)
    if isinstance(plan, NotBuilt):
        return plan
    try:
        return Recorded(str(answer[0]["source"]), tuple(str(f) for f in answer[0]["flags"]), plan)
    except (KeyError, TypeError) as err:
        return NotBuilt("build-failed", f"the recording has no {err}")


def describe(sandbox: Sandbox, entry: str, candidate: Candidate, limits: Limits) -> Described | NotBuilt:
    """What a candidate file says of itself."""
    request = {"only": "describe", "text": candidate.text, "name": _NAME}
    answer = ask_recorder(sandbox, entry, request, limits)
    if isinstance(answer, NotBuilt):
        return answer
    reply = answer[0]
    try:
        if len(reply["space"]) > MOST_PARAMETERS or any(len(v) > MOST_CHOICES for v in reply["space"].values()):
            return NotBuilt("build-failed", f"SPACE has more than {MOST_PARAMETERS} names or {MOST_CHOICES} choices")
        space = {_name(k): [_param(v) for v in values] for k, values in reply["space"].items()}
        return Described(space, [str(t) for t in reply["tasks"]], printable(str(reply["about"])[:2000]))
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        return NotBuilt("build-failed", f"SPACE is not a mapping of names to lists of numbers or words: {err}")


def static_fault(static_bytes: int) -> str:
    """Why so much writable static memory is refused, or ''."""
    if static_bytes <= MAX_STATIC:
        return ""
    return (
        f"static-memory: {static_bytes} bytes of writable static memory could "
        f"keep answers between calls ({MAX_STATIC} allowed); use scratch()"
    )


def macros(params: dict[str, Param]) -> list[str]:
    """Parameters as compiler options: -DNAME=value; a word also as -DNAME_word=1."""
    options = []
    for name, value in sorted(params.items()):
        if isinstance(value, str):
            options += [f"-D{name}={value}"] if value.isidentifier() else []
            options += [f"-D{name}_{''.join(c if c.isalnum() else '_' for c in value)}=1"]
        else:
            options.append(f"-D{name}={int(value) if isinstance(value, bool) else value}")
    return options


_A_PART_KILLED = re.compile(
    r"^\S+: (fatal error: Killed signal terminated program|error: unable to execute command: Killed)", re.M
)


def reserved(params: dict[str, Param]) -> str:
    """Why a parameter cannot be a macro of SOURCE, or ''."""
    words = [p for p in params if p in WORDS_OF_C]
    if words:
        return f"parameter name '{words[0]}' is a word of C or CUDA C++: as a macro it would change what SOURCE says"
    taken = [p for p in params if p.lower().startswith("klab") or p in ("program_id", "_OPENMP") or p.startswith("__")]
    return f"parameter name '{taken[0]}' is reserved" if taken else ""


def fill(flag: str, params: dict[str, Param]) -> str:
    for name, value in params.items():
        flag = flag.replace("{" + name + "}", str(value))
    return flag


def ending(job: Job) -> str:
    if job.timed_out:
        return f"did not end within {job.limits.wall_s:g} s and was killed"
    if job.signal() is not None:
        return f"was killed by signal {job.signal()} (time, memory or output limit)"
    return f"ended without a result (exit code {job.exit_code()})"


def not_compiled(log: str) -> str:
    """Why there is no machine code. A driver tells by its own error that a limit has ended what it had started."""
    if _A_PART_KILLED.search(log):
        return "the compiler was killed (time, memory or output limit)"
    return f"does not compile: {first_error(log)}"


def first_error(log: str) -> str:
    lines = [line for line in log.splitlines() if "error" in line or "undefined" in line]
    said = [line for line in log.splitlines() if line.strip()]
    return (lines or said or ["the compiler said nothing"])[0][:300]


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"'{name}' is not a name")
    return name


def _param(value: object) -> Param:
    if not isinstance(value, (int, float, str, bool)):
        raise TypeError(f"{value!r} is neither a number, a word nor a truth value")
    return value
