"""klab audit-table: what cannot be true in a table that somebody printed, and what could not be told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernellab.cli.options import Json
from kernellab.cli.pages import print_json
from kernellab.cli.paper import EXIT_PARTIAL
from kernellab.cli.screen import Screen
from kernellab.core.errors import EXIT_ENVIRONMENT, EXIT_NOTHING_VERIFIED, UsageError

if TYPE_CHECKING:
    from kernellab.report.foreign.finding import TableAudit

_out = Screen()
_SHOWN = 20
_EXITS = {
    "consistent": 0,
    "unchecked": EXIT_NOTHING_VERIFIED,
    "contradictions": EXIT_ENVIRONMENT,
    "partial": EXIT_PARTIAL,
}
_CLOSING = {"unchecked": ": nothing could be checked", "partial": ": nothing wrong, but not everything was checked"}


def audit_table(
    file: Annotated[Path, typer.Argument(help="CSV or Markdown: shape, dtype, latency, GB/s, speed-up, peak.")],
    moves: Annotated[
        float | None, typer.Option(help="How often an element is moved at least (read and written once: 2).")
    ] = None,
    as_json: Json = False,
) -> None:
    """List what cannot be true in a table of kernel figures, whoever printed it, and what could not be checked.

    Exit code 0: consistent, 4: nothing could be checked, 5: contradictions, 6: nothing wrong, but not all was checked.
    """
    from kernellab.report.foreign.table import read_tables
    from kernellab.report.foreign.verdict import audit_tables

    if moves is not None and not 0 < moves < 1e6:
        raise UsageError(
            f"--moves {moves} makes no sense", "2 for an operator that reads and writes every element once"
        )
    tables = read_tables(file)
    audit = audit_tables(tables, moves)
    if as_json:
        print_json({"status": audit.status, "file": str(file), "tables": len(tables), "rows": audit.rows,
                    "checked_rows": audit.checked, "comparisons": dict(audit.comparisons),
                    "contradictions": [c.__dict__ for c in audit.found], "unchecked": [g.__dict__ for g in audit.gaps],
                    "ignored_columns": audit.ignored})  # fmt: skip
    else:
        _show_table_audit(audit)
    raise typer.Exit(_EXITS[audit.status])


def _show_table_audit(audit: TableAudit) -> None:
    def say(text: str, style: str = "") -> None:
        _out.print(text, style=style or None, markup=False, soft_wrap=True)

    for c in audit.found:
        say(f"{c.where}: {c.sort}: {c.what}")
    for gap in audit.gaps[:_SHOWN]:
        say(f"{gap.where}: not checked{f': {gap.column}' * bool(gap.column)}: {gap.why}", "yellow")
    if len(audit.gaps) > _SHOWN:
        say(f"and {len(audit.gaps) - _SHOWN} more that were not checked (--json lists all)", "yellow")
    if audit.ignored:
        say(f"not looked at: {', '.join(audit.ignored)}", "dim")
    made = ", ".join(f"{count} {sort}" for sort, count in sorted(audit.comparisons.items()))
    say(f"compared: {made or 'nothing'}", "dim")
    style = {"contradictions": "bold red", "consistent": "bold green"}.get(audit.status, "bold yellow")
    closing = _CLOSING.get(audit.status, "")
    say(f"{audit.rows} rows, {audit.checked} checked, {len(audit.found)} contradictions{closing}", style)
