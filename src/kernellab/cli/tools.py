"""klab generate, compile, select, best, explain: the tools of an agent for a person's hands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kernellab.cli.options import (
    HERE,
    Compiler,
    Dtype,
    Json,
    OneShape,
    Parameter,
    SandboxTier,
    WorkspaceFolder,
    out_option,
)
from kernellab.cli.pages import existing, parse_params, print_json
from kernellab.core.errors import EXIT_ENVIRONMENT, EXIT_NOTHING_VERIFIED, UsageError
from kernellab.core.files import write_file
from kernellab.core.records import Param, Record, dump


def generate(
    task: Annotated[str, typer.Argument(help="A built-in task or the path of a task file.")],
    dtype: Dtype = None,
    strategy: Annotated[
        str, typer.Option(help="recipe, lower (from a module's graph), write or translate; the last two ask a model.")
    ] = "recipe",
    base: Annotated[str, typer.Option(help="A recipe's name, or a kernel for a model to better.")] = "",
    space: Annotated[list[str] | None, typer.Option(help="Choices of a parameter, as NAME=1,2,4; repeatable.")] = None,
    backend: Annotated[str, typer.Option(help="auto, c, triton or cuda.")] = "auto",
    model: Annotated[str, typer.Option(help="openai:NAME@URL, anthropic:NAME, replay:RUN (default: KLAB_MODEL).")] = "",
    out: Annotated[Path | None, out_option("Write the source to this file too.")] = None,
    workspace: WorkspaceFolder = HERE,
    as_json: Json = False,
) -> None:
    """A kernel source for a task, from a recipe or a model; kept under an id that 'klab compile' takes."""
    from kernellab.tools.calls import GenerateKernel, checked
    from kernellab.tools.records import Generated

    context = _context(workspace, model=model)
    spec = {"task": task, "dtype": dtype or ""}
    given = {"spec": spec, "meta_space": _space(space), "strategy": strategy, "backend": backend, "base": base}
    record = checked(GenerateKernel, given, "").run(context)
    if isinstance(record, Generated) and out is not None:
        write_file(out, context.workspace.candidate(context.workspace.kernel(record.kernel)).text)
    _finish(record, as_json, 0 if isinstance(record, Generated) else EXIT_NOTHING_VERIFIED)


def compile_(
    source: Annotated[str, typer.Argument(help="A candidate file, or the id of a kernel.")],
    task: Annotated[str | None, typer.Option("--task", help="The task it is for; a kernel id knows.")] = None,
    dtype: Dtype = None,
    shape: OneShape = None,
    param: Parameter = None,
    flag: Annotated[list[str] | None, typer.Option(help="A further compiler flag; may be repeated.")] = None,
    compiler: Compiler = None,
    sandbox: SandboxTier = None,
    workspace: WorkspaceFolder = HERE,
    as_json: Json = False,
) -> None:
    """'klab build' that keeps the artifact: machine code and plans under an id, for the tools."""
    from kernellab.tools import Spec
    from kernellab.tools import compile as compile_tool
    from kernellab.tools.records import Compiled
    from kernellab.tools.workspace import KERNEL_ID

    src = source if KERNEL_ID.fullmatch(source) else Path(source)
    spec = Spec(task=task, dtype=dtype or "", shape=shape or "") if task else None
    context = _context(workspace, compiler=compiler, sandbox=sandbox)
    record = compile_tool(src, "auto", flag or (), spec=spec, params=parse_params(param), context=context)
    _finish(record, as_json, 0 if isinstance(record, Compiled) else EXIT_NOTHING_VERIFIED)


def select(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    n: Annotated[int, typer.Option("-n", help="How many exemplars.")] = 4,
    scheme: Annotated[str, typer.Option(help="bucket or island.")] = "bucket",
    tau: Annotated[float, typer.Option(help="Temperature: 0 is greedy.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Repeats a choice.")] = 0,
    as_json: Json = False,
) -> None:
    """Trials of a run that teach the most side by side: clearly different speed, little difference in code."""
    from kernellab.tools.memory import contrastive_select

    if scheme not in ("bucket", "island"):
        raise UsageError(f"there is no scheme '{scheme}'", "use bucket or island")
    _finish(contrastive_select(existing(run_folder), n, scheme, tau, seed=seed), as_json)  # type: ignore[arg-type]


def best(
    run_folders: Annotated[list[Path] | None, typer.Argument(metavar="[RUN...]")] = None,
    task: Annotated[str, typer.Option("--task", help="Only this task.")] = "",
    workspace: WorkspaceFolder = HERE,
    as_json: Json = False,
) -> None:
    """The best confirmed kernel for each task and shape, over the given runs or all of the workspace."""
    from kernellab.ledger.check import require_sound
    from kernellab.tools.memory import best as best_of
    from kernellab.tools.workspace import Workspace

    place = Workspace(workspace)
    for folder in (
        run_folders or []
    ):  # of those that somebody names; one of the workspace that is not sound claims nothing
        require_sound(existing(folder))
    _finish(best_of(run_folders or [place.run(n) for n in place.runs()], task), as_json)


def explain(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    number: Annotated[int | None, typer.Argument(metavar="[TRIAL]", help="Default: the best one.")] = None,
    trial: Annotated[int | None, typer.Option(help="The same, as an option.")] = None,
    as_json: Json = False,
) -> None:
    """A trial in words: verdict, time, what bounds it, and how it differs from the fastest."""
    from kernellab.tools.memory import explain as explained

    found = explained(existing(run_folder), trial if number is None else number)
    if as_json:
        _finish(found, as_json)
    for line in found.words:
        typer.echo(line)
    typer.echo(f"ledger root {found.ledger_root}")


def _context(workspace: Path, model: str = "", **settings: Any) -> Any:
    from kernellab.tools import ToolContext, Workspace

    return ToolContext(Workspace(workspace), None, {k: v for k, v in settings.items() if v is not None}, model)


def _space(given: list[str] | None) -> dict[str, list[Param]]:
    """NAME=1,2,4: each choice is read as a parameter is."""
    space: dict[str, list[Param]] = {}
    for text in given or []:
        name, sign, choices = text.partition("=")
        if not sign or "" in choices.split(","):
            raise UsageError(f"'{text}' names no choices", "write --space NAME=1,2,4")
        space[name] = [parse_params([f"{name}={choice}"])[name] for choice in choices.split(",")]
    return space


def _finish(record: Record, as_json: bool, code: int = 0) -> None:
    data = {"status": "ok", **dump(record)}
    code = EXIT_ENVIRONMENT if data["status"] == "no-reply" else code
    print_json(data) if as_json else _told(data)
    raise typer.Exit(code)


def _told(data: dict[str, Any], indent: str = "") -> None:
    """Names and values; a list of records as blocks."""
    for name, value in data.items():
        if value in (None, "", [], {}):
            continue
        if isinstance(value, list) and isinstance(value[0], dict):
            for item in value:
                typer.echo(f"{indent}{name}:")
                _told(item, indent + "  ")
        else:
            text = " ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
            typer.echo(f"{indent}{name:13} {text}")
