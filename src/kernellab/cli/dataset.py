"""klab dataset: recorded runs as prompts, replies and rewards, for a trainer."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from kernellab.cli import pages
from kernellab.cli.options import Json, out_option
from kernellab.core.errors import UsageError
from kernellab.core.files import write_file


def dataset(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    out: Annotated[Path, out_option("The file to write, a row a line.")],
    as_json: Json = False,
) -> None:
    """Prompts, replies and their worth from recorded runs, as JSONL; failures are kept, nothing held out is in it."""
    from kernellab.learn.dataset import dataset_of
    from kernellab.ledger.check import require_sound

    if out.exists():
        raise UsageError(f"{out} exists already", "choose another --out")
    for run in runs:
        require_sound(pages.existing(run))
    made = dataset_of(runs)
    write_file(out, "".join(json.dumps(row, sort_keys=True) + "\n" for row in made.rows))
    splits = Counter(row["split"] for row in made.rows)
    facts = {"file": str(out), "rows": len(made.rows), "splits": dict(splits), "left_out": dict(made.left_out)}
    if as_json:
        pages.print_json({"status": "written", **facts})
        return
    left = "; ".join(f"{count} left out: {why}" for why, count in made.left_out.items())
    sys.stdout.write(f"wrote {len(made.rows)} rows ({splits['train']} train, {splits['test']} test) to {out}\n")
    sys.stdout.write(f"{left}\n" if left else "")
