"""A certified C kernel as a plain C file: its parameters as macros, its source as it was judged, and one launch function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.build.base import Candidate
from kernellab.build.exchange import macros
from kernellab.build.plan import Plan, plan_bytes
from kernellab.certify.certificate import Certificate
from kernellab.certify.lift import Lifted, LiftedStep, lift, plain_argument, shapes_to_record
from kernellab.certify.recording import Recorded, record_c
from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.ids import sha256_hex
from kernellab.core.records import Param
from kernellab.tasks.spec import Dims, Task, dims_label, in_order, shape_key
from kernellab.verdict.cases import all_shapes

C_TYPES = {
    "float32": "float", "float64": "double", "int32": "int", "int64": "long long", "uint8": "unsigned char",
    "int16": "short", "int8": "signed char",
    "float16": "unsigned short", "bfloat16": "unsigned short",
}  # fmt: skip
_PARALLEL = re.compile(r'\bomp\s[^"\n]*\b(?:parallel|teams|target)\b[^"\n]*')
_COUNT = re.compile(r"num_threads\s*\(\s*([^()]*?)\s*\)")
_ASKS_WHERE = re.compile(r"\b__(?:has_include|has_embed|BASE_FILE__|INCLUDE_LEVEL__|DATE__|TIME__|TIMESTAMP__)\w*")
_LAB_ONLY = ("-shared", "-g0", "-fno-ident", "-Wl,", "-Werror", "-fno-sanitize")


@dataclass(frozen=True)
class Launch:
    """How the kernel is launched at the shapes it covers: one formula for a range, or one entry a shape."""

    lifted: Lifted | None
    table: tuple[tuple[Dims, Lifted], ...]

    @property
    def shapes(self) -> list[Dims]:
        return [dims for dims, _ in self.table]


@dataclass(frozen=True)
class CKernel:
    defines: tuple[str, ...]
    flags: tuple[str, ...]
    source: str
    launch: Launch
    threads: int

    @property
    def _counts(self) -> list[str]:
        """What the parallel regions of the text say of their number of threads; '' where they say nothing."""
        found = _PARALLEL.findall(self.source) if "-fopenmp" in self.flags else []
        return [said[1] if (said := _COUNT.search(pragma)) else "" for pragma in found]

    @property
    def uncounted(self) -> bool:
        """Whether a region takes as many threads as it is given: the laboratory gives it the run's, an export must too."""
        return "" in self._counts

    @property
    def threaded(self) -> bool:
        """Whether OpenMP may start threads in it."""
        launches = [self.launch.lifted] if self.launch.lifted else [found for _, found in self.launch.table]
        shared = "-fopenmp" in self.flags and any(step.grid is not None for launch in launches for step in launch.steps)
        if self.threads > 1:
            return shared or bool(self._counts)
        return any(count not in ("", "1", "KLAB_THREADS") for count in self._counts)


def read_c_kernel(task: Task, certificate: Certificate, candidate: Candidate) -> CKernel:
    """Record the candidate at shapes all over its range, and find the launch that fits them all."""
    params = dict(certificate.kernel.params)
    timed = in_order(certificate.shapes.timed, task)
    low, high = in_order(certificate.shapes.low, task), in_order(certificate.shapes.high, task)
    known = all_shapes(task, timed)
    recorded, shapes = record_c(task, candidate, params, shapes_to_record(low, high, known), known)
    _same_plans(certificate, recorded, shapes)
    _refuse_asking(recorded.source)
    names = [f"buf_{b.name}" for b in (*task.inputs, *task.outputs)]
    renamed = [{f"dim_{k}": v for k, v in d.items()} for d in shapes]
    lifted = lift(recorded.plans, renamed, params, names) if len(shapes) > len(known) else None
    open_shapes = [timed, *(d for d in task.edge if d != timed)]
    table = () if lifted else tuple((d, _exact(recorded.plans[shapes.index(d)], names)) for d in open_shapes)
    defines = _defines(params, certificate.speed.threads)
    flags = [f for f in certificate.kernel.flags if not f.startswith(_LAB_ONLY) and f not in _macro_flags(params)]
    kept = tuple(f for f in flags if not f.startswith("-DKLAB_THREADS="))
    return CKernel(defines, kept, recorded.source, Launch(lifted, table), certificate.speed.threads)


def _same_plans(certificate: Certificate, recorded: Recorded, shapes: Sequence[Dims]) -> None:
    """Where the certificate names its text and its parts, both must be the ones that were judged."""
    if certificate.kernel.text not in ("", recorded.text):
        raise EnvironmentFault(f"{certificate.kernel.name} gives another SOURCE or other FLAGS than when it was certified",
                               "recheck the certificate")  # fmt: skip
    for dims, plan in zip(shapes, recorded.plans, strict=True):
        part = certificate.shapes.parts.get(shape_key(dims))
        if part is not None and part.plan != sha256_hex(plan_bytes([dims], [plan])):
            raise EnvironmentFault(f"{certificate.kernel.name} launches otherwise at {dims_label(dims)} than when it was "
                                   "certified", "recheck the certificate")  # fmt: skip


def _refuse_asking(source: str) -> None:
    """A text that asks its compiler where and when it is compiled may be another one outside the laboratory."""
    if asked := _ASKS_WHERE.search(source.replace("\\\n", "")):
        raise UsageError(f"the kernel's text asks for {asked[0]}, and an export cannot answer as the laboratory did",
                         "take it out of the kernel's file, and certify it anew")  # fmt: skip


def _macro_flags(params: dict[str, Param]) -> set[str]:
    return set(macros(params))


def _defines(params: dict[str, Param], threads: int) -> tuple[str, ...]:
    pairs = [flag.removeprefix("-D").partition("=") for flag in macros(params)]
    return (*(f"#define {name} {value}" for name, _, value in pairs), f"#define KLAB_THREADS {threads}")


def _exact(plan: Plan, names: Sequence[str]) -> Lifted:
    steps = [
        LiftedStep(
            step.kernel,
            tuple(f"{g}" for g in step.grid) if step.grid is not None else None,
            tuple(plain_argument(a, names) for a in step.args),
        )
        for step in plan.steps
    ]
    return Lifted(tuple(f"{n}LL" for n in plan.scratch), tuple(steps), 1)


def body_of(lifted: Lifted, indent: str) -> str:
    """The statements of a launch: scratch pointers, then the steps in their order."""
    lines = []
    for number, size in enumerate(lifted.scratch):
        lines.append(f"scratch[{number}] = (char *)work + at;")
        lines.append(f"at += ROUND64({size});")
    for step in lifted.steps:
        call = f"{step.kernel}({', '.join(step.args)});"
        lines += [call] if step.grid is None else _loops(step.grid, call)
    return "\n".join(indent + line for line in lines)


def work_of(lifted: Lifted) -> str:
    return " + ".join(f"ROUND64({size})" for size in lifted.scratch) or "0"


def _loops(grid: Sequence[str], call: str) -> list[str]:
    """Every grid point once, as the laboratory's launch stubs do it."""
    x, y, z = (*grid, "1", "1")[:3]
    return [
        "#ifdef _OPENMP",
        "#pragma omp parallel for collapse(3) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)",
        "#endif",
        f"for (long a = 0; a < {x}; a++) for (long b = 0; b < {y}; b++) for (long c = 0; c < {z}; c++) {{",
        "    klab_program_id[0] = a; klab_program_id[1] = b; klab_program_id[2] = c;",
        f"    {call}",
        "}",
    ]
