"""`klab show`: what a run holds, or one trial of it in full."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from kernellab.cli import pages
from kernellab.cli.display import confirmation_line, pairs_of, results_table, trial_line
from kernellab.cli.options import Json
from kernellab.core.errors import EXIT_ENVIRONMENT, LedgerFault, UsageError
from kernellab.core.records import AnyTrial, Confirmation, dump

if TYPE_CHECKING:
    from kernellab.ledger.check import LedgerCheck

_out = Console(highlight=False)
_KEPT = ("profile", "sanitizer", "experiment")


@dataclass(frozen=True)
class _Held:
    """What a run's ledger holds. `results`: the last one for each shape; `study`: the folder holds one; `code` and
    `version`: of the laboratory that began it, empty where it did not say."""

    trials: list[AnyTrial]
    confirmations: dict[int, Confirmation]
    results: list[dict[str, Any]]
    kept: dict[str, list[dict[str, Any]]]
    study: bool
    code: str = ""
    version: str = ""

    @property
    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(str(t.status) for t in self.trials).items()))

    def chosen(self, status: str | None) -> list[AnyTrial]:
        if status is not None and status not in self.counts:
            raise UsageError(f"no trial of this run is '{status}'", f"it has: {', '.join(self.counts) or 'no trials'}")
        return [t for t in self.trials if status in (None, t.status)]


def show(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    trial: Annotated[int | None, typer.Option(help="One trial in full.")] = None,
    status: Annotated[str | None, typer.Option(help="Only trials with this status, e.g. rejected.")] = None,
    as_json: Json = False,
) -> None:
    """What a run holds: results, trials, which are confirmed, rejections and why, and what came of a scientist's
    experiments or of a study."""
    overview(_out, pages.existing(run_folder), status, as_json, trial)


def overview(
    console: Console, folder: Path, status: str | None = None, as_json: bool = False, trial: int | None = None
) -> None:
    """A record that was changed is shown as far as it can be read, and never without saying so."""
    from kernellab.ledger.check import check
    from kernellab.search.archive import well_formed

    found = check(folder)
    try:
        held = _read(folder)
        with well_formed(folder):
            data = _data(held, status) if trial is None else _trial_data(folder, held, trial)
            with console.capture() as page:
                _page(console, folder, held, status) if trial is None else _trial_page(console, held, trial, data)
    except LedgerFault as fault:
        if not found.problems:
            raise
        _nothing(console, folder, found, fault, as_json)
    if as_json:
        pages.print_json({**pages.soundness(found), **data})
        return
    console.file.write(page.get())
    if trial is None:
        state = "" if found.ended else " (not ended)"
        console.print(f"run {found.run}, {found.size} entries, root {found.root}{state}", soft_wrap=True)
        made = f"kernellab {held.version}, code {held.code[:16]}" if held.code else "code that is not named"
        console.print(f"made by {made}", markup=False, soft_wrap=True)
    pages.not_sound(console, folder, found)


def _nothing(console: Console, folder: Path, found: LedgerCheck, fault: LedgerFault, as_json: bool) -> NoReturn:
    """Of a record that was changed until it cannot be read, only that is told."""
    if as_json:
        pages.print_json({**pages.soundness(found), "reason": fault.what})
    else:
        console.print(fault.what, markup=False, soft_wrap=True)
        pages.not_sound(console, folder, found)
    raise typer.Exit(EXIT_ENVIRONMENT)


def _read(folder: Path) -> _Held:
    from kernellab.ledger.entry import GENESIS
    from kernellab.ledger.journal import read_entries
    from kernellab.search.archive import Archive, well_formed
    from kernellab.study.register import STUDY

    archive = Archive.read(folder)
    bodies: dict[str, list[dict[str, Any]]] = {}
    for entry in read_entries(folder):
        bodies.setdefault(entry.kind, []).append(dict(entry.body))
    with well_formed(folder):
        results = list({str(body["dims"]): body for body in bodies.get("result", [])}.values())
    confirmations = {c.trial: c for c in archive.confirmations}
    environment = bodies.get(GENESIS, [{}])[0].get("environment") or {}
    code, version = str(environment.get("code", "")), str(environment.get("packages", {}).get("kernellab", ""))
    kept = {k: bodies.get(k, []) for k in _KEPT}
    return _Held(archive.trials, confirmations, results, kept, STUDY in bodies, code, version)


def _data(held: _Held, status: str | None) -> dict[str, Any]:
    brief = [{k: v for k, v in dump(t).items() if k not in ("timing", "artifact")} for t in held.chosen(status)]
    return {
        "code": held.code,
        "counts": held.counts,
        "results": held.results,
        "confirmations": [{"trial": c.trial, **pairs_of(c)} for c in held.confirmations.values()],
        "confirmed": [number for number, c in held.confirmations.items() if c.verdict.status == "passed"],
        "trials": brief,
        "profiles": held.kept["profile"],
        "sanitizer": held.kept["sanitizer"],
        "experiments": held.kept["experiment"],
    }


def _trial_data(folder: Path, held: _Held, number: int) -> dict[str, Any]:
    from kernellab.ledger.store import Store

    if not 0 <= number < len(held.trials):
        raise UsageError(f"there is no trial {number}", f"the run has {len(held.trials)}")
    trial = held.trials[number]
    confirmation = held.confirmations.get(number)
    facts = {"confirmation": dump(confirmation)} if confirmation else {}
    return {"trial": dump(trial), **facts, "source": Store(folder).get(trial.proposal.source).decode(errors="replace")}


def _trial_page(console: Console, held: _Held, number: int, data: dict[str, Any]) -> None:
    confirmation = held.confirmations.get(number)
    console.print(trial_line(held.trials[number], confirmation), soft_wrap=True)
    if confirmation is not None:
        console.print(confirmation_line(confirmation), markup=False, soft_wrap=True)
    if (artifact := getattr(held.trials[number], "artifact", None)) is not None:
        pages.abilities(console, artifact)
    console.print_json(json.dumps(data["trial"]))
    console.print(data["source"], markup=False, soft_wrap=True)


def _page(console: Console, folder: Path, held: _Held, status: str | None) -> None:
    for trial in held.chosen(status):
        console.print(trial_line(trial, held.confirmations.get(trial.trial)), soft_wrap=True)
    console.print()
    if held.study:
        from kernellab.cli.study import outcome

        outcome(console, folder)
    _experiments(console, held.kept["experiment"])
    if held.results:
        console.print(results_table(held.results, console.width >= 130, numbered=True))
    pages.profiles(console, held.kept["profile"])
    for body in held.kept["sanitizer"]:
        console.print(pages.sanitizer_line(body.get("reason") or body), markup=False, soft_wrap=True)
    numbers = ", ".join(f"{count} {name}" for name, count in held.counts.items()) or "no trials"
    console.print(f"\n{numbers}")


def _experiments(console: Console, tested: list[dict[str, Any]]) -> None:
    """A scientist's hypotheses and what the numbers said."""
    for body in tested:
        claim = body["experiment"]["hypothesis"] if body["experiment"] else f"a first kernel ({body['purpose']})"
        trials = f" trials {', '.join(map(str, body['trials']))}" if body["trials"] else ""
        console.print(f"{body['verdict']:9} {claim}", markup=False, soft_wrap=True)
        console.print(f"{'':9} {body['reason']};{trials or ' never tried'}", markup=False, soft_wrap=True, style="dim")
    if tested:
        console.print()
