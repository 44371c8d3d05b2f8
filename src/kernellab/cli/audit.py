"""klab audit: of a run, chain, signatures, evidence, files, and whose word it is; of a paper, every number."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from kernellab.cli import pages
from kernellab.cli.options import Json
from kernellab.cli.paper import PAPERS, audit_paper
from kernellab.cli.run import watch
from kernellab.cli.screen import Screen, counted
from kernellab.cli.suite import tell_audit as tell_suite
from kernellab.core.errors import EXIT_ENVIRONMENT, UsageError

if TYPE_CHECKING:
    from kernellab.report.audit import Audit
    from kernellab.report.audit_origin import Witnesses

_out = Screen()


def audit(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN|PAPER")],
    of_run: Annotated[
        Path | None, typer.Option("--run", help="The run that a paper (.json, .pdf, .html, .md) is about.")
    ] = None,
    rerun: Annotated[int, typer.Option(min=0, help="Measure so many trials again on this machine.")] = 0,
    root: Annotated[str, typer.Option(help="The ledger root you wrote down, to be compared.")] = "",
    key: Annotated[
        list[str] | None, typer.Option(help="The key that must have signed: fingerprint, hex or file; may be repeated.")
    ] = None,
    anchor: Annotated[
        list[Path] | None, typer.Option(help="Where it must be anchored: file, git repository, reply; may be repeated.")
    ] = None,
    tsa_ca: Annotated[Path | None, typer.Option(help="PEM of the CA behind a time-stamping authority.")] = None,
    template: Annotated[Path | None, typer.Option(help="The template that a paper was made with, if its own.")] = None,
    as_json: Json = False,
) -> None:
    """Check chain, signatures and evidence, and derive every published figure again; of a paper every number."""
    from kernellab.report.audit import audit as audit_run
    from kernellab.search.replay import rerun as measure_again
    from kernellab.suite.folder import is_suite

    if run_folder.is_file():
        if key or anchor or tsa_ca:
            raise UsageError(
                "--key, --anchor and --tsa-ca are for the audit of a run", f"klab audit {of_run or 'RUN'} --key ..."
            )
        audit_paper(run_folder, of_run, as_json, template, root, rerun)
    if run_folder.suffix in PAPERS and not run_folder.exists():
        raise UsageError(f"there is no file {run_folder}", "give a paper that 'klab paper' wrote, with --run RUN")
    pages.existing(run_folder)
    if of_run or template:
        raise UsageError("--run and --template are for the audit of a paper", "klab audit PAPER --run RUN")
    if is_suite(run_folder):
        _suite(run_folder, root, _witnesses(key or [], anchor or [], tsa_ca), rerun, as_json)
    report = audit_run(run_folder, root, _witnesses(key or [], anchor or [], tsa_ca))
    rows = watch(as_json, lambda listener: measure_again(run_folder, rerun, listener)) if rerun and report.ok else []
    agreed = all(row["agrees"] for row in rows)
    data = {**report.data(), "rerun": rows}
    if report.ok and not agreed:
        data |= {"status": "failed", "problems": ["trials measured again do not agree with their records"]}
    pages.print_json(data) if as_json else tell(_out, report, rows)
    raise typer.Exit(0 if report.ok and agreed else EXIT_ENVIRONMENT)


def _suite(folder: Path, root: str, witnesses: Witnesses, rerun: int, as_json: bool) -> None:
    """The root of a suite, and every run that it names."""
    from kernellab.ledger.suite_records import RUNS
    from kernellab.suite.audit import audit_suite

    if rerun:
        raise UsageError("--rerun measures trials of one run again", f"klab audit {folder / RUNS}/TASK --rerun {rerun}")
    report = audit_suite(folder, root, witnesses)
    pages.print_json(report.data()) if as_json else tell_suite(_out, report)
    raise typer.Exit(0 if report.ok else EXIT_ENVIRONMENT)


def _witnesses(keys: list[str], anchors: list[Path], tsa_ca: Path | None) -> Witnesses:
    from kernellab.ledger.trusted import default_trusted, own_key, pinned_keys
    from kernellab.report.audit_origin import Witnesses

    if tsa_ca is not None and not tsa_ca.is_file():
        raise UsageError(f"there is no file {tsa_ca}", "give the CA's certificates as PEM")
    pinned = tuple(found for text in keys for found in pinned_keys(text))
    if keys and not pinned:
        raise UsageError(f"{', '.join(keys)} names no key", "a line is a public key or a fingerprint, then a name")
    return Witnesses(pinned, default_trusted(os.environ), own_key(), tuple(anchors), tsa_ca)


def tell(console: Console, report: Audit, rows: list[dict[str, Any]]) -> None:
    """An audit for people: what was checked, whose word it is, and what is wrong."""

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, markup=False, soft_wrap=True)

    console.print(
        Text("audit passed" if report.ok else "AUDIT FAILED", style="bold green" if report.ok else "bold red")
    )
    pruned = f" ({report.pruned} more were pruned, on the record)" if report.pruned else ""
    found = counted(len(report.problems), "problem", "problems")
    wrong = "" if report.ok else f"; {found}, so none of it is vouched for"
    say(
        f"run {report.run or 'without a name'}: {counted(report.entries, 'entry', 'entries')}, "
        f"{counted(report.trials, 'trial', 'trials')}, {counted(report.figures, 'figure', 'figures')} derived again, "
        f"{counted(report.blobs, 'stored file', 'stored files')}{pruned}{wrong}"
    )
    say(report.signer)
    for anchor in report.anchors:
        say(anchor["words"])
    if report.made_by:
        say(f"made by {report.made_by}")
    say(f"ledger root {report.root}")
    if not report.ended:
        say("the run has not ended" + (": 'klab resume' continues it" if report.ok else ""), "yellow")
    if report.torn:
        aside = "; 'klab resume' sets it aside" if report.ok else ""
        say(f"the last line is torn (a crash while writing){aside}", "yellow")
    for remark in report.remarks:
        say(f"  remark: {remark}", "yellow")
    for problem in report.problems:
        say(f"  - {problem}", "red")
    for row in rows:
        say(_again(row))


def _again(row: dict[str, Any]) -> str:
    now = (
        f"{row['speedup']:.3f}x [{row['speedup_low']:.3f}, {row['speedup_high']:.3f}]"
        if "speedup" in row
        else row["reason"]
    )
    then = f"recorded {row['then']:.3f}x" if "then" in row else f"recorded {row['recorded']}"
    return f"  trial {row['trial']}: {then}, now {now}: {'agrees' if row['agrees'] else 'DOES NOT AGREE'}"
