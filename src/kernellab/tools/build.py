"""compile(): from a source to machine code and plans, kept under an id. Only its launch() is run, confined, on stand-ins.

Held-out shapes are left out: what a candidate says while it is built may be read by its author.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.instructions import innermost_loop
from kernellab.core.errors import UsageError
from kernellab.core.records import Param
from kernellab.core.targets import backend_of, devices_of, home_of, language
from kernellab.propose.prompts import summarise
from kernellab.propose.recipe import candidate_of, read_candidate
from kernellab.search.construct import Construction, construct
from kernellab.targets.base import platform
from kernellab.tasks.spec import Task
from kernellab.tools.context import ToolContext, as_spec
from kernellab.tools.records import Backend, Compiled, NotCompiled, Spec
from kernellab.tools.workspace import KERNEL_ID, Kernel

_FLAGS = "\n\n# flags that were given to compile()\nFLAGS = [*globals().get('FLAGS', []), *{flags!r}]\n"


def compile(
    src: str | Path,
    backend: Backend = "auto",
    flags: Sequence[str] = (),
    *,
    spec: Spec | str | None = None,
    params: Mapping[str, Param] | None = None,
    context: ToolContext | None = None,
) -> Compiled | NotCompiled:
    """`src`: the id of a kernel, the text of a candidate file, or a Path to one. `spec`: what it is for; a kernel knows.

    `flags` go behind the file's own FLAGS, into the source that is kept, judged and published; the same list of harmless
    ones is allowed. `params` are choices of its SPACE; the first ones stand for those not given.
    """
    stays = context is not None
    context = context or ToolContext()
    text, name, wanted = _source(context, src, spec)
    found = backend_of(text)
    if backend not in ("auto", found):
        raise UsageError(f"this source is {found}, not {backend}", "see docs/candidates.md for what tells them apart")
    written = language(found)
    if flags and written.no_flags:
        raise UsageError(f"{written.title} takes no compiler flags", written.no_flags)
    if flags:
        text += _FLAGS.format(flags=[str(f) for f in flags])
    task, locator = context.locate(wanted)
    kernel = context.workspace.keep_kernel(text, name, wanted, found)
    with context.workspace.lab:
        context.deadline.check()
        settings, tasks = context.choose(), context.workspace.open
        kind = settings.device if settings.device in devices_of(found) else home_of(found)
        try:
            made = construct(
                locator, Candidate(text, kernel.name), settings, context.dims(wanted, task), dict(params or {}),
                platform(kind).listings[:1], discreet=True, opened=tasks.workbench(settings, kind) if stays else None,
            )  # fmt: skip
        except BaseException:
            tasks.close_workbench()
            raise
    return _kept(context, kernel, task, locator, made)


def _source(context: ToolContext, src: str | Path, spec: Spec | str | None) -> tuple[str, str, Spec]:
    """The text, its name, and what it is for."""
    if isinstance(src, Path):
        candidate = read_candidate(src)
    elif KERNEL_ID.fullmatch(src):
        kernel = context.workspace.kernel(src)
        return context.workspace.candidate(kernel).text, kernel.name, kernel.spec if spec is None else as_spec(spec)
    else:
        candidate = candidate_of(src, "kernel")
    if spec is None:
        raise UsageError("compile() must know what this source is for", "give the spec: a task, its dtype, a shape")
    return candidate.text, candidate.name, as_spec(spec)


def _kept(context: ToolContext, kernel: Kernel, task: Task, locator: str, made: Construction) -> Compiled | NotCompiled:
    common: dict[str, Any] = {"kernel": kernel.id, "backend": made.backend, "task": made.task, "params": made.params}
    context.workspace.keep_log(kernel, made.built.log)
    if isinstance(made.built, NotBuilt):
        failure = summarise(made.built, context.workspace.candidate(kernel).text)
        return NotCompiled(status=made.built.status, reason=f"{failure.cause}: {failure.summary}", **common)
    built: Built = made.built
    kept = context.workspace.keep_artifact(
        kernel, built, made.listing, task=locator, fingerprint=task.on(made.device).fingerprint(), dims=made.dims,
        params=made.params, backend=made.backend, target=made.target,
    )  # fmt: skip
    artifact, plan = built.artifact, built.timed.plan
    return Compiled(
        artifact=kept.id, target=made.target, dims=made.dims, compiler=artifact.compiler, build_s=round(artifact.build_s, 3),
        code=artifact.code, resources=artifact.resources, scratch_bytes=sum(plan.scratch),
        kernels=tuple(dict.fromkeys(step.kernel for step in plan.steps)), loop=innermost_loop(made.listing), **common,
    )  # fmt: skip
