"""The C back end: SOURCE -> shared object, in two confined jobs.

The first runs the candidate's Python on stand-ins and hands out data (C text, flags, plans). The second, a fresh
process in which no candidate Python ever ran, compiles that C text with our own launch stubs. So the machine code is
what a compiler made of the published source, and nothing else.
Covered: flags by allow-list, time-outs, memory, plans checked, static memory audited.
Not covered: what the machine code does; it runs in the run sandbox and is judged by its outputs.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kernellab.build.base import Built, Candidate, Described, NotBuilt
from kernellab.build.cache import CodeCache
from kernellab.build.compiler import Compiler, check_flags
from kernellab.build.elf import sections
from kernellab.build.plan import Plan
from kernellab.core.hardware import cpu_model
from kernellab.core.ids import canonical_json, digest, sha256_hex
from kernellab.core.records import Artifact, Param
from kernellab.sandbox.host import Job, Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.tasks.spec import Dims, Task

PRELOAD = ("kernellab.build.recorder", "kernellab.build.compile_job", "kernellab.tasks")
MAX_STATIC = 64 << 10
_MAX_REPLY = 48 << 20
_MOST_PARAMETERS, _MOST_CHOICES = 64, 1024
_PLANS = TypeAdapter(list[Plan])
_PRELUDE = """static _Thread_local long klab_program_id[3];
#define program_id(axis) (klab_program_id[axis])
#line 1 "SOURCE"
"""


class CBuilder:
    backend = "c"

    def __init__(
        self, sandbox: Sandbox, compiler: Compiler, cache: CodeCache, threads: int = 1, timeout_s: float = 20.0
    ) -> None:
        self._sandbox = sandbox
        self._compiler = compiler
        self._cache = cache
        self._threads = threads
        self._cpu = cpu_model()  # code for this processor's own instructions is of no use on another
        self._record_limits = Limits(wall_s=min(10.0, timeout_s), cpu_s=20, memory=2 << 30, processes=4)
        self._compile_limits = Limits(wall_s=timeout_s, cpu_s=int(2 * timeout_s) + 1, processes=64)

    def describe(self, candidate: Candidate) -> Described | NotBuilt:
        reply = self._record({"only": "describe", "text": candidate.text, "name": candidate.name})
        if isinstance(reply, NotBuilt):
            return reply
        try:
            if len(reply["space"]) > _MOST_PARAMETERS or any(len(v) > _MOST_CHOICES for v in reply["space"].values()):
                return NotBuilt(
                    "build-failed", f"SPACE has more than {_MOST_PARAMETERS} names or {_MOST_CHOICES} choices"
                )
            space = {_name(k): [_param(v) for v in values] for k, values in reply["space"].items()}
            return Described(space, [str(t) for t in reply["tasks"]], str(reply["about"])[:2000])
        except (KeyError, TypeError, ValueError, AttributeError) as err:
            return NotBuilt("build-failed", f"SPACE is not a mapping of names to lists of numbers or words: {err}")

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt:
        started = time.perf_counter()
        buffers = [*task.inputs, *task.outputs]
        cases = [[{"shape": list(b.shape(d)), "dtype": b.dtype} for b in buffers] for d in shapes]
        request = {"text": candidate.text, "name": candidate.name, "params": params, "cases": cases}
        reply = self._record(request)
        if isinstance(reply, NotBuilt):
            return reply
        try:
            plans = _PLANS.validate_python(reply["plans"])
            source, flags = str(reply["source"]), [str(f) for f in reply["flags"]]
        except (ValidationError, KeyError, TypeError) as err:
            return NotBuilt("build-failed", f"the recorded plan is not a plan: {str(err)[:300]}")
        if len(plans) != len(cases):
            return NotBuilt("build-failed", f"{len(plans)} plans were recorded for {len(cases)} shapes")
        flags = [_fill(f, params) for f in flags]
        for fault in (_reserved(params), check_flags(flags), *(plan.faults(len(buffers)) for plan in plans)):
            if fault:
                return NotBuilt("build-failed", fault)
        stubs = {step.signature: "" for plan in plans for step in plan.steps}
        stubs = {signature: f"klab_stub_{i}" for i, signature in enumerate(sorted(stubs))}
        text = _PRELUDE + source + _stubs(stubs)
        command = [*self._compiler.base_flags(), *flags, *_macros(params, self._threads)]
        return self._finish(text, command, tuple(plans), tuple(shapes), stubs, started)

    def _finish(
        self,
        text: str,
        flags: list[str],
        plans: tuple[Plan, ...],
        shapes: tuple[Dims, ...],
        stubs: dict[tuple[str, bool, str], str],
        started: float,
    ) -> Built | NotBuilt:
        key = digest([text, flags, self._compiler.identity, self._compiler.command[-1], self._cpu])
        code, log = self._cache.get(key), ""
        cached = code is not None
        if code is None:
            compiled = self._compile(text, flags)
            if isinstance(compiled, NotBuilt):
                return compiled
            code, log = compiled
            self._cache.put(key, code)
        try:
            parts = sections(code)
        except ValueError as err:
            return NotBuilt("build-failed", str(err), log)
        if parts.static_bytes > MAX_STATIC:
            return NotBuilt(
                "build-failed",
                f"static-memory: {parts.static_bytes} bytes of writable static memory could "
                f"keep answers between calls ({MAX_STATIC} allowed); use scratch()",
            )
        plan_bytes = canonical_json([[d, p.model_dump(mode="json")] for d, p in zip(shapes, plans, strict=True)])
        code_hash, plan_hash = sha256_hex(code), sha256_hex(plan_bytes)
        artifact = Artifact(
            id=digest([code_hash, plan_hash]),
            backend=self.backend,
            code=code_hash,
            plans=plan_hash,
            log=sha256_hex(log.encode()),
            compiler=self._compiler.identity,
            flags=flags,
            static_bytes=parts.static_bytes,
            build_s=time.perf_counter() - started,
            cached=cached,
            resources={"code_bytes": parts.code_bytes, "constant_bytes": parts.constant_bytes},
        )
        return Built(artifact, code, plans, shapes, stubs, log)

    def _record(self, request: dict[str, Any]) -> dict[str, Any] | NotBuilt:
        with _Exchange(canonical_json(request), 1) as exchange:
            job = self._sandbox.spawn("kernellab.build.recorder:main", "build", self._record_limits, exchange.fds)
            with job:
                job.wait()
                reply = exchange.reply()
                if reply is None:
                    return NotBuilt("build-failed", f"running the candidate's Python {_ending(job)}", job.log()[:2000])
        if reply.get("status") in ("recorded", "described"):
            return reply
        reason = str(reply.get("reason", "no reason given"))[:1000]
        return NotBuilt("invalid" if reply.get("status") == "invalid" else "build-failed", reason)

    def _compile(self, text: str, flags: list[str]) -> tuple[bytes, str] | NotBuilt:
        request = {
            "source": text,
            "command": [*self._compiler.command, *flags],
            "environment": self._compiler.environment,
        }
        with _Exchange(canonical_json(request), 2) as exchange:
            job = self._sandbox.spawn("kernellab.build.compile_job:main", "build", self._compile_limits, exchange.fds)
            with job:
                job.wait()
                reply = exchange.reply()
                if reply is None:
                    return NotBuilt("build-failed", f"the compiler {_ending(job)}", job.log()[:2000])
                code = exchange.output()
        log = str(reply.get("log", ""))
        if reply.get("code") != 0:
            return NotBuilt("build-failed", f"does not compile: {_first_error(log)}", log)
        return code, log


class _Exchange:
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

    def __enter__(self) -> _Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self.fds:
            os.close(fd)


def _stubs(stubs: dict[tuple[str, bool, str], str]) -> str:
    """One C function per call signature, with one fixed interface, so that scalars convert as in any C call."""
    text = ["", "/* launch stubs, written by KernelLab */"]
    for (kernel, grid, kinds), symbol in stubs.items():
        seen = {"p": 0, "i": 0, "f": 0}
        arguments = []
        for kind in kinds:
            arguments.append(f"klab_{kind}[{seen[kind]}]")
            seen[kind] += 1
        text.append(f"#undef {kernel}")  # a macro of that name would send the call elsewhere
        call = f"{kernel}({', '.join(arguments)});"
        parameters = "void **klab_p, const long long *klab_i, const double *klab_f, const long *klab_g"
        head = f'__attribute__((visibility("default"))) void {symbol}({parameters})'
        if grid:
            call = (
                "\n#ifdef _OPENMP\n"
                "#pragma omp parallel for collapse(3) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)\n"
                "#endif\n"
                "for (long klab_a = 0; klab_a < klab_g[0]; klab_a++) for (long klab_b = 0; klab_b < klab_g[1]; klab_b++)\n"
                "for (long klab_c = 0; klab_c < klab_g[2]; klab_c++) {\n"
                "klab_program_id[0] = klab_a; klab_program_id[1] = klab_b; klab_program_id[2] = klab_c;\n"
                f"{call} }}\n"
            )
        text.append(f"{head} {{ {call} }}")
    return "\n".join(text) + "\n"


def _macros(params: dict[str, Param], threads: int) -> list[str]:
    macros = [f"-DKLAB_THREADS={threads}"]
    for name, value in sorted(params.items()):
        if isinstance(value, str):
            macros += [f"-D{name}={value}"] if value.isidentifier() else []
            macros += [f"-D{name}_{''.join(c if c.isalnum() else '_' for c in value)}=1"]
        else:
            macros.append(f"-D{name}={int(value) if isinstance(value, bool) else value}")
    return macros


def _reserved(params: dict[str, Param]) -> str:
    taken = [p for p in params if p.lower().startswith("klab") or p in ("program_id", "_OPENMP") or p.startswith("__")]
    return f"parameter name '{taken[0]}' is reserved" if taken else ""


def _fill(flag: str, params: dict[str, Param]) -> str:
    for name, value in params.items():
        flag = flag.replace("{" + name + "}", str(value))
    return flag


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"'{name}' is not a name")
    return name


def _param(value: object) -> Param:
    if not isinstance(value, (int, float, str, bool)):
        raise TypeError(f"{value!r} is neither a number, a word nor a truth value")
    return value


def _ending(job: Job) -> str:
    if job.timed_out:
        return f"did not end within {job.limits.wall_s:g} s and was killed"
    if job.signal() is not None:
        return f"was killed by signal {job.signal()} (time, memory or output limit)"
    return f"ended without a result (exit code {job.exit_code()})"


def _first_error(log: str) -> str:
    lines = [line for line in log.splitlines() if "error" in line or "undefined" in line]
    said = [line for line in log.splitlines() if line.strip()]
    return (lines or said or ["the compiler said nothing"])[0][:300]
