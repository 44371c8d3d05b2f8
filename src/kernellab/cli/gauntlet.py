"""`klab doctor --gauntlet`: cheating and honest kernels through the judge, with what is going on while it takes minutes."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from kernellab.cli.pages import print_json
from kernellab.core.errors import UsageError
from kernellab.core.events import Event, Listener
from kernellab.core.settings import Settings
from kernellab.measurement.escape import SHARES, checks_of, escape_probability
from kernellab.search.gauntlet import BUSY, Row, collect, run_gauntlet, runnable, sample, summary


@dataclass(frozen=True)
class Choice:
    """Which files: further folders, with the shipped ones or without; `count` of them by chance, or all (0)."""

    cheats: list[Path]
    honest: list[Path]
    builtin: bool = True
    count: int = 0
    seed: int | None = None


def gauntlet(console: Console, side: Console, settings: Settings, choice: Choice, as_json: bool) -> bool:
    """Whether no cheat was missed and no honest kernel refused. With JSON, `side` tells how far it is: the last line of
    standard output stays the JSON object."""
    given = collect(choice.cheats, choice.honest, choice.builtin)
    entries = runnable(given, settings)
    left_out = len(given) - len(entries)
    drawn: dict[str, int] = {}
    if choice.count:
        drawn = {"sample": choice.count, "seed": secrets.randbits(32) if choice.seed is None else choice.seed}
        entries = sample(entries, choice.count, drawn["seed"])
    elif choice.seed is not None:
        raise UsageError("--seed is for a sample, and no sample was asked for", "add --sample N, or leave --seed out")
    shown = side if as_json else console
    if drawn:
        shown.print(f"{len(entries)} files drawn with --seed {drawn['seed']}")
    with told(shown, len(entries)) as emit:
        rows = run_gauntlet(entries, settings, emit)
    facts = {**summary(rows), "left_out": left_out + len(entries) - len(rows), **drawn}
    if as_json:
        status = "failed" if any(r.wrong for r in rows) else "ok"
        print_json({"status": status, "rows": [asdict(r) for r in rows], **facts, "escape": escape(settings)})
    else:
        _page(console, rows, facts, settings)
    return not any(r.wrong for r in rows)


def escape(settings: Settings) -> dict[str, Any]:
    """The probabilities that a gambler gets through one confirmation, by the share of its calls that are wrong."""
    checks = checks_of(settings.profile)
    probabilities = {str(Fraction(share)): escape_probability(share, checks) for share in SHARES}
    return {"effort": settings.effort, "checks": checks, "probability": probabilities}


@contextmanager
def told(console: Console, total: int) -> Iterator[Listener]:
    """One line that moves on a terminal, where only what went wrong stays; a line for every file elsewhere."""
    if not console.is_terminal:
        count = iter(range(1, total + 1))
        yield lambda event: _print(console, event.data["row"], f"[{next(count):4}/{total}] ")
        return
    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=total)

        def advance(event: Event) -> None:
            row: Row = event.data["row"]
            if row.wrong or row.status == BUSY:
                _print(progress.console, row)
            progress.update(bar, advance=1, description=f"{row.name:.38}: {row.cause or row.status}")

        yield advance


def _print(console: Console, row: Row, place: str = "") -> None:
    console.print(
        Text.assemble(place, _mark(row), f" {row.kind:7}{row.name:38.38} {row.status}: {row.cause} {row.reason}"),
        overflow="ellipsis",
        no_wrap=True,
    )


def _mark(row: Row) -> Text:
    if row.status == BUSY:
        return Text("busy ", "yellow")
    return Text("WRONG", "bold red") if row.wrong else Text("ok   ", "green")


def _page(console: Console, rows: list[Row], facts: dict[str, Any], settings: Settings) -> None:
    table = Table(show_edge=False, pad_edge=False)
    for name in ("caught", "missed", "honest passed", "false alarms", "busy"):
        table.add_column(name, justify="right")
    passed = facts["honest"] - facts["false_alarms"]
    table.add_row(*(str(n) for n in (facts["caught"], facts["missed"], passed, facts["false_alarms"], facts["busy"])))
    console.print(table)
    if facts["busy"]:
        names = ", ".join(r.name for r in rows if r.status == BUSY)
        console.print(f"the machine was too busy to tell: {names}", soft_wrap=True)
    if facts["left_out"]:
        console.print(f"{facts['left_out']} more need a GPU, or the compilers for one, to be decided")
    found = escape(settings)
    odds = ", ".join(f"{probability:.2g} (share {share})" for share, probability in found["probability"].items())
    text = f"a kernel that is wrong in a share of its calls escapes a confirmation at effort {found['effort']}"
    console.print(f"{text} ({found['checks']} checks at the least) with probability {odds}", soft_wrap=True)
