"""A candidate built and not run: what a compiler makes of it, for any target, without a device."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from kernellab.build import c as c_backend
from kernellab.build.base import Builder, Built, Candidate, NotBuilt
from kernellab.build.bundle import unpack
from kernellab.build.c import CBuilder
from kernellab.build.compiler import find_compiler
from kernellab.build.cubin import audit
from kernellab.build.plan import Step
from kernellab.build.router import DEVICE_OF, backend_of
from kernellab.core.errors import EXIT_NOTHING_VERIFIED, EnvironmentFault, UsageError
from kernellab.core.records import Param
from kernellab.core.settings import Settings
from kernellab.propose.recipe import Recipe, load_recipes
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox
from kernellab.search.runs import with_defaults
from kernellab.search.workshop import open_cache, open_gpu_builders
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims
from kernellab.verify.cases import all_shapes

DEFAULT_TARGET = "sm_90"
_PROCESSORS = {"sm_90": 132, "sm_90a": 132}  # what a candidate is told of a device that is not there


@dataclass(frozen=True)
class Construction:
    """`built` has the timed shape's part first. `listing` is what was asked for: PTX, instructions, or both."""

    candidate: str
    backend: str
    target: str
    task: str
    dims: Dims
    params: dict[str, Param]
    built: Built | NotBuilt
    listing: str = ""

    @property
    def exit_code(self) -> int:
        return EXIT_NOTHING_VERIFIED if isinstance(self.built, NotBuilt) else 0

    def kernels(self) -> list[dict[str, Any]]:
        """Every kernel of the machine code: registers, local and shared bytes, and whether the timed shape uses it."""
        if isinstance(self.built, NotBuilt):
            return []
        timed = {step.kernel for step in self.built.timed.plan.steps}
        if DEVICE_OF[self.backend] == "cpu":
            names = dict.fromkeys(step.kernel for plan in self.built.plans for step in plan.steps)
            return [{"kernel": name, "timed": name in timed} for name in names]
        rows: dict[str, dict[str, Any]] = {}
        for bundle in map(unpack, self.built.codes):
            for name, (module, symbol) in bundle.kernels.items():
                if name not in rows:
                    facts = audit(bundle.modules[module]).kernels[symbol]
                    rows[name] = {"kernel": name, "symbol": symbol, "timed": name in timed, "registers": facts.registers,
                                  "local_bytes": facts.local_bytes, "shared_bytes": facts.shared_bytes,
                                  "code_bytes": facts.code_bytes}  # fmt: skip
        return sorted(rows.values(), key=lambda row: not row["timed"])

    def data(self) -> dict[str, Any]:
        """The object that --json ends with."""
        common = {"candidate": self.candidate, "backend": self.backend, "target": self.target, "task": self.task,
                  "dims": self.dims, "params": self.params}  # fmt: skip
        if isinstance(self.built, NotBuilt):
            return {"status": self.built.status, "reason": self.built.reason, "log": self.built.log[:4000], **common}
        artifact, plan = self.built.artifact, self.built.timed.plan
        return {
            "status": "built",
            "reason": "",
            **common,
            "artifact": artifact.id,
            "code": artifact.code,
            "compiler": artifact.compiler,
            "flags": artifact.flags,
            "build_s": artifact.build_s,
            "cached": artifact.cached,
            "static_bytes": artifact.static_bytes,
            "resources": artifact.resources,
            "shapes": len(self.built.parts),
            "kernels": self.kernels(),
            "launches": [_launch(step) for step in plan.steps],
            "scratch_bytes": list(plan.scratch),
        }


def construct(
    locator: str, candidate: Candidate, settings: Settings, dims: Dims | None = None,
    params: dict[str, Param] | None = None, listings: Sequence[str] = (), discreet: bool = False,
) -> Construction:  # fmt: skip
    """`klab build`: every shape that a claim would rest on, nothing run. `listings`: "ptx", "sass" or both.

    `discreet`: without the held-out shapes, for whoever may not learn them, not even from what the candidate says of them.
    """
    backend = backend_of(candidate.text)
    device = DEVICE_OF[backend]
    if listings and device == "cpu":
        raise UsageError(f"{candidate.name} is C: it has neither PTX nor SASS", "leave --ptx, --sass and --listing out")
    task = load_task(locator).on(device)
    dims = dims or min(task.tune, key=task.least_bytes)
    with ExitStack() as stack:
        sandbox, builder, target = _open_c(settings) if device == "cpu" else _open_gpu(settings)
        stack.callback(sandbox.close)
        chosen = with_defaults(builder, candidate, params or {})
        shapes = [d for d in all_shapes(task, dims) if d == dims or not discreet or d not in task.held_out]
        built = builder.build(task, candidate, chosen, shapes)
        listing = "" if isinstance(built, NotBuilt) else _listing(sandbox, built, listings)
    return Construction(candidate.name, backend, target, task.name, dims, chosen, built, listing)


def read_recipes(candidates: Sequence[Candidate], settings: Settings) -> tuple[list[Recipe], dict[str, str]]:
    """What candidate files of one device say of themselves, read in the sandbox; and why others are not usable."""
    if not candidates:
        return [], {}
    device = DEVICE_OF[backend_of(candidates[0].text)]
    sandbox, builder, _ = _open_c(settings) if device == "cpu" else _open_gpu(settings)
    with sandbox:
        return load_recipes(builder, candidates)


def _open_c(settings: Settings) -> tuple[Sandbox, Builder, str]:
    compiler = find_compiler(settings.compiler, settings.target)
    sandbox = open_sandbox(settings.sandbox, c_backend.PRELOAD, compiler.trees, compiler.self_exe)
    builder = CBuilder(sandbox, compiler, open_cache(settings), settings.threads, settings.build_timeout_s)
    return sandbox, builder, settings.target or "this processor"


def _open_gpu(settings: Settings) -> tuple[Sandbox, Builder, str]:
    """For the target asked for, else for the GPU that is here, else for a Hopper one."""
    from kernellab.run import driver

    target, processors = settings.target, _PROCESSORS.get(settings.target, 0)
    if not target and driver.present():
        found = driver.Context().properties()
        target, processors = found.target, found.processors
    target = target or DEFAULT_TARGET
    sandbox, builder, _ = open_gpu_builders(settings, target, processors or _PROCESSORS.get(target, 0))
    return sandbox, builder, target


def _listing(sandbox: Sandbox, built: Built, listings: Sequence[str]) -> str:
    from kernellab.build.triton import sass_of

    parts = [built.listing] if "ptx" in listings else []
    if "sass" in listings:
        text = sass_of(sandbox, built.codes)
        if not text:
            raise EnvironmentFault("no instructions can be listed: nvdisasm is missing or cannot read the module",
                                   "put the CUDA toolkit's bin folder on the PATH, or ask for --ptx")  # fmt: skip
        parts.append(text)
    return "\n".join(parts)


def _launch(step: Step) -> dict[str, Any]:
    return {"kernel": step.kernel, "grid": step.grid, "block": step.block, "shared": step.shared,
            "cluster": step.cluster, "cooperative": step.cooperative}  # fmt: skip
