"""The Triton back end: a candidate file -> cubins and launch plans, in one confined job a shape; no driver, no GPU.

Triton compiles by running its Python, the candidate's decorators included, so machine code and plans come from the
process in which the candidate ran. They are data: a forged cubin is judged by its outputs like any other.
Covered: time-outs, memory, plans checked against the limits of the device and the parameters of each kernel, static
memory and calls into the driver audited in the machine code itself.
Not covered: that the machine code is what Triton makes of the text. Whoever doubts it builds the text again.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import struct
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from kernellab.build import exchange
from kernellab.build.abilities import abilities_of
from kernellab.build.base import Built, Candidate, Described, NotBuilt, Part
from kernellab.build.bundle import Bundle, unpack
from kernellab.build.cache import CodeCache
from kernellab.build.cubin import HARMLESS_CALLS, LEAST_SHARED, MAX_SHARED, CubinFacts, audit, launch_fault
from kernellab.build.parts import Made, assemble, each_shape
from kernellab.build.plan import Plan
from kernellab.core.errors import UsageError
from kernellab.core.ids import canonical_json, digest
from kernellab.core.records import Param
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.tasks.spec import Dims, Task

PRELOAD = ("kernellab.build.recorder", "kernellab.build.triton_warm", "kernellab.build.cubin", "kernellab.tasks")
OLDEST = (3, 4)
_JOB = "kernellab.build.triton_job:main"
_FORMAT = 2  # of what is kept in the cache, and of how a job compiles
_VERSION = re.compile(r"^__version__\s*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)


def version() -> str:
    """Of the Triton that jobs would import, without importing it here; '' where there is none."""
    spec = importlib.util.find_spec("triton")
    try:
        with open(os.path.join(os.path.dirname(spec.origin or ""), "__init__.py") if spec else "") as file:
            found = _VERSION.search(file.read())
    except OSError:
        return ""
    return found[1] if found else "unknown"


def missing() -> str:
    """Why Triton kernels cannot be built here, or ''."""
    found = version()
    if not found:
        return "Triton is not installed: pip install 'kernellab[cuda]'"
    numbers = tuple(int(n) for n in re.findall(r"\d+", found)[:2])
    if numbers and numbers < OLDEST:
        return f"Triton {found} is too old, {OLDEST[0]}.{OLDEST[1]} is the oldest: pip install -U 'kernellab[cuda]'"
    return ""


def arch_of(target: str) -> int:
    """Triton's number for an architecture; from 9.0 on it uses a device's own instructions by itself."""
    match = re.fullmatch(r"sm_([0-9]{2,3})[af]?", target)
    if not match:
        raise UsageError(f"there is no GPU architecture '{target}'", "name one such as sm_80, sm_90a or sm_120a")
    return int(match[1])


@dataclass(frozen=True)
class _Compiled:
    """What a job answered, before it is believed."""

    plan: object
    ptx: dict[str, str]
    log: str
    code: bytes
    cached: bool = False

    def encode(self) -> bytes:
        head = canonical_json({"plan": self.plan, "ptx": self.ptx, "log": self.log})
        return struct.pack("<I", len(head)) + head + self.code

    @staticmethod
    def decode(kept: bytes) -> _Compiled | None:
        try:
            (length,) = struct.unpack_from("<I", kept)
            head = json.loads(kept[4 : 4 + length])
            return _Compiled(head["plan"], dict(head["ptx"]), str(head["log"]), kept[4 + length :], cached=True)
        except (ValueError, KeyError, TypeError, struct.error):
            return None


class TritonBuilder:
    """`properties` are what Triton's driver would say of the device ("multiprocessor_count", ...)."""

    backend = "triton"

    def __init__(
        self, sandbox: Sandbox, cache: CodeCache, target: str, timeout_s: float = 30.0,
        properties: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        self._sandbox = sandbox
        self._cache = cache
        self._arch = arch_of(target)
        self._version = version()
        self._missing = missing()
        most = MAX_SHARED.get(self._arch, LEAST_SHARED)
        self._properties = {"max_shared_mem": most, **(properties or {})}
        self._limits = Limits(
            wall_s=timeout_s, cpu_s=int(2 * timeout_s) + 1, memory=4 << 30, processes=32, nice=exchange.BESIDE
        )

    def describe(self, candidate: Candidate) -> Described | NotBuilt:
        return exchange.describe(self._sandbox, _JOB, candidate, self._limits)

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt:
        started = time.perf_counter()
        if self._missing:
            return NotBuilt("build-failed", self._missing)
        made = each_shape(lambda dims: self._part(task, candidate, params, dims), shapes)
        return made if isinstance(made, NotBuilt) else assemble(made, started, self.backend, f"Triton {self._version}")

    def _part(self, task: Task, candidate: Candidate, params: dict[str, Param], dims: Dims) -> Made | NotBuilt:
        """One shape, recorded and compiled in a job that knows no other."""
        request = exchange.recording_request(task, candidate, params, dims)
        request |= {"arch": self._arch, "properties": self._properties}
        key = digest([_FORMAT, self.backend, self._version, request])
        kept = self._cache.get(key)
        compiled = (_Compiled.decode(kept) if kept is not None else None) or self._compile(request)
        if isinstance(compiled, NotBuilt):
            return compiled
        plan = exchange.read_plan({"plan": compiled.plan}, task)
        if isinstance(plan, NotBuilt):
            return plan
        made = self._made(dims, compiled, plan)
        if isinstance(made, Made) and not compiled.cached:
            self._cache.put(key, compiled.encode())
        return made

    def _compile(self, request: dict[str, Any]) -> _Compiled | NotBuilt:
        answer = exchange.ask_recorder(self._sandbox, _JOB, request, self._limits)
        if isinstance(answer, NotBuilt):
            return answer
        reply, code = answer
        ptx = reply.get("ptx")
        listing = {str(k): str(v) for k, v in ptx.items()} if isinstance(ptx, dict) else {}
        return _Compiled(reply.get("plan"), listing, str(reply.get("log", ""))[:16384], code)

    def _made(self, dims: Dims, compiled: _Compiled, plan: Plan) -> Made | NotBuilt:
        try:
            bundle = unpack(compiled.code)
            facts = tuple(audit(module) for module in bundle.modules)
        except ValueError as err:
            return NotBuilt("build-failed", str(err), compiled.log)
        fault = _module_fault(facts, self._arch) or _plan_fault(plan, bundle, facts)
        if fault:
            return NotBuilt("build-failed", fault, compiled.log)
        listing = "\n".join(f"// {name}\n{text}" for name, text in sorted(compiled.ptx.items()))
        return Made(
            Part(dims, compiled.code, plan, {}, compiled.log, listing),
            flags=[f"--target=sm_{self._arch}"],
            static_bytes=sum(f.static_bytes for f in facts),
            cached=compiled.cached,
            resources=_resources(plan, bundle, facts),
            abilities=abilities_of(self.backend, compiled.code, *compiled.ptx.values()),
        )


def _module_fault(facts: tuple[CubinFacts, ...], arch: int) -> str:
    """What could carry answers from call to call, or reach outside the buffers."""
    if fault := exchange.static_fault(sum(f.static_bytes for f in facts)):
        return fault
    for module in facts:
        if module.arch != arch:
            return f"the machine code is for sm_{module.arch}, not for sm_{arch}"
        foreign = [name for name in module.imports if name not in HARMLESS_CALLS]
        if foreign:
            what = {"vprintf": "tl.device_print"}.get(foreign[0], f"{foreign[0]}()")
            return f"a kernel calls {what[:80]}, which a kernel here does not have"
    return ""


def _plan_fault(plan: Plan, bundle: Bundle, facts: tuple[CubinFacts, ...]) -> str:
    for step in plan.steps:
        module, symbol = bundle.kernels.get(step.kernel, (-1, ""))
        kernel = facts[module].kernels.get(symbol) if module >= 0 else None
        if kernel is None:
            return f"'{step.kernel}' is not in the machine code"
        fault = launch_fault(step, kernel, facts[module].arch)
        if fault:
            return f"{symbol}: {fault}"
    return ""


def _resources(plan: Plan, bundle: Bundle, facts: tuple[CubinFacts, ...]) -> dict[str, int]:
    """The largest figures over the kernels that are launched. Local memory is what does not fit into registers."""
    steps = [(step, bundle.kernels[step.kernel]) for step in plan.steps]
    launched = [(step, facts[module].kernels[symbol]) for step, (module, symbol) in steps]
    return {
        "registers": max(k.registers for _, k in launched),
        "local_bytes": max(k.local_bytes for _, k in launched),
        "shared": max(step.shared + k.shared_bytes for step, k in launched),
        "code_bytes": max(k.code_bytes for _, k in launched),
        "kernels": len({step.kernel for step, _ in steps}),
    }


def sass_of(sandbox: Sandbox, codes: Sequence[bytes], limits: Limits | None = None) -> str:
    """The instructions of packed machine code as text, each module once, made in jobs side by side: nvdisasm is not built
    for hostile files.

    '' where there is no nvdisasm or it cannot read a module. On demand only: a listing costs more than a build.
    """

    def listed(module: bytes) -> str:
        with exchange.Exchange(module, 1) as files:
            with sandbox.spawn("kernellab.build.cubin:main", "build", limits or Limits(), files.fds) as job:
                job.wait()
            return os.pread(files.fds[1], 16 << 20, 0).decode(errors="replace")

    modules = list(dict.fromkeys(module for code in codes for module in unpack(code).modules))
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2), "nvdisasm") as jobs:
        return "\n".join(text for text in jobs.map(listed, modules) if text)
