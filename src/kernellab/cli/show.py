"""`klab show`: what a run holds, or one trial of it in full."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from kernellab.cli import pages
from kernellab.cli.display import results_table, trial_line
from kernellab.cli.options import Json
from kernellab.core.errors import UsageError
from kernellab.core.records import AnyTrial, dump

_out = Console(highlight=False)


def show(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    trial: Annotated[int | None, typer.Option(help="One trial in full.")] = None,
    status: Annotated[str | None, typer.Option(help="Only trials with this status, e.g. rejected.")] = None,
    as_json: Json = False,
) -> None:
    """What a run holds: results, trials, rejections and why, and a scientist's experiments with their verdicts."""
    from kernellab.search.replay import read_trials

    folder = pages.existing(run_folder)
    trials = read_trials(folder)
    if trial is not None:
        _one(folder, trials, trial, as_json)
    else:
        overview(_out, folder, trials, status, as_json)


def _one(folder: Path, trials: list[AnyTrial], number: int, as_json: bool) -> None:
    from kernellab.ledger.check import check
    from kernellab.ledger.store import Store

    if not 0 <= number < len(trials):
        raise UsageError(f"there is no trial {number}", f"the run has {len(trials)}")
    source = Store(folder).get(trials[number].proposal.source).decode()
    record = dump(trials[number])
    if as_json:
        pages.print_json({"status": "ok", "trial": record, "source": source, "ledger_root": check(folder).root})
        return
    _out.print(trial_line(trials[number]))
    _out.print_json(json.dumps(record))
    _out.print(source, markup=False, soft_wrap=True)


def overview(console: Console, folder: Path, trials: list[AnyTrial], status: str | None, as_json: bool) -> None:
    from kernellab.ledger.check import check
    from kernellab.ledger.index import count_by_status, open_index
    from kernellab.ledger.journal import read_entries

    found = check(folder)
    index = open_index(folder)
    counts = count_by_status(index)
    index.close()
    if status is not None and status not in counts:
        raise UsageError(f"no trial of this run is '{status}'", f"it has: {', '.join(counts) or 'no trials'}")
    trials = [t for t in trials if status in (None, t.status)]
    entries = list(read_entries(folder))
    results = list({str(e.body["dims"]): dict(e.body) for e in entries if e.kind == "result"}.values())
    kept = {k: [dict(e.body) for e in entries if e.kind == k] for k in ("profile", "sanitizer", "experiment")}
    if as_json:
        brief = [{k: v for k, v in dump(t).items() if k not in ("timing", "artifact")} for t in trials]
        pages.print_json(
            {
                "status": "unsound" if found.problems else "ok",
                "problems": found.problems,
                "run": found.run,
                "ended": found.ended,
                "counts": counts,
                "results": results,
                "trials": brief,
                "profiles": kept["profile"],
                "sanitizer": kept["sanitizer"],
                "experiments": kept["experiment"],
                "ledger_root": found.root,
            }
        )
        return
    for trial in trials:
        console.print(trial_line(trial), soft_wrap=True)
    console.print()
    if kept["experiment"]:
        _experiments(console, kept["experiment"])
    if results:
        console.print(results_table(results, console.width >= 130))
    pages.profiles(console, kept["profile"])
    for body in kept["sanitizer"]:
        console.print(pages.sanitizer_line(body.get("reason") or body), markup=False, soft_wrap=True)
    numbers = ", ".join(f"{count} {name}" for name, count in counts.items()) or "no trials"
    state = "" if found.ended else " (not ended)"
    console.print(f"\n{numbers}\nrun {found.run}, {found.size} entries, root {found.root}{state}", soft_wrap=True)
    if found.problems:
        text = f"NOT SOUND: {found.problems[0]} (klab audit {folder} says more)"
        console.print(text, style="bold red", markup=False, soft_wrap=True)


def _experiments(console: Console, tested: list[dict[str, Any]]) -> None:
    """A scientist's hypotheses and what the numbers said."""
    for body in tested:
        claim = body["experiment"]["hypothesis"] if body["experiment"] else f"a first kernel ({body['purpose']})"
        trials = f" trials {', '.join(map(str, body['trials']))}" if body["trials"] else ""
        console.print(f"{body['verdict']:9} {claim}", markup=False, soft_wrap=True)
        console.print(f"{'':9} {body['reason']};{trials or ' never tried'}", markup=False, soft_wrap=True, style="dim")
    console.print()
