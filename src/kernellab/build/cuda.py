"""The CUDA C++ back end: SOURCE -> cubin through NVRTC, in two kinds of confined jobs; no nvcc, no driver, no GPU.

The first runs the candidate's Python on the stand-ins of one shape and hands out data (C++ text, flags, a plan); every
shape has a job of its own. The second, a fresh process in which no candidate Python ever ran, compiles that text for every
kernel that the plan names. So the machine code is what NVRTC made of the published source, and nothing else.
Covered: flags by allow-list, includes of CUDA's own headers only, time-outs, memory, plans checked against the limits
of the device and the parameters of each kernel, static memory and calls into the driver audited.
Not covered: what the machine code does; it is judged by its outputs.
"""

from __future__ import annotations

import glob
import os
import re
import site
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.build import exchange
from kernellab.build.abilities import abilities_of
from kernellab.build.base import Built, Candidate, Described, NotBuilt, Part
from kernellab.build.bundle import Bundle, pack, unpack
from kernellab.build.cache import CodeCache
from kernellab.build.cubin import HARMLESS_CALLS, CubinFacts, audit, launch_fault
from kernellab.build.parts import Made, Once, assemble, each_shape
from kernellab.build.plan import Plan
from kernellab.core.errors import UsageError
from kernellab.core.ids import digest
from kernellab.core.records import Param
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.tasks.spec import Dims, Task

PRELOAD = ("kernellab.build.recorder", "kernellab.build.nvrtc_job", "kernellab.build.cubin", "kernellab.tasks")
_RECORDER = "kernellab.build.recorder:main"
_COMPILER = "kernellab.build.nvrtc_job:main"
_OWN_FEATURES = ("sm_90", "sm_100", "sm_103", "sm_120", "sm_121")  # built for the device itself: all it can do
_ALLOWED = re.compile(
    r"--?use_fast_math|--?extra-device-vectorization|-lineinfo|--generate-line-info"
    r"|--?(ftz|prec-div|prec-sqrt|fmad)=(true|false)"
    r"|--?maxrregcount=[0-9]{1,3}"
    r"|--?std=c\+\+(11|14|17|20|23)"
    r"|(--ptxas-options|-Xptxas)=(-v|--verbose)"
    r"|(-D|--define-macro=)[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_.+-]*)?"
)
_INCLUDE = re.compile(r"^\s*(?:#|%:)\s*(?:include|include_next|import|embed)\b\s*(.*)$", re.MULTILINE)
_HEADER = re.compile(r"<(?![/.])[\w./+-]+>|\"(?![/.])[\w./+-]+\"")
_ERROR = re.compile(r"^SOURCE\(\d+\): (?:catastrophic )?error.*$", re.MULTILINE)
_UNKNOWN_NAME = re.compile(r"#pragma nv_mangled_name (.*)")
_SPILLS = re.compile(r"Function properties for (\S+)\s*\n.*?(\d+) bytes spill stores, (\d+) bytes spill loads")
_NOISE = re.compile(r"^ptxas info\s*: Compile time = .*\n?", re.MULTILINE)


def missing(sandbox: Sandbox) -> str:
    """Why CUDA C++ cannot be compiled here, or ''. The sandbox's own NVRTC is asked: it is the one that will do it."""
    version = _nvrtc_version(sandbox)
    return version.reason if isinstance(version, NotBuilt) else ""


def target_of(arch: str) -> str:
    """The architecture to compile for: "sm_90" means a Hopper device, whose own instructions need sm_90a."""
    if not re.fullmatch(r"sm_[0-9]{2,3}[af]?", arch):
        raise UsageError(f"there is no GPU architecture '{arch}'", "name one such as sm_80, sm_90a or sm_120a")
    return arch + "a" if arch in _OWN_FEATURES else arch


def header_folders() -> tuple[str, ...]:
    """Where CUDA's own headers lie: the toolkit's wheels, CUDA_HOME or /usr/local/cuda, the first that has them all.

    Wheels may lack the C++ library that cooperative_groups.h needs. Jobs must be able to read these folders: hand
    them to Sandbox(trees=...).
    """
    packages = [os.path.join(p, "nvidia", "*", "include") for p in (*site.getsitepackages(), *sys.path) if p]
    wheels = sorted({os.path.realpath(folder) for pattern in packages for folder in glob.glob(pattern)})
    homes = [[os.path.join(os.environ[v], "include")] for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v)]
    best: tuple[str, ...] = ()
    for place in (wheels, *homes, ["/usr/local/cuda/include"]):
        folders = [os.path.realpath(f) for folder in place for f in (folder, os.path.join(folder, "cccl"))]
        holding = {h: [f for f in folders if os.path.isfile(os.path.join(f, h))] for h in ("cuda_fp16.h", "nv/target")}
        found = tuple(dict.fromkeys(f for there in holding.values() for f in there))
        if all(holding.values()):
            return found
        best = best or (found if holding["cuda_fp16.h"] else ())
    return best


def check_flags(flags: list[str]) -> str:
    """Why these candidate flags are refused, or ''. A list of harmless ones, not of known bad ones."""
    for flag in flags:
        if not _ALLOWED.fullmatch(flag):
            return (
                f"compiler flag '{flag[:80]}' is not on the list of harmless ones (--use_fast_math, --ftz=, --fmad=, "
                "--prec-div=, --prec-sqrt=, --maxrregcount=, --extra-device-vectorization, --std=, -D*, -lineinfo)"
            )
    return ""


def check_includes(source: str) -> str:
    """Why an #include is refused, or ''. The sandbox holds no file of the user's either; this gives it a name."""
    for match in _INCLUDE.finditer(source.replace("\\\r\n", "").replace("\\\n", "")):
        what = match[1].strip()
        if not _HEADER.match(what) or ".." in what:
            return f"SOURCE includes {what[:80]}: only CUDA's own headers can be included, as <name.h>"
    return ""


@dataclass(frozen=True)
class _Compiled:
    cubin: bytes
    names: dict[str, str]
    log: str
    ptx: str
    cached: bool = False


class CudaBuilder:
    backend = "cuda"

    def __init__(self, sandbox: Sandbox, cache: CodeCache, target: str, timeout_s: float = 20.0) -> None:
        self._sandbox = sandbox
        self._cache = cache
        self.target = target_of(target)
        self._headers = header_folders()
        self._version = ""
        self._record_limits = Limits(
            wall_s=min(10.0, timeout_s), cpu_s=20, memory=2 << 30, processes=4, nice=exchange.BESIDE
        )
        self._compile_limits = Limits(
            wall_s=timeout_s, cpu_s=int(2 * timeout_s) + 1, processes=64, nice=exchange.BESIDE
        )

    def describe(self, candidate: Candidate) -> Described | NotBuilt:
        return exchange.describe(self._sandbox, _RECORDER, candidate, self._record_limits)

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt:
        started = time.perf_counter()
        once = Once()
        made = each_shape(lambda dims: self._part(task, candidate, params, dims, once), shapes)
        return made if isinstance(made, NotBuilt) else assemble(made, started, self.backend, f"NVRTC {self._version}")

    def _part(
        self, task: Task, candidate: Candidate, params: dict[str, Param], dims: Dims, once: Once
    ) -> Made | NotBuilt:
        """One shape: recorded in a job that knows no other, compiled unless this build compiled the same text before."""
        request = exchange.recording_request(task, candidate, params, dims) | {"launcher": "blocks"}
        recorded = exchange.record(self._sandbox, _RECORDER, request, self._record_limits, task)
        if isinstance(recorded, NotBuilt):
            return recorded
        flags = [exchange.fill(f, params) for f in recorded.flags]
        for fault in (exchange.reserved(params), check_flags(flags), check_includes(recorded.source)):
            if fault:
                return NotBuilt("build-failed", fault)
        options = self._options(recorded.source, flags, params)
        names = sorted({step.kernel for step in recorded.plan.steps})
        found = once.get(
            digest([recorded.source, options, names]), lambda: self._compile(recorded.source, options, names)
        )
        return found if isinstance(found, NotBuilt) else _made(dims, recorded, found, options)

    def _options(self, source: str, flags: list[str], params: dict[str, Param]) -> list[str]:
        options = [f"--gpu-architecture={self.target}", "--ptxas-options=-v"]
        if not any(flag.lstrip("-").startswith("std=") for flag in flags):
            options.append("--std=c++17")
        if _INCLUDE.search(source):  # else the same text is the same build wherever the headers lie
            options += [f"--include-path={folder}" for folder in self._headers]
        return [*options, *(f for f in flags if "ptxas" not in f), *exchange.macros(params)]

    def _asked_version(self) -> str | NotBuilt:
        if not self._version:
            version = _nvrtc_version(self._sandbox)
            if isinstance(version, NotBuilt):
                return version
            self._version = version
        return self._version

    def _compile(self, source: str, options: list[str], names: list[str]) -> _Compiled | NotBuilt:
        version = self._asked_version()
        if isinstance(version, NotBuilt):
            return version
        stamps = _stamps(self._headers) if _INCLUDE.search(source) else []
        key = digest([source, options, names, version, stamps])
        kept = self._cache.get(key)
        if kept is not None:
            compiled = _from_cache(kept)
            if compiled is not None:
                return compiled
        request = {"source": source, "names": names, "options": options}
        answer = exchange.ask(self._sandbox, _COMPILER, request, self._compile_limits, "the compiler")
        if isinstance(answer, NotBuilt):
            return answer
        reply, cubin = answer
        log = _NOISE.sub("", str(reply.get("log", "")))
        if not reply.get("ok"):
            return NotBuilt("build-failed", f"does not compile: {_reason(log)}", log)
        symbols = {name: str(reply["names"].get(name, "")) for name in names}
        compiled = _Compiled(cubin, symbols, log, str(reply.get("ptx", "")))
        modules = (cubin, log.encode(), compiled.ptx.encode())
        self._cache.put(key, pack(Bundle(modules, {k: (0, v) for k, v in symbols.items()})))
        return compiled


def _made(dims: Dims, recorded: exchange.Recorded, compiled: _Compiled, options: list[str]) -> Made | NotBuilt:
    """The part of one shape, after its machine code and its plan were looked at."""
    plan, log = recorded.plan, compiled.log
    try:
        facts = audit(compiled.cubin)
    except ValueError as err:
        return NotBuilt("build-failed", str(err), log)
    fault = _static_fault(facts) or _plan_fault(plan, compiled, facts)
    if fault:
        return NotBuilt("build-failed", fault, log)
    code = pack(Bundle((compiled.cubin,), {name: (0, symbol) for name, symbol in compiled.names.items()}))
    return Made(
        Part(dims, code, plan, {}, log, compiled.ptx, recorded.text),
        flags=options,
        static_bytes=facts.static_bytes,
        cached=compiled.cached,
        resources=_resources(plan, compiled, facts),
        abilities=abilities_of(CudaBuilder.backend, code, compiled.ptx),
    )


def _nvrtc_version(sandbox: Sandbox) -> str | NotBuilt:
    answer = exchange.ask(sandbox, _COMPILER, {}, Limits(wall_s=20.0), "loading NVRTC")
    if isinstance(answer, NotBuilt):
        return answer
    if answer[0].get("problem"):
        return NotBuilt("build-failed", str(answer[0]["problem"]))
    return str(answer[0].get("version", ""))


def _stamps(folders: tuple[str, ...]) -> list[int]:
    """Changes when the headers are replaced by others."""
    headers = [os.path.join(folder, "cuda_fp16.h") for folder in folders]
    return [os.stat(header).st_mtime_ns for header in headers if os.path.isfile(header)]


def _from_cache(kept: bytes) -> _Compiled | None:
    try:
        bundle = unpack(kept)
        cubin, log, ptx = bundle.modules
        names = {name: symbol for name, (_, symbol) in bundle.kernels.items()}
        return _Compiled(cubin, names, log.decode(), ptx.decode(), cached=True)
    except ValueError:
        return None


def _static_fault(facts: CubinFacts) -> str:
    """What could carry answers from call to call, or reach outside the buffers."""
    if fault := exchange.static_fault(facts.static_bytes):
        return fault
    for name in facts.imports:
        if name in ("malloc", "free"):
            return "device-heap: memory from malloc() or new could keep answers between calls; use scratch()"
        if name not in HARMLESS_CALLS:
            return f"SOURCE calls {'printf' if name == 'vprintf' else name}(), which a kernel here does not have"
    return ""


def _plan_fault(plan: Plan, compiled: _Compiled, facts: CubinFacts) -> str:
    for step in plan.steps:
        kernel = facts.kernels.get(compiled.names.get(step.kernel, ""))
        if kernel is None:
            return f"'{step.kernel}' is not a __global__ function of SOURCE"
        fault = launch_fault(step, kernel, facts.arch, _types(compiled.ptx, compiled.names[step.kernel]))
        if fault:
            return f"{step.kernel}: {fault}"
    return ""


def _types(ptx: str, symbol: str) -> tuple[str, ...]:
    """The kinds of a kernel's parameters as PTX declares them ("u32", "f32", "b8" for a struct, "p64" for a pointer)."""
    head = re.search(rf"\.entry {re.escape(symbol)}\(([^)]*)\)", ptx)
    declared = re.findall(r"\.param (?:\.align \d+ )?\.([a-z]\d+)( \.ptr)?", head[1]) if head else []
    return tuple("p64" if pointer else kind for kind, pointer in declared)


def _resources(plan: Plan, compiled: _Compiled, facts: CubinFacts) -> dict[str, int]:
    """The largest figures over the kernels that are launched. Functions that were not inlined spill for all of them."""
    steps = [(step, compiled.names[step.kernel]) for step in plan.steps]
    launched = {symbol: facts.kernels[symbol] for _, symbol in steps}
    spills = {name: int(stores) + int(loads) for name, stores, loads in _SPILLS.findall(compiled.log)}
    return {
        "registers": max(k.registers for k in launched.values()),
        "spill_bytes": max((n for s, n in spills.items() if s in launched or s not in facts.kernels), default=0),
        "local_bytes": max(k.local_bytes for k in launched.values()),
        "shared": max(step.shared + facts.kernels[symbol].shared_bytes for step, symbol in steps),
        "code_bytes": max(k.code_bytes for k in launched.values()),
    }


def _reason(log: str) -> str:
    """The first error with its line in SOURCE, else the kernel that SOURCE does not have, else what was said first."""
    error, unknown = _ERROR.search(log), _UNKNOWN_NAME.search(log)
    if error is None and unknown is not None:
        return f"SOURCE has no kernel '{unknown[1].strip()}' ({exchange.first_error(log).partition('error: ')[2]})"
    return error[0][:300] if error else exchange.first_error(log)
