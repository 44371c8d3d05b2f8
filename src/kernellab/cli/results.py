"""klab results: a page of figures from ledgers alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernellab.cli.options import Json, out_option
from kernellab.cli.pages import existing, print_json
from kernellab.cli.screen import counted
from kernellab.core.files import write_file


def results(
    run_folders: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    out: Annotated[Path, out_option("The Markdown file to write.")],
    title: Annotated[str, typer.Option(help="The page's heading.")] = "Results",
    as_json: Json = False,
) -> None:
    """Write a Markdown page of results from the ledgers of runs alone; every run is audited first."""
    from kernellab.report.results import results_page

    page = results_page([existing(folder) for folder in run_folders], title, str(out))
    write_file(out, page.text)
    if as_json:
        print_json({"status": "written", "file": str(out), "shapes": page.shapes, "ledger_roots": list(page.roots)})
    else:
        typer.echo(
            f"wrote {out}: {counted(page.shapes, 'shape', 'shapes')} of {counted(len(page.roots), 'run', 'runs')}"
        )
