"""A candidate built and not run: what a compiler makes of it, for any target, without a device."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.plan import Step
from kernellab.core.errors import EXIT_NOTHING_VERIFIED, UsageError
from kernellab.core.records import Param
from kernellab.core.settings import Settings
from kernellab.core.targets import backend_of, devices_of, home_of, title_of
from kernellab.propose.recipe import Recipe, load_recipes, with_defaults
from kernellab.targets.base import Workbench, platform
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims
from kernellab.verdict.cases import all_shapes


@dataclass(frozen=True)
class Construction:
    """`built` has the timed shape's part first. `listing` is what was asked for of it."""

    candidate: str
    backend: str
    device: str
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
        """Every kernel of the machine code, with what it uses, and whether the timed shape needs it."""
        return [] if isinstance(self.built, NotBuilt) else platform(self.device).kernels(self.built)

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
    opened: Workbench | None = None,
) -> Construction:  # fmt: skip
    """`klab build`: every shape that a claim would rest on, nothing run. `listings`: "ptx", "sass" or both.

    `discreet`: without the held-out shapes, for whoever may not learn them, not even from what the candidate says of them.
    `opened`: a workbench of the device and these settings that is open already, and stays so.
    """
    backend = backend_of(candidate.text)
    place = platform(settings.device if settings.device in devices_of(backend) else home_of(backend))
    if any(name not in place.listings for name in listings):
        raise UsageError(f"{candidate.name} is {title_of(backend)}: it has neither PTX nor SASS",
                         "leave --ptx, --sass and --listing out")  # fmt: skip
    task = load_task(locator).on(place.kind)
    dims = dims or min(task.tune, key=task.least_bytes)
    with place.workbench(settings) if opened is None else nullcontext(opened) as bench:
        chosen = with_defaults(bench.builder, candidate, params)
        shapes = [d for d in all_shapes(task, dims) if d == dims or not discreet or d not in task.held_out]
        built = bench.builder.build(task, candidate, chosen, shapes)
        listing = ""
        if listings and not isinstance(built, NotBuilt):
            listing = place.listing(bench.sandbox, built, listings)
    return Construction(candidate.name, backend, place.kind, bench.built_for, task.name, dims, chosen, built, listing)


def read_recipes(candidates: Sequence[Candidate], settings: Settings) -> tuple[list[Recipe], dict[str, str]]:
    """What candidate files of one device say of themselves, read in the sandbox; and why others are not usable."""
    if not candidates:
        return [], {}
    with platform(home_of(backend_of(candidates[0].text))).workbench(settings) as bench:
        return load_recipes(bench.builder, candidates)


def _launch(step: Step) -> dict[str, Any]:
    return {"kernel": step.kernel, "grid": step.grid, "block": step.block, "shared": step.shared,
            "cluster": step.cluster, "cooperative": step.cooperative}  # fmt: skip
