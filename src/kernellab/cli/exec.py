"""klab exec: a plan of tools, run in order inside its quotas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kernellab.cli.options import Json
from kernellab.cli.pages import print_json


def execute(
    plan: Annotated[Path, typer.Argument(help="The plan, as in docs/agents.md.")],
    task: Annotated[
        list[Path] | None, typer.Option("--task", help="A task file that the plan may use; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a plan.json: its tools in order, results into its artifact_dir. Exit code 0, 3, 4 or 5 as its gravest step."""
    from kernellab.tools.context import task_files
    from kernellab.tools.execute import RESULTS
    from kernellab.tools.execute import execute as run

    done = run(plan, task_files(task or []))
    if as_json:
        print_json(done.data())
    else:
        for row in done.results:
            typer.echo(_line(row))
        typer.echo(f"{done.status}; results in {done.folder / RESULTS}, environment {done.environment}")
    raise typer.Exit(done.exit_code)


def _line(row: dict[str, Any]) -> str:
    """One step: what it was, what came of it, and the figures that matter."""
    name = f"{row['id']}: " if row["id"] else ""
    figures = [f"{r['shape']} {r['speedup']:.3f}x" for r in row.get("rows", ()) if "speedup" in r]
    said = row.get("reason") or next((r["reason"] for r in row.get("rows", ()) if "reason" in r), "")
    said = f"{row['cause']}: {said}" if row.get("cause") else said
    ids = [str(row[k]) for k in ("kernel", "artifact", "folder") if row.get(k)]
    return f"{name}{row['tool']:18} {row['status']:16} {' '.join([*figures, *ids[-1:]])}{f'  {said}' if said else ''}"
