"""`klab show`: what a run holds, or one trial of it in full; with --watch, a run as it grows."""

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
from kernellab.cli.screen import Screen, counted
from kernellab.core.errors import EXIT_ENVIRONMENT, LedgerFault, UsageError
from kernellab.core.records import AnyTrial, Confirmation, FailedTrial, dump

if TYPE_CHECKING:
    from kernellab.learn.summary import RewardSummary
    from kernellab.ledger.check import LedgerCheck
    from kernellab.ledger.records import Environment
    from kernellab.ledger.run import Run
    from kernellab.search.scientist.notebook import Tested

_out = Screen()


@dataclass(frozen=True)
class _Held:
    """What a run's ledger holds."""

    run: Run
    confirmations: dict[int, Confirmation]
    tested: list[Tested]
    study: bool

    @property
    def environment(self) -> Environment:
        """The machine and software that began the run."""
        return self.run.start.environment

    @property
    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(str(t.status) for t in self.run.trials).items()))

    def chosen(self, status: str | None) -> list[AnyTrial]:
        if status is not None and status not in self.counts:
            raise UsageError(f"no trial of this run is '{status}'", f"it has: {', '.join(self.counts) or 'no trials'}")
        return [t for t in self.run.trials if status in (None, t.status)]


def show(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    trial: Annotated[int | None, typer.Option(help="One trial in full.")] = None,
    status: Annotated[str | None, typer.Option(help="Only trials with this status, e.g. rejected.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow a run in progress until it ends.")] = False,
    as_json: Json = False,
) -> None:
    """What a run holds: results, trials, which are confirmed, rejections and why, and what came of a scientist's
    experiments or of a study. Of a suite, what came of each task, in short."""
    from kernellab.cli.suite import brief
    from kernellab.suite.folder import is_suite

    folder = pages.existing(run_folder)
    if watch:
        _watch(folder, as_json)
    if not is_suite(folder):
        overview(_out, folder, status, as_json, trial, told=watch)
        return
    if trial is not None or status is not None:
        raise UsageError(
            f"{folder} is a suite: its trials are in its runs", f"'klab show {folder}/runs/NAME' shows one"
        )
    brief(folder, as_json)


def _watch(folder: Path, as_json: bool) -> None:
    """Until it ends. Whoever stops watching stops nothing else."""
    from kernellab.cli.follow import follow

    try:
        if follow(_out, folder, quiet=as_json):
            return
    except KeyboardInterrupt:
        _out.print(f"\nno longer watched; the run goes on: klab show {folder} --watch", markup=False, soft_wrap=True)
        raise typer.Exit(0) from None
    raise LedgerFault(
        f"{folder} has not ended, and nobody writes to it any more", f"'klab resume {folder}' goes on with it"
    )


def overview(
    console: Console, folder: Path, status: str | None = None, as_json: bool = False, trial: int | None = None,
    told: bool = False,
) -> None:  # fmt: skip
    """A record that was changed is shown as far as it can be read, and never without saying so. `told`: the trials were
    shown one by one before."""
    from kernellab.ledger.check import check
    from kernellab.ledger.run import well_formed

    found = check(folder)
    try:
        held = _read(folder)
        with well_formed(folder):
            data = _data(held, status) if trial is None else _trial_data(held, trial)
            with console.capture() as page:
                _page(console, folder, held, status, told) if trial is None else _trial_page(console, held, trial, data)
    except LedgerFault as fault:
        if not found.problems:
            raise
        _nothing(console, folder, found, fault, as_json)
    if as_json:
        pages.print_json({**pages.soundness(found), **data})
    else:
        _print(console, folder, found, held if trial is None else None, page.get())
    if found.problems:
        raise typer.Exit(EXIT_ENVIRONMENT)


def _print(console: Console, folder: Path, found: LedgerCheck, held: _Held | None, page: str) -> None:
    console.file.write(page)
    if held is not None:
        state = "" if found.ended else " (not ended)"
        console.print(
            f"run {found.run}, {counted(found.size, 'entry', 'entries')}, root {found.root}{state}",
            soft_wrap=True,
        )
        by = held.environment
        made = f"kernellab {by.version}, code {by.code[:16]}" if by.code else "code that is not named"
        console.print(f"made by {made}", markup=False, soft_wrap=True)
    pages.not_sound(console, folder, found)


def _nothing(console: Console, folder: Path, found: LedgerCheck, fault: LedgerFault, as_json: bool) -> NoReturn:
    """Of a record that was changed and cannot be read, say only that."""
    if as_json:
        pages.print_json({**pages.soundness(found), "reason": fault.what})
    else:
        console.print(fault.what, markup=False, soft_wrap=True)
        pages.not_sound(console, folder, found)
    raise typer.Exit(EXIT_ENVIRONMENT)


def _read(folder: Path) -> _Held:
    from kernellab.ledger.run import Run
    from kernellab.search.scientist.notebook import TESTED
    from kernellab.studies.registration import STUDY

    run = Run(folder)
    confirmations = {c.trial: c for c in run.confirmations}
    return _Held(run, confirmations, run.records(TESTED), run.count(STUDY) > 0)


def _data(held: _Held, status: str | None) -> dict[str, Any]:
    from kernellab.ledger import kinds
    from kernellab.search.result import plain
    from kernellab.search.scientist.notebook import TESTED

    brief = [{k: v for k, v in dump(t).items() if k not in ("timing", "artifact")} for t in held.chosen(status)]
    return {
        "code": held.environment.code,
        "counts": held.counts,
        "results": [plain(r) for r in held.run.results],
        "confirmations": [{"trial": c.trial, **pairs_of(c)} for c in held.confirmations.values()],
        "confirmed": [number for number, c in held.confirmations.items() if c.verdict.status == "passed"],
        "trials": brief,
        "profiles": [kinds.PROFILE.plain(r) for r in held.run.records(kinds.PROFILE)],
        "sanitizer": [kinds.SANITIZER.plain(r) for r in held.run.records(kinds.SANITIZER)],
        "experiments": [TESTED.plain(t) for t in held.tested],
        **({"rewards": rewards.data()} if (rewards := _rewards(held.run)) is not None else {}),
    }


def _trial_data(held: _Held, number: int) -> dict[str, Any]:
    trial = held.run.trial(number)
    confirmation = held.confirmations.get(number)
    facts = {"confirmation": dump(confirmation)} if confirmation else {}
    return {"trial": dump(trial), **facts, "source": held.run.source(trial)}


def _why_not(run: Run, confirmation: Confirmation) -> str:
    """What keeps it from being a win, by the calibration that it was held against."""
    from kernellab.measurement.winning import why_no_win

    held = [c for c in run.calibrations if (c.task, c.dims) == (confirmation.task, confirmation.dims)]
    if not held or confirmation.timing is None:
        return ""
    return why_no_win(confirmation.timing, held[-1], run.start.settings.win_floor)


def _trial_page(console: Console, held: _Held, number: int, data: dict[str, Any]) -> None:
    trial, confirmation = held.run.trial(number), held.confirmations.get(number)
    console.print(trial_line(trial, confirmation), soft_wrap=True)
    if confirmation is not None:
        console.print(confirmation_line(confirmation, _why_not(held.run, confirmation)), markup=False, soft_wrap=True)
    if not isinstance(trial, FailedTrial):
        pages.abilities(console, trial.artifact)
    console.print_json(json.dumps(data["trial"]))
    console.print(data["source"], markup=False, soft_wrap=True)


def _page(console: Console, folder: Path, held: _Held, status: str | None, told: bool = False) -> None:
    from kernellab.ledger import kinds

    for trial in held.chosen(status) if not told else ():
        console.print(trial_line(trial, held.confirmations.get(trial.trial)), soft_wrap=True)
    console.print()
    if held.study:
        from kernellab.cli.study import outcome

        outcome(console, folder)
    _experiments(console, held.tested)
    if held.run.results:
        console.print(results_table(held.run.results, console.width >= 130, numbered=True))
    for result in held.run.results:
        if result.status != "better":
            console.print(result.reason, markup=False, soft_wrap=True)
    pages.profiles(console, [kinds.PROFILE.plain(r) for r in held.run.records(kinds.PROFILE)])
    for said in held.run.records(kinds.SANITIZER):
        console.print(pages.sanitizer_line(said.reason or kinds.SANITIZER.plain(said)), markup=False, soft_wrap=True)
    numbers = ", ".join(f"{count} {name}" for name, count in held.counts.items()) or "no trials"
    console.print(f"\n{numbers}")
    if (rewards := _rewards(held.run)) is not None:
        console.print(rewards.words, markup=False, soft_wrap=True)


def _rewards(run: Run) -> RewardSummary | None:
    from kernellab.ledger.reward_records import REWARD

    if not run.count(REWARD):
        return None
    from kernellab.learn.summary import summary_of

    return summary_of(run)


def _experiments(console: Console, tested: list[Tested]) -> None:
    """A scientist's hypotheses and what the numbers said."""
    for test in tested:
        claim = test.experiment.hypothesis if test.experiment else f"a first kernel ({test.purpose})"
        trials = f" trials {', '.join(map(str, test.trials))}" if test.trials else ""
        console.print(f"{test.verdict:9} {claim}", markup=False, soft_wrap=True)
        console.print(f"{'':9} {test.reason};{trials or ' never tried'}", markup=False, soft_wrap=True, style="dim")
    if tested:
        console.print()
