"""The C back end: SOURCE -> shared object, in two kinds of confined jobs.

The first runs the candidate's Python on the stand-ins of one shape and hands out data (C text, flags, a plan); every shape
has a job of its own. The second, a fresh process in which no candidate Python ever ran, compiles that C text with our own
launch stubs. So the machine code is what a compiler made of the published source, and nothing else.
Covered: flags by allow-list, time-outs, memory, plans checked, static memory audited.
Not covered: what the machine code does; it runs in the run sandbox and is judged by its outputs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.build import compile_job, exchange
from kernellab.build.abilities import abilities_of
from kernellab.build.base import Built, Candidate, Described, NotBuilt, Part
from kernellab.build.cache import CodeCache
from kernellab.build.compiler import Compiler, check_flags
from kernellab.build.elf import Sections, sections
from kernellab.build.parts import Made, Once, assemble, each_shape
from kernellab.build.plan import IDENTIFIER, Plan
from kernellab.core.hardware import cpu_model
from kernellab.core.ids import digest
from kernellab.core.records import Param
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.tasks.spec import Dims, Task

PRELOAD = ("kernellab.build.recorder", "kernellab.build.compile_job", "kernellab.tasks")
_RECORDER = "kernellab.build.recorder:main"
NAMED = "SOURCE"
"""What the compiler takes the text's file for, here and in an export: code that asks finds the same."""
_PRELUDE = f"""static _Thread_local long klab_program_id[3];
#define program_id(axis) (klab_program_id[axis])
#line 1 "{NAMED}"
"""


def record_limits(timeout_s: float = 20.0) -> Limits:
    """For every job that runs a C candidate's Python, whatever it is for: other limits would tell."""
    return Limits(wall_s=min(10.0, timeout_s), cpu_s=20, memory=2 << 30, processes=4)


@dataclass(frozen=True)
class _Code:
    code: bytes
    log: str
    facts: Sections
    cached: bool


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
        self._record_limits = record_limits(timeout_s)
        self._compile_limits = Limits(wall_s=timeout_s, cpu_s=int(2 * timeout_s) + 1, processes=64)

    def describe(self, candidate: Candidate) -> Described | NotBuilt:
        return exchange.describe(self._sandbox, _RECORDER, candidate, self._record_limits)

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt:
        started = time.perf_counter()
        compiled = Once()
        made = each_shape(lambda dims: self._part(task, candidate, params, dims, compiled), shapes)
        return made if isinstance(made, NotBuilt) else assemble(made, started, self.backend, self._compiler.identity)

    def _part(
        self, task: Task, candidate: Candidate, params: dict[str, Param], dims: Dims, compiled: Once
    ) -> Made | NotBuilt:
        """One shape: recorded in a job that knows no other, compiled unless this build compiled the same text before."""
        request = exchange.recording_request(task, candidate, params, dims)
        recorded = exchange.record(self._sandbox, _RECORDER, request, self._record_limits, task)
        if isinstance(recorded, NotBuilt):
            return recorded
        flags = [exchange.fill(f, params) for f in recorded.flags]
        for fault in (exchange.reserved(params), check_flags(flags), _foreign(recorded.plan)):
            if fault:
                return NotBuilt("build-failed", fault)
        signatures = sorted({step.signature for step in recorded.plan.steps})
        stubs = {signature: f"klab_stub_{i}" for i, signature in enumerate(signatures)}
        text = _PRELUDE + recorded.source + _stubs(stubs)
        options = [*self._compiler.base_flags(), *flags, f"-DKLAB_THREADS={self._threads}", *exchange.macros(params)]
        commands = self._compiler.commands(options, compile_job.SOURCE, compile_job.BUILT)
        key = digest([text, commands, self._compiler.identity, self._cpu])
        found = compiled.get(key, lambda: self._code(key, text, commands))
        if isinstance(found, NotBuilt):
            return found
        return Made(
            Part(dims, found.code, recorded.plan, stubs, found.log, text=recorded.text),
            flags=options,
            static_bytes=found.facts.static_bytes,
            cached=found.cached,
            resources={"code_bytes": found.facts.code_bytes, "constant_bytes": found.facts.constant_bytes},
            abilities=abilities_of(self.backend, found.code, text, *options),
        )

    def _code(self, key: str, text: str, commands: list[list[str]]) -> _Code | NotBuilt:
        """Machine code from the cache or from the compiler, and what its sections say."""
        code, log = self._cache.get(key), ""
        cached = code is not None
        if code is None:
            compiled = self._compile(text, commands)
            if isinstance(compiled, NotBuilt):
                return compiled
            code, log = compiled
            self._cache.put(key, code)
        try:
            facts = sections(code)
        except ValueError as err:
            return NotBuilt("build-failed", str(err), log)
        fault = exchange.static_fault(facts.static_bytes)
        return NotBuilt("build-failed", fault) if fault else _Code(code, log, facts, cached)

    def _compile(self, text: str, commands: list[list[str]]) -> tuple[bytes, str] | NotBuilt:
        request = {
            "source": text,
            "commands": commands,
            "environment": self._compiler.environment,
        }
        entry = "kernellab.build.compile_job:main"
        answer = exchange.ask(self._sandbox, entry, request, self._compile_limits, "the compiler")
        if isinstance(answer, NotBuilt):
            return answer
        reply, code = answer
        log = str(reply.get("log", ""))
        if reply.get("code") != 0:
            return NotBuilt("build-failed", exchange.not_compiled(log), log)
        return code, log


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
                "klab_program_id[0] = klab_program_id[1] = klab_program_id[2] = 0;\n"
            )
        text.append(f"{head} {{ {call} }}")
    return "\n".join(text) + "\n"


def _foreign(plan: Plan) -> str:
    """What a C function has no notion of."""
    for step in plan.steps:
        if not IDENTIFIER.match(step.kernel):
            return f"'{step.kernel[:40]}' is not a C identifier"
        if step.block is not None or step.shared or step.cluster is not None or step.cooperative:
            return f"{step.kernel}: a C kernel has no blocks, clusters or shared memory"
    return f"scratch {plan.zeroed[0]}: the C runner does not zero scratch buffers" if plan.zeroed else ""
