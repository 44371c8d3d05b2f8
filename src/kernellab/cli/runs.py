"""klab runs: the runs of a folder, or several side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from kernellab.cli.options import HERE, Json
from kernellab.cli.pages import print_json
from kernellab.cli.screen import Screen, counted
from kernellab.core.errors import UsageError

if TYPE_CHECKING:
    from kernellab.report.run_list import RunList, RunRow

_out = Screen()


def runs(
    places: Annotated[list[Path] | None, typer.Argument(metavar="[FOLDER|RUN]...", help="Default: klab-runs.")] = None,
    task: Annotated[str, typer.Option(help="Only runs of this task.")] = "",
    device: Annotated[str, typer.Option(help="Only runs on a device with this in its name.")] = "",
    status: Annotated[str, typer.Option(help="Only runs with this status, e.g. better or unfinished.")] = "",
    wins: Annotated[bool, typer.Option("--wins", help="Only runs with a confirmed win.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Side by side, shape by shape.")] = False,
    as_json: Json = False,
) -> None:
    """The runs of a folder: task, shapes, device, status, best speed-up, trials and date; or several side by side."""
    from kernellab.report.run_list import Wanted, list_runs

    given = places or [HERE]
    for place in given:
        if not place.is_dir():
            raise UsageError(f"there is no folder {place}", "give a folder of runs; klab-runs/ holds them by default")
    found = list_runs(given, Wanted(task, device, status, wins))
    if compare and len(found.rows) + len(found.unreadable) < 2:
        raise UsageError(
            "there is nothing to compare: fewer than two runs fit", "name two runs, or a folder of several"
        )
    if as_json:
        told = [{"folder": str(folder), "reason": why} for folder, why in found.unreadable.items()]
        print_json({"status": "ok", "runs": [row.data() for row in found.rows], "unreadable": told})
        return
    if not found.rows:
        _out.print("no run fits")
    elif compare:
        _compared(found.rows)
    else:
        _listed(found.rows)
    _unreadable(found)


def _listed(rows: list[RunRow]) -> None:
    """Two lines a run: what came of it, then where."""
    from kernellab.report.run_words import outcome, shapes_of

    names, tasks = [str(row.folder) for row in rows], [row.task or row.purpose for row in rows]
    wide, wider = max(map(len, names)), max(map(len, tasks))
    for row, name, task in zip(rows, names, tasks, strict=True):
        started = row.started[:16].replace("T", " ")
        head = f"{name:{wide}}  {task:{wider}}  {row.status:16} {outcome(row.best)}"
        _out.print(Text(head, style="bold" if row.won else ""), soft_wrap=True)
        _out.print(
            Text(
                f"  {counted(row.trials, 'trial', 'trials')}, {started}, {shapes_of(row)} on {row.device}", style="dim"
            ),
            soft_wrap=True,
        )


def _compared(rows: list[RunRow]) -> None:
    """A row for each task and shape, a column for each run. Ratios over different baselines are different figures."""
    from kernellab.ledger.run import place_of
    from kernellab.report.run_words import compared

    table = Table(show_edge=False, pad_edge=False)
    table.add_column("task and shape", overflow="fold")
    for row in rows:
        table.add_column(Text(str(row.folder)), overflow="fold")
    places = dict.fromkeys(place_of(r.task, r.dims) for row in rows for r in row.results)
    for place in places:
        table.add_row(Text(place), *(Text(compared(row.at(place))) for row in rows))
    table.add_row("device", *(Text(row.device) for row in rows))
    table.add_row("status", *(row.status for row in rows))
    table.add_row("trials", *(str(row.trials) for row in rows))
    _out.print(table)
    if len({row.device for row in rows}) > 1:
        _out.print("these runs are of different devices: their latencies are not of the same machine", style="yellow")


def _unreadable(found: RunList) -> None:
    for folder, why in found.unreadable.items():
        _out.print(f"{folder}: {why} (klab audit {folder} says more)", style="red", markup=False, soft_wrap=True)
