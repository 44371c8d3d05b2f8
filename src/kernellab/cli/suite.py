"""klab suite: which problems of a suite are worth a search, a run of all of them, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernellab.cli.display import PlainDisplay, Silent
from kernellab.cli.options import (
    Compiler,
    Contract,
    Device,
    Effort,
    EvalMode,
    Events,
    Json,
    SandboxTier,
    Threads,
    Track,
    named,
    out_option,
)
from kernellab.cli.pages import existing, print_json
from kernellab.cli.run import watch
from kernellab.cli.screen import Screen, counted
from kernellab.core.errors import EXIT_BETTER, EXIT_BUSY, EXIT_NOTHING_BETTER, EXIT_NOTHING_VERIFIED
from kernellab.core.files import write_file
from kernellab.core.settings import Settings, load_settings

if TYPE_CHECKING:
    from kernellab.suite.audit import SuiteAudit
    from kernellab.suite.conduct import SuiteOutcome

suite = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Whole suites of problems: check, run, report.")
_out = Screen()
_WIDE = 200
Name = Annotated[str, typer.Argument(metavar="[SUITE]", help="A suite by its name, as lab.")]
Folder = Annotated[
    Path | None, typer.Option("--path", parser=named, metavar="DIR", help="A folder of problems instead of a name.")
]
Chosen = Annotated[str, typer.Option("--tasks", help="Some of them: 1,3-5, names or patterns as '*norm*'.")]
Csv = Annotated[Path | None, typer.Option("--csv", parser=named, metavar="FILE", help="Write the table as CSV too.")]


@suite.command()
def check(
    name: Name = "",
    path: Folder = None,
    tasks: Chosen = "",
    eval_mode: EvalMode = False,
    precision: Contract = None,
    device: Device = None,
    to_csv: Csv = None,
    as_json: Json = False,
) -> None:
    """The class of every problem (ok, constant, zeros accepted, dropout, broken, ...) with the evidence. Nothing is run."""
    from kernellab.api import module_wishes
    from kernellab.suite.check import check_suite
    from kernellab.suite.tables import CHECK_HEAD, as_csv, check_rows
    from kernellab.tasks.modules.wishes import AS_IT_IS
    from kernellab.tasks.suites.finding import find_suite

    found = find_suite(name, str(path or ""), tasks)
    wishes = module_wishes(eval_mode, precision or "") or AS_IT_IS
    settings = _settled(load_settings({"device": device}))
    with _display(as_json) as display:
        checked = list(check_suite(found, settings.device, wishes, display))
    rows = check_rows(checked)
    if to_csv is not None:
        write_file(to_csv, as_csv(CHECK_HEAD, rows))
    counts: dict[str, int] = {}
    for row in checked:
        counts[row.is_a] = counts.get(row.is_a, 0) + 1
    if as_json:
        problems = [{**c.model_dump(mode="json"), "class": c.is_a, "evidence": c.evidence} for c in checked]
        print_json(
            {"status": "ok", "suite": found.name, "device": settings.device, "classes": counts, "problems": problems}
        )
        return
    _print(CHECK_HEAD, rows)
    _out.print(f"\n{len(checked)} problems: {', '.join(f'{n} {c}' for c, n in counts.items())}", markup=False)


@suite.command()
def run(
    name: Name = "",
    path: Folder = None,
    tasks: Chosen = "",
    sampled: Annotated[
        int | None, typer.Option("--sample", min=1, help="So many of them, drawn by --seed, in that order.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Draws the sample.")] = 0,
    budget_s: Annotated[float, typer.Option("--budget-s", min=0, help="Seconds for all tasks together.")] = 0.0,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials a task.")] = None,
    candidates: Annotated[
        Path | None,
        typer.Option("--candidates", parser=named, metavar="DIR", help="Kernels, NAME.py or NAME/*.py for each task."),
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Each problem's backward too; the report scores the two together.")
    ] = False,
    texts: Annotated[
        bool,
        typer.Option(
            help="Keep the problems' text in their records: exports need it, others may have the rights to it."
        ),
    ] = True,
    eval_mode: EvalMode = False,
    precision: Contract = None,
    effort: Effort = None,
    device: Device = None,
    threads: Threads = None,
    compiler: Compiler = None,
    sandbox: SandboxTier = None,
    track: Track = None,
    out: Annotated[Path | None, out_option("The suite's folder (default: klab-runs/<suite>-<time>).")] = None,
    events: Events = False,
    as_json: Json = False,
) -> None:
    """Run every task of a suite, each in a run of its own, under one signed root. The same --out goes on with it."""
    from kernellab.api import module_wishes
    from kernellab.search.outcome import default_folder
    from kernellab.suite.candidates import candidates_in
    from kernellab.suite.conduct import SuiteRequest, run_suite
    from kernellab.tasks.modules.wishes import AS_IT_IS
    from kernellab.tasks.suites.finding import find_suite, sample
    from kernellab.tasks.suites.pairs import with_backward

    found = find_suite(name, str(path or ""), tasks)
    found = sample(found, sampled, seed) if sampled is not None else found
    whole = find_suite(name, str(path or "")) if candidates else found
    found, whole = (with_backward(found), with_backward(whole)) if pairs else (found, whole)
    known = {p.name for p in whole.problems}
    given = candidates_in(candidates, list(found.problems), known) if candidates else {}
    flags = {"effort": effort, "trials": trials, "device": device, "threads": threads, "compiler": compiler,
             "sandbox": sandbox}  # fmt: skip
    wishes = replace(module_wishes(eval_mode, precision or "") or AS_IT_IS, keep_text=texts)
    asked = SuiteRequest(_settled(load_settings(flags)), wishes, budget_s, pairs, given)
    folder = out or default_folder(f"suite-{found.name}")
    outcome = watch(as_json, lambda listener: run_suite(found, asked, folder, listener), track, events)
    finish(outcome, as_json)


@suite.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER")],
    other: Annotated[Path | None, typer.Argument(metavar="[OTHER]", help="Another run to compare with.")] = None,
    to_csv: Csv = None,
    to_html: Annotated[
        Path | None, typer.Option("--html", parser=named, metavar="FILE", help="Write a page too.")
    ] = None,
    to_markdown: Annotated[
        Path | None, typer.Option("--markdown", parser=named, metavar="FILE", help="Write it as Markdown too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What a suite's runs came to, from their audited records alone; with OTHER, task by task against another run."""
    from kernellab.suite.compare import compare
    from kernellab.suite.score import score_suite
    from kernellab.suite.tables import (
        COMPARED_HEAD,
        SCORE_HEAD,
        TASK_HEAD,
        as_csv,
        as_markdown,
        compared_rows,
        page,
        score_rows,
        summary,
        task_rows,
    )

    score = score_suite(existing(folder))
    comparison = compare(score, score_suite(existing(other))) if other is not None else None
    if to_csv is not None:
        table = (COMPARED_HEAD, compared_rows(comparison)) if comparison else (TASK_HEAD, task_rows(score))
        write_file(to_csv, as_csv(*table))
    if to_html is not None:
        write_file(to_html, page(f"Suite {score.suite}", score, comparison))
    if to_markdown is not None:
        write_file(to_markdown, as_markdown(f"Suite {score.suite}", score))
    if as_json:
        print_json(comparison.data() if comparison else score.data())
        return
    _print(TASK_HEAD, task_rows(score))
    _out.print()
    _print(SCORE_HEAD, score_rows(score))
    for line in summary(score):
        _out.print(line, markup=False, soft_wrap=True)
    if comparison:
        _out.print(f"\ncompared with {comparison.second.folder}", markup=False, soft_wrap=True)
        _print(COMPARED_HEAD, compared_rows(comparison))
        for line in comparison.remarks:
            _out.print(line, style="yellow", markup=False, soft_wrap=True)


def brief(folder: Path, as_json: bool) -> None:
    """A suite in short: what 'klab show' prints of one. 'klab suite report' says the same at length."""
    from kernellab.suite.score import score_suite
    from kernellab.suite.tables import BRIEF_HEAD, SCORE_HEAD, brief_rows, score_rows

    score = score_suite(folder)
    if as_json:
        print_json(score.data())
        return
    _print(BRIEF_HEAD, brief_rows(score))
    _out.print()
    _print(SCORE_HEAD, score_rows(score)[:1])
    left = f", {score.left} tasks are left: klab resume {folder}" if score.left else ""
    _out.print(f"suite {score.suite} on {score.device}, ledger root {score.root}{left}", markup=False, soft_wrap=True)
    _out.print(f"klab suite report {folder}; a single task: klab show {folder}/runs/NAME", markup=False, soft_wrap=True)


def resume(folder: Path, as_json: bool, track: str | None = None, events: bool = False) -> None:
    """Go on with a suite that was interrupted: what 'klab resume' does for one."""
    from kernellab.suite.conduct import resume_suite

    outcome = watch(as_json, lambda listener: resume_suite(folder, listener), track, events)
    finish(outcome, as_json)


def finish(outcome: SuiteOutcome, as_json: bool) -> None:
    """Exit code 0: a task has a faster kernel; 3: none has; 7: the machine was too busy; 4: nothing was verified."""
    kinds = [t.outcome for t in outcome.tasks]
    order = (("better", EXIT_BETTER), ("nothing-better", EXIT_NOTHING_BETTER), ("busy", EXIT_BUSY))
    code = next((code for kind, code in order if kind in kinds), EXIT_NOTHING_VERIFIED)
    if as_json:
        tasks = [t.model_dump(mode="json") for t in outcome.tasks]
        print_json({"status": outcome.status, "tasks": tasks, "left": list(outcome.left), "run": str(outcome.folder),
                    "ledger_root": outcome.root})  # fmt: skip
    else:
        _out.print()
        _print(["task", "outcome", "seconds"], [[t.task, t.outcome, f"{t.seconds:.1f}"] for t in outcome.tasks])
        if outcome.left:
            _out.print(
                f"{len(outcome.left)} tasks are left: klab resume {outcome.folder}", markup=False, soft_wrap=True
            )
        _out.print(f"\nledger root {outcome.root}\nsuite folder {outcome.folder}   (klab suite report, klab audit)",
                   markup=False, soft_wrap=True)  # fmt: skip
    raise typer.Exit(code)


def tell_audit(console: Console, report: SuiteAudit) -> None:
    """A suite's audit for people."""

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, markup=False, soft_wrap=True)

    say("audit passed" if report.ok else "AUDIT FAILED", "bold green" if report.ok else "bold red")
    say(
        f"suite {report.root.run}: {counted(len(report.runs), 'run', 'runs')}, "
        f"{counted(report.trials, 'trial', 'trials')}, {counted(report.figures, 'figure', 'figures')} derived again"
    )
    say(report.root.signer)
    for anchor in report.root.anchors:
        say(anchor["words"])
    say(f"ledger root {report.root.root}")
    if not report.root.ended:
        say("the suite has not ended: 'klab resume' continues it", "yellow")
    for remark in report.remarks:
        say(f"  remark: {remark}", "yellow")
    for problem in report.problems:
        say(f"  - {problem}", "red")


def _settled(settings: Settings) -> Settings:
    """The device of the whole suite: an accelerator where there is one, unless another is asked for."""
    from kernellab.targets.choose import settle_device

    return settle_device(settings)


def _display(as_json: bool) -> Silent:
    return Silent() if as_json else PlainDisplay(_out)


def _print(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The last column is folded where it is long; a file or a pipe has room for the others."""
    table = Table(show_edge=False, pad_edge=False)
    for number, column in enumerate(head):
        table.add_column(Text(column), overflow="fold", no_wrap=number + 1 < len(head))
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    (_out if _out.is_terminal else Screen(width=_WIDE)).print(table)
