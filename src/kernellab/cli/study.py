"""klab study: hypotheses that are registered before their first trial, and the verdicts that the rule gives on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernellab.cli.options import Compiler, Device, Events, Json, Out, SandboxTier, Target, Threads, Track
from kernellab.cli.pages import existing, not_sound, print_json, soundness
from kernellab.cli.run import watch
from kernellab.cli.screen import Screen
from kernellab.core.errors import EXIT_NOTHING_BETTER, EXIT_NOTHING_VERIFIED, KlabError, LedgerFault, UsageError
from kernellab.core.files import write_file
from kernellab.core.records import dump
from kernellab.core.settings import load_settings

if TYPE_CHECKING:
    from kernellab.studies.conduct import Report
    from kernellab.studies.hypothesis import Hypothesis
    from kernellab.studies.judgement import StudyVerdict
    from kernellab.studies.register import Registered

study = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Hypotheses: write one down, register it, test it by its rule."
)
_out = Screen()
_EXIT = {"confirmed": 0, "rejected": EXIT_NOTHING_BETTER, "inconclusive": EXIT_NOTHING_VERIFIED}
_STYLE = {"confirmed": "bold green", "rejected": "bold red", "inconclusive": "bold yellow"}
Name = Annotated[str, typer.Argument(help="A shipped hypothesis (H1, ...) or the path of a file.")]


@study.command()
def new(
    name: Annotated[str, typer.Argument(help="The name of your hypothesis.")],
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    as_json: Json = False,
) -> None:
    """Write a commented hypothesis of your own that runs as it is."""
    from kernellab.studies.hypothesis import ID
    from kernellab.studies.library import template

    stem = name.removesuffix(".toml")
    if not ID.fullmatch(Path(stem).name):
        raise UsageError(
            f"'{name}' cannot name a hypothesis",
            "use letters, digits, '-' and '_' (40 at most), starting with a letter",
        )
    if not Path(stem).parent.is_dir():
        raise UsageError(f"there is no folder {Path(stem).parent}", "make it first, or give another name")
    path = Path(f"{stem}.toml")
    if path.exists() and not force:
        raise UsageError(f"{path} exists already", "choose another name, or --force to overwrite it")
    write_file(path, template(Path(stem).name))
    if as_json:
        print_json({"status": "written", "file": str(path)})
    else:
        _out.print(f"wrote {path}; test it with: klab study run {path}", markup=False)


@study.command()
def run(
    name: Name,
    other: Annotated[
        list[Path] | None, typer.Option(help="The run of another device or target to compare with.")
    ] = None,
    device: Device = None,
    threads: Threads = None,
    compiler: Compiler = None,
    target: Target = None,
    sandbox: SandboxTier = None,
    track: Track = None,
    out: Out = None,
    events: Events = False,
    as_json: Json = False,
) -> None:
    """Register a hypothesis and run its trials. Exit code 0: confirmed, 3: rejected, 4: inconclusive."""
    from kernellab.search.outcome import default_folder
    from kernellab.studies.conduct import run_study
    from kernellab.studies.library import find

    path = find(name)
    settings = load_settings(
        {"device": device, "threads": threads, "compiler": compiler, "target": target, "sandbox": sandbox}
    )
    folder = out or default_folder(path.stem)
    others = [existing(o) for o in other or []]
    report = watch(as_json, lambda listener: run_study(path, settings, folder, others, listener), track, events)
    finish(report, as_json)


def resume(folder: Path, as_json: bool, track: str | None = None, events: bool = False) -> None:
    """Go on with a study that was interrupted: what 'klab resume' does for one."""
    from kernellab.studies.conduct import resume_study

    finish(watch(as_json, lambda listener: resume_study(folder, listener), track, events), as_json)


def is_study(folder: Path) -> bool:
    from kernellab.ledger.run import Run
    from kernellab.studies.register import PURPOSE

    return Run(folder).purpose == PURPOSE


def exit_code(*verdicts: str) -> int:
    """The exit code of the study that went worst; 0 without studies."""
    return max((_EXIT[verdict] for verdict in verdicts), default=0)


def finish(report: Report, as_json: bool) -> None:
    if as_json:
        print_json(report.data())
    else:
        _out.print()
        _verdict(_out, report.hypothesis, report.verdict)
        _out.print(f"\nledger root {report.ledger_root}\nrun folder  {report.folder}   (klab study show, klab audit)",
                   markup=False, soft_wrap=True)  # fmt: skip
    raise typer.Exit(exit_code(report.verdict.verdict))


@study.command()
def show(
    name: Annotated[str, typer.Argument(help="A hypothesis, its file, or the folder of a study.")],
    as_json: Json = False,
) -> None:
    """A hypothesis in words; of a study's folder, what was registered and what came of it."""
    from kernellab.studies.library import find, read

    if Path(name).is_dir():
        _show_folder(Path(name), as_json)
        return
    hypothesis = read(find(name))
    print_json(_shown(hypothesis, None, "not registered")) if as_json else _hypothesis(hypothesis)


def _show_folder(folder: Path, as_json: bool) -> None:
    from kernellab.ledger.check import check

    sound = check(folder)
    try:
        found = _registered(folder)
    except KlabError as fault:
        if not sound.problems:
            raise
        told = f"{fault.what}; {sound.problems[0]}"
        raise LedgerFault(f"NOT SOUND: {told}", f"see what was changed: klab audit {folder}") from None
    hypothesis, verdict, earlier = found
    if as_json:
        state = "unsound" if sound.problems else verdict.verdict if verdict else "registered"
        print_json({**soundness(sound), **_shown(hypothesis, verdict, state), "earlier": earlier})
        return
    _hypothesis(hypothesis)
    _out.print()
    _outcome(_out, hypothesis, verdict, earlier)
    not_sound(_out, folder, sound)


def _registered(folder: Path) -> tuple[Hypothesis, StudyVerdict | None, list[str]]:
    """The hypothesis, its verdict, and what the same key had registered under its id before."""
    from kernellab.ledger.run import well_formed
    from kernellab.studies.register import read_study

    with well_formed(folder):
        found = read_study(folder)
    if found.hypothesis is None:
        raise UsageError(f"{folder} holds no study", "'klab show RUN' shows other runs")
    return found.hypothesis, found.verdict, found.registration.earlier if found.registration else []


def _shown(hypothesis: Hypothesis, verdict: StudyVerdict | None, state: str) -> dict[str, Any]:
    judged = dump(verdict) if verdict else None
    return {"status": state, "digest": hypothesis.digest, "hypothesis": hypothesis.content(), "verdict": judged}


def outcome(console: Console, folder: Path) -> None:
    """What came of a study, as 'klab show' tells it."""
    _outcome(console, *_registered(folder))


def _outcome(console: Console, hypothesis: Hypothesis, verdict: StudyVerdict | None, earlier: Sequence[str]) -> None:
    if earlier:
        text = f"{hypothesis.id} was registered before with the same key: {'; '.join(earlier)}"
        console.print(text, style="yellow", markup=False, soft_wrap=True)
    if verdict is None:
        console.print(f"{hypothesis.id} has no verdict yet", style="yellow", markup=False, soft_wrap=True)
    else:
        _verdict(console, hypothesis, verdict)


@study.command("list")
def list_(
    folders: Annotated[list[Path] | None, typer.Argument(metavar="[RUN]...", help="Study folders to list too.")] = None,
    as_json: Json = False,
) -> None:
    """The shipped hypotheses, the statistics there are, and the verdicts of the given studies."""
    from kernellab.studies.library import read, shipped
    from kernellab.studies.statistics import STATISTICS

    known = [read(path) for path in shipped().values()]
    studies = [(folder, _listed(existing(folder))) for folder in folders or []]
    if as_json:
        print_json({"status": "ok", "hypotheses": [_brief(h) for h in known],
                    "statistics": {name: s.about for name, s in STATISTICS.items()},
                    "studies": [{"run": str(f), **_state(s.hypothesis, s.verdict)} for f, s in studies]})  # fmt: skip
        return
    _rows([(h.id, Text(_devices(h)), Text(h.claim)) for h in known])
    _out.print("\nstatistics")
    _rows([(f"  {name}", Text(s.about)) for name, s in STATISTICS.items()])
    for folder, found in studies:
        if found.hypothesis is not None:
            state = found.verdict.verdict if found.verdict else "not finished"
            _out.print(f"\n{folder}: {found.hypothesis.id} {state}", markup=False, soft_wrap=True)


def _listed(folder: Path) -> Registered:
    """Refuses a study that does not verify."""
    from kernellab.ledger.check import require_sound
    from kernellab.ledger.run import well_formed
    from kernellab.studies.register import read_study

    require_sound(folder)
    with well_formed(folder):
        return read_study(folder)


def _brief(h: Hypothesis) -> dict[str, Any]:
    return {"id": h.id, "title": h.title, "claim": h.claim, "devices": _devices(h).split(", "), "digest": h.digest}


def _state(hypothesis: Hypothesis | None, verdict: StudyVerdict | None) -> dict[str, Any]:
    return {"id": hypothesis.id if hypothesis else None, "verdict": verdict.verdict if verdict else None}


def _devices(hypothesis: Hypothesis) -> str:
    return ", ".join(sorted({p.device for p in hypothesis.population}))


def _rows(rows: list[tuple[str | Text, ...]]) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        grid.add_row(*row)
    _out.print(grid)


def _hypothesis(h: Hypothesis) -> None:
    _out.print(Text.assemble((f"{h.id}  {h.title}", "bold")))
    rows: list[tuple[str | Text, ...]] = [("claim", Text(h.claim))]
    rows += [("why", Text(h.why))] if h.why else []
    for p in h.population:
        of = f"{', '.join(p.tasks)} {' '.join(p.dtypes)} at {', '.join(p.shapes)}".replace("  ", " ")
        rows.append((p.device, Text(f"{of}; {', '.join(p.candidates) or 'every built-in recipe'}")))
    for part in h.part:
        rows.append((part.name, Text(f"{part.prediction} ({part.statistic}: {part.rule.words(h.level)})")))
    rows.append(
        ("sample", Text(f"at least {h.sample} values; seeds {', '.join(map(str, h.seeds))}; effort {h.effort}"))
    )
    rows.append(("digest", Text(h.digest)))
    _rows(rows)


def _verdict(console: Console, h: Hypothesis, verdict: StudyVerdict) -> None:
    console.print(Text.assemble((f"{h.id} {verdict.verdict}", _STYLE[verdict.verdict]), f"  {h.claim}"), soft_wrap=True)
    for part in verdict.parts:
        state = part.verdict if part.testable else "-"
        console.print(Text(f"  {part.name}: {state}; {part.reason}"), soft_wrap=True)
    console.print(Text(f"  evidence: {_span(verdict.trials)}"), soft_wrap=True)


def _span(trials: list[int]) -> str:
    if not trials:
        return "no trials"
    whole = trials == list(range(trials[0], trials[-1] + 1)) and len(trials) > 2
    return f"trials {trials[0]} to {trials[-1]}" if whole else f"trials {', '.join(map(str, trials))}"
