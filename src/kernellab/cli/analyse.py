"""klab analyse: what a run's trials say about parameters and structure, and the studies that test it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from kernellab.cli.display import make_display
from kernellab.cli.options import Device, Json, Out
from kernellab.cli.pages import existing, print_json
from kernellab.cli.screen import Screen
from kernellab.cli.study import exit_code
from kernellab.core.errors import UsageError
from kernellab.core.files import write_file

if TYPE_CHECKING:
    from kernellab.studies.mine.follow_up import Site
    from kernellab.studies.mine.miner import Insight

_out = Screen()


def analyse(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    follow_up: Annotated[bool, typer.Option("--follow-up", help="Run the studies that test the insights.")] = False,
    most: Annotated[
        int, typer.Option(min=1, help="So many insights at most are followed up, the strongest first.")
    ] = 3,
    device: Device = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Mine a run's ledger for patterns; those that hold become insights, and insights new hypotheses.

    With --out (or --follow-up) the insights and the hypothesis files are written into a folder. Followed-up studies
    end it with the exit code of the one that went worst: 0 confirmed, 3 rejected, 4 inconclusive.
    """
    from kernellab.ledger.check import require_sound
    from kernellab.ledger.store import Store
    from kernellab.search.memory.specimen import reader_of
    from kernellab.search.outcome import default_folder
    from kernellab.search.replay import read_trials
    from kernellab.studies.mine.follow_up import Site
    from kernellab.studies.mine.miner import mine_run

    found = require_sound(existing(run_folder), signed=True)
    site = Site(run_folder, read_trials(run_folder), reader_of(Store(run_folder)))
    analysis = mine_run(run_folder)
    data: dict[str, Any] = {"status": "ok", "run": str(run_folder), "ledger_root": found.root,
                            **analysis.data(), "hypotheses": [], "refused": [], "follow_ups": []}  # fmt: skip
    if not as_json:
        _print(data)
    if analysis.insights and (follow_up or out):
        folder = out or default_folder(f"{run_folder.name}-analysis")
        chosen = analysis.insights[:most]
        paths, data["refused"] = _write(chosen, site, folder)
        data["hypotheses"] = [str(p) for p in paths]
        write_file(folder / "insights.json", json.dumps(data, indent=2) + "\n")
        if not as_json:
            for what in data["refused"]:
                _out.print(what, style="yellow", markup=False, soft_wrap=True)
            _out.print(f"\nhypotheses written: {', '.join(map(str, paths))}", markup=False, soft_wrap=True)
        if follow_up:
            data["follow_ups"] = [_run(path, folder / path.stem, device, as_json) for path in paths]
    if as_json:
        print_json(data)
    raise typer.Exit(exit_code(*(study["status"] for study in data["follow_ups"])))


def _write(insights: Sequence[Insight], site: Site, folder: Path) -> tuple[list[Path], list[str]]:
    """The hypothesis files, and why some insights have none. It is an error if no insight has one."""
    from kernellab.studies.mine.follow_up import hypothesis_of, write_follow_up

    paths, refused = [], []
    for number, insight in enumerate(insights, 1):
        try:
            paths.append(write_follow_up(hypothesis_of(insight, number, site), site, folder))
        except UsageError as error:
            refused.append(error.what)
            if len(refused) == len(insights):
                raise
    return paths, refused


def _run(path: Path, folder: Path, device: str | None, as_json: bool) -> dict[str, Any]:
    from kernellab.core.settings import load_settings
    from kernellab.studies.conduct import run_study

    with make_display(_out, quiet=as_json) as display:
        report = run_study(path, load_settings({"device": device}), folder, (), display)
    if not as_json:
        verdict = report.verdict
        _out.print(f"{verdict.id} {verdict.verdict}: {report.hypothesis.claim} {verdict.reason}",
                   markup=False, soft_wrap=True)  # fmt: skip
    return report.data()


def _print(data: dict[str, Any]) -> None:
    head = f"{data['kernels']} kernels, {data['tested']} comparisons with {data['least_pairs']} matched pairs or more"
    _out.print(f"{head}; correction: {data['correction']}, rate {100 * data['rate']:g} %", markup=False, soft_wrap=True)
    if not data["insights"]:
        _out.print("no pattern has enough evidence", markup=False)
    for insight in data["insights"]:
        _out.print(Text(f"\n{insight['claim']}", "bold"), soft_wrap=True)
        share = insight["importance"]
        weight = f", importance {share:.2f} ({insight['importance_by']})" if share is not None else ""
        trials = insight["trials"]
        named = ", ".join(map(str, trials[:12])) + (f" and {len(trials) - 12} more" if len(trials) > 12 else "")
        _out.print(
            Text(f"  n={insight['n']} pairs, adjusted p {insight['p_adjusted']:.3g}{weight}; {insight['caveat']}"),
            soft_wrap=True,
        )
        _out.print(Text(f"  trials {named}"), soft_wrap=True)
