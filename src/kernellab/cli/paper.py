"""klab paper, klab audit of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from kernellab.cli.options import Json, out_option
from kernellab.cli.pages import existing, print_json
from kernellab.cli.screen import Screen
from kernellab.core.errors import EXIT_ENVIRONMENT, UsageError
from kernellab.ledger.entry import LEDGER_FILE

if TYPE_CHECKING:
    from kernellab.report.paper.check import PaperAudit, Status

EXIT_PARTIAL = 6  # nothing is wrong, and something could not be made again
_out = Screen()
PAPERS = (".json", ".pdf", ".html", ".md")
_EXITS: dict[Status, int] = {"ok": 0, "partial": EXIT_PARTIAL, "failed": EXIT_ENVIRONMENT}
_HEADLINES: dict[Status, tuple[str, str]] = {
    "ok": ("audit passed", "bold green"),
    "partial": ("AUDIT PARTIAL: what could be derived again holds, and not everything could", "bold yellow"),
    "failed": ("AUDIT FAILED", "bold red"),
}


def paper(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    out: Annotated[Path, out_option("The folder for paper.pdf, .html, .md and .json.")],
    model: Annotated[str | None, typer.Option(help="Let a model polish paragraphs: openai:NAME[@URL], ...")] = None,
    budget_tokens: Annotated[int, typer.Option(help="Tokens for the polishing, at most.")] = 200_000,
    template: Annotated[Path | None, typer.Option(help="A Jinja2 template in place of the shipped one.")] = None,
    font: Annotated[str | None, typer.Option(help="The PDF's typeface; it must be installed.")] = None,
    as_json: Json = False,
) -> None:
    """Write the paper of a run from its ledger alone: PDF, HTML, Markdown, and the claims behind every number."""
    from kernellab.report.paper.charts import FONT
    from kernellab.report.paper.polish import polisher_of
    from kernellab.report.paper.write import write_paper

    if font == "":
        raise UsageError("--font is empty", f"name an installed typeface, or leave --font out for {FONT}")
    polisher = polisher_of(model, budget_tokens) if model else None
    written = write_paper(existing(run_folder), out, polisher, template, font or FONT)
    made = written.paper
    if as_json:
        polish = made.polish
        print_json({
            "status": "written", "folder": str(out), "title": made.title, "claims": len(made.claims),
            "figures": len(made.figures), "references": len(made.references), "ledger_root": made.root,
            "polished": polish.kept if polish else 0, "refused": polish.refused if polish else [],
        })  # fmt: skip
        return
    _out.print(made.title, style="bold", markup=False, soft_wrap=True)
    _out.print(f"wrote {out}: paper.pdf, paper.html, paper.md, paper.json; {len(made.claims)} claims, "
               f"{len(made.figures)} figures", markup=False, soft_wrap=True)  # fmt: skip
    if made.polish is not None:
        _out.print(f"{made.polish.kept} paragraphs polished by {made.polish.model}, {len(made.polish.refused)} refused")
    for refusal in written.refused:
        _out.print(f"  - {refusal}", style="yellow", markup=False, soft_wrap=True)


def audit_paper(
    file: Path, run_folder: Path | None, as_json: bool, template: Path | None = None, root: str = "", rerun: int = 0
) -> NoReturn:
    """`klab audit FILE --run RUN`: derive every number of a paper again, and compare it with what is printed."""
    from kernellab.ledger.check import require_sound
    from kernellab.report.paper.check import Auditor

    if file.suffix not in PAPERS:
        if (file.parent / LEDGER_FILE).is_file():
            raise UsageError(f"{file} is a file of a run, not a paper", f"klab audit {file.parent} checks the run")
        raise UsageError(f"{file} is not a paper ({', '.join(PAPERS)}) and not the folder of a run",
                         "give the folder of a run, or a paper with --run RUN")  # fmt: skip
    if run_folder is None:
        raise UsageError(f"{file} is a paper: its numbers are checked against a run", "add --run RUN")
    if rerun:
        raise UsageError(f"{file} is a paper: only a run can be measured again",
                         f"klab audit {run_folder} --rerun {rerun}")  # fmt: skip
    if template is not None and not template.is_file():
        raise UsageError(f"there is no template {template}", "give the file that 'klab paper --template' was given")
    try:
        report = Auditor(existing(run_folder), template, root).audit(file)
    except (LookupError, TypeError, AttributeError, ValueError):
        require_sound(run_folder)  # a changed record is the reason, or else it is a mistake of klab's own
        raise
    if as_json:
        print_json(_data(report))
    else:
        _tell(report)
    raise typer.Exit(_EXITS[report.status])


def _data(report: PaperAudit) -> dict[str, Any]:
    """If anything is wrong, no number is called traced: its source may be the part that is wrong."""
    untraced = report.numbers - report.traced
    return {**report.data(), "traced": None if report.problems else report.traced, "untraced": untraced}


def _tell(report: PaperAudit) -> None:
    headline, style = _HEADLINES[report.status]
    _out.print(headline, style=style)
    traced = f"{report.traced} of {report.numbers} numbers in the text traced; {report.claims} claims derived again"
    if report.problems:
        loose = report.numbers - report.traced
        traced = (f"failed with {len(report.problems)} problems: of {report.numbers} numbers in the text {loose} lead to no "
                  f"claim, and none is vouched for; {report.claims} claims")  # fmt: skip
    _out.print(f"{traced}; {report.points} points in {report.figures} figures", markup=False, soft_wrap=True)
    _out.print(f"run {report.run}, ledger root {report.root}", markup=False, soft_wrap=True)
    if report.remade:
        _out.print("made again from the ledger: the same file, byte for byte")
    for mark, style, lines in (
        ("not checked:", "yellow", report.unchecked), ("note:", "yellow", report.notes), ("-", "red", report.problems)
    ):  # fmt: skip
        for line in lines:
            _out.print(f"  {mark} {line}", style=style, markup=False, soft_wrap=True)
