"""klab prune: a run, or all runs of a suite, small enough to publish."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernellab.cli.options import Json
from kernellab.cli.pages import existing, print_json


def prune(run_folder: Annotated[Path, typer.Argument(metavar="RUN")], as_json: Json = False) -> None:
    """Remove the machine code of trials without a claim; the ledger names what was removed. Of a suite, in every run."""
    from kernellab.search.prune import prune as prune_run
    from kernellab.suite.folder import is_suite
    from kernellab.suite.prune import prune_suite

    folder = existing(run_folder)
    done = prune_suite(folder) if is_suite(folder) else prune_run(folder)
    if as_json:
        print_json(
            {
                "status": "pruned",
                "removed": done.removed,
                "freed_bytes": done.freed_bytes,
                "ledger_root": done.ledger_root,
            }
        )
    else:
        typer.echo(f"removed {done.removed} files, {done.freed_bytes / 1e6:.1f} MB; ledger root {done.ledger_root}")
