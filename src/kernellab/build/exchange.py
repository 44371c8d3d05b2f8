"""One request to a confined job and its reply, through memory files; and what every back end does with a candidate file.

Nothing that comes back is believed: a reply is plain data that a record can hold, or it is no reply.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kernellab.build.base import Candidate, Described, NotBuilt
from kernellab.build.plan import Plan, plan_bytes
from kernellab.core.ids import canonical_json, digest, sha256_hex
from kernellab.core.records import Artifact, Param
from kernellab.sandbox.host import Job, Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.tasks.spec import Dims, Task

MAX_STATIC = 64 << 10
_MAX_REPLY = 48 << 20
_MOST_PARAMETERS, _MOST_CHOICES = 64, 1024
_PLANS = TypeAdapter(list[Plan])


class Exchange:
    """Memory files for one job: a request, a reply, and perhaps an output, none of which can name a path."""

    def __init__(self, request: bytes, replies: int) -> None:
        self.fds = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("request", "reply", "output")[: 1 + replies]]
        os.write(self.fds[0], request)

    def reply(self) -> dict[str, Any] | None:
        """What the job said, if it is plain data that a record can hold (no NaN, no broken text, no endless nesting)."""
        try:
            value = json.loads(os.pread(self.fds[1], _MAX_REPLY, 0))
            canonical_json(value)
        except (ValueError, RecursionError):
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
    sandbox: Sandbox, entry: str, request: dict[str, Any], limits: Limits, what: str
) -> tuple[dict[str, Any], bytes] | NotBuilt:
    """Run one build job; `what` says in words what it does. Returns its reply and its output."""
    with Exchange(canonical_json(request), 2) as exchange:
        job = sandbox.spawn(entry, "build", limits, exchange.fds)
        with job:
            job.wait()
            reply = exchange.reply()
            if reply is None:
                return NotBuilt("build-failed", f"{what} {ending(job)}", job.log()[:2000])
            return reply, exchange.output()


def ask_recorder(
    sandbox: Sandbox, entry: str, request: dict[str, Any], limits: Limits
) -> tuple[dict[str, Any], bytes] | NotBuilt:
    """Run the candidate's Python in a job; a reply that is not a recording or a description is a failed build."""
    answer = ask(sandbox, entry, request, limits, "running the candidate's Python")
    if isinstance(answer, NotBuilt) or answer[0].get("status") in ("recorded", "described"):
        return answer
    reason = str(answer[0].get("reason", "no reason given"))[:1000]
    log = str(answer[0].get("log", ""))[:4000]
    return NotBuilt("invalid" if answer[0].get("status") == "invalid" else "build-failed", reason, log)


def recording_request(
    task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
) -> dict[str, Any]:
    buffers = [*task.inputs, *task.outputs]
    cases = [[{"shape": list(b.shape(d)), "dtype": b.dtype} for b in buffers] for d in shapes]
    return {"text": candidate.text, "name": candidate.name, "params": params, "cases": cases}


def read_plans(reply: dict[str, Any], task: Task, shapes: Sequence[Dims]) -> tuple[Plan, ...] | NotBuilt:
    """The recorded plans, checked one by one."""
    try:
        plans = _PLANS.validate_python(reply["plans"])
    except (ValidationError, KeyError, TypeError) as err:
        return NotBuilt("build-failed", f"the recorded plan is not a plan: {str(err)[:300]}")
    if len(plans) != len(shapes):
        return NotBuilt("build-failed", f"{len(plans)} plans were recorded for {len(shapes)} shapes")
    buffers = len(task.inputs) + len(task.outputs)
    fault = next((f for f in (plan.faults(buffers) for plan in plans) if f), "")
    return NotBuilt("build-failed", fault) if fault else tuple(plans)


def describe(sandbox: Sandbox, entry: str, candidate: Candidate, limits: Limits) -> Described | NotBuilt:
    """What a candidate file says of itself."""
    request = {"only": "describe", "text": candidate.text, "name": candidate.name}
    answer = ask_recorder(sandbox, entry, request, limits)
    if isinstance(answer, NotBuilt):
        return answer
    reply = answer[0]
    try:
        if len(reply["space"]) > _MOST_PARAMETERS or any(len(v) > _MOST_CHOICES for v in reply["space"].values()):
            return NotBuilt("build-failed", f"SPACE has more than {_MOST_PARAMETERS} names or {_MOST_CHOICES} choices")
        space = {_name(k): [_param(v) for v in values] for k, values in reply["space"].items()}
        return Described(space, [str(t) for t in reply["tasks"]], str(reply["about"])[:2000])
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


def artifact_of(
    code: bytes, plans: Sequence[Plan], shapes: Sequence[Dims], log: str, started: float, **facts: Any
) -> Artifact:
    """The record of machine code and plans, named by their bytes; `facts` are the back end's own fields."""
    code_hash, plan_hash = sha256_hex(code), sha256_hex(plan_bytes(shapes, plans))
    return Artifact(
        id=digest([code_hash, plan_hash]),
        code=code_hash,
        plans=plan_hash,
        log=sha256_hex(log.encode()),
        build_s=time.perf_counter() - started,
        **facts,
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


def reserved(params: dict[str, Param]) -> str:
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
