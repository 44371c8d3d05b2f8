"""klab anchor: a run's root where others can see it, so that nobody can sign another history later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernellab.cli.options import Json
from kernellab.cli.pages import existing, print_json
from kernellab.cli.screen import Screen
from kernellab.core.errors import UsageError

if TYPE_CHECKING:
    from kernellab.ledger.check import LedgerCheck

_out = Screen()


def anchor(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    to: Annotated[
        Path | None, typer.Option(help="The file of anchors (default: anchors.jsonl beside the run).")
    ] = None,
    git: Annotated[Path | None, typer.Option(help="A git repository: write its anchors.jsonl and commit it.")] = None,
    query: Annotated[
        Path | None, typer.Option("--rfc3161-query", help="Write a request for a time-stamping authority.")
    ] = None,
    reply: Annotated[
        Path | None, typer.Option("--rfc3161-reply", help="Keep the authority's reply with the run, once checked.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a run's root where others can see it: a plain file, a git commit, or an RFC 3161 time stamp."""
    from kernellab.ledger.check import require_sound

    if sum(place is not None for place in (to, git, query, reply)) > 1:
        raise UsageError("--to, --git, --rfc3161-query and --rfc3161-reply cannot be combined", "give one of them")
    found = require_sound(existing(run_folder), signed=True)
    if query is not None:
        data = _query(found, query)
    elif reply is not None:
        data = _reply(run_folder, found, reply)
    elif git is not None:
        data = _commit(found, git)
    else:
        data = _line(run_folder, found, to)
    if as_json:
        facts = {"run": found.run, "size": found.size, "ledger_root": found.root, "fingerprint": found.fingerprint}
        print_json({**facts, **data})
    else:
        _out.print(data["reason"], markup=False, soft_wrap=True)


def _line(folder: Path, found: LedgerCheck, to: Path | None) -> dict[str, Any]:
    from kernellab.ledger.anchors import ANCHORS_FILE, add_anchor, default_file

    path = to / ANCHORS_FILE if to is not None and to.is_dir() else to or default_file(folder)
    anchor, new = add_anchor(path, found)
    told = f"run {found.run}: {anchor.size} entries, root {anchor.root}, in {path} at {anchor.time}"
    words = f"anchored {told}" if new else f"anchored before: {told}"
    return {"status": "anchored", "file": str(path), "time": anchor.time, "new": new, "reason": words}


def _commit(found: LedgerCheck, repository: Path) -> dict[str, Any]:
    from kernellab.ledger.git_anchor import commit_anchor

    anchor, commit = commit_anchor(repository, found)
    words = (f"anchored run {found.run}: {anchor.size} entries, root {anchor.root}, in {repository} commit {commit.id} "
             f"of {commit.date}; push it where others see it, and audit with --anchor {repository}")  # fmt: skip
    return {
        "status": "anchored",
        "repository": str(repository),
        "commit": commit.id,
        "time": commit.date,
        "reason": words,
    }


def _query(found: LedgerCheck, path: Path) -> dict[str, Any]:
    from kernellab.core.files import write_file
    from kernellab.ledger.timestamp import imprint_of, request

    write_file(path, request(found.root))
    imprint = imprint_of(found.root)
    words = (f"wrote {path}: a request for the root of {found.size} entries (SHA-256 {imprint}). Send it to an authority: "
             f"curl -H 'Content-Type: application/timestamp-query' --data-binary @{path} URL -o reply.tsr; then "
             "klab anchor RUN --rfc3161-reply reply.tsr")  # fmt: skip
    return {"status": "asked", "file": str(path), "imprint": imprint, "reason": words}


def _reply(folder: Path, found: LedgerCheck, path: Path) -> dict[str, Any]:
    from kernellab.core.errors import LedgerFault
    from kernellab.ledger.anchors import prefix_roots
    from kernellab.ledger.disk import keep_file
    from kernellab.ledger.timestamp import BadReply, read_reply
    from kernellab.report.audit_origin import STAMP, size_of

    if not path.is_file():
        raise UsageError(f"there is no file {path}", "give the reply that the authority sent")
    reply = path.read_bytes()
    try:
        stamp = read_reply(reply)
    except BadReply as error:
        raise LedgerFault(
            f"{path} is refused: {error}", "ask the authority again with a new --rfc3161-query"
        ) from error
    size = size_of(prefix_roots(folder), stamp.imprint)
    if not size:
        raise LedgerFault(f"{path} is refused: it is of another root than any of {folder}",
                          "give the reply to this run's own --rfc3161-query")  # fmt: skip
    first = folder / f"root{STAMP}"
    kept = first if not first.exists() or first.read_bytes() == reply else folder / f"root-{size}{STAMP}"
    keep_file(folder, kept.name, reply)
    words = f"kept {kept}: {size} entries of now {found.size}, stamped at {stamp.time} by {stamp.authority}"
    return {"status": "anchored", "file": str(kept), "time": stamp.time, "authority": stamp.authority, "stamped": size,
            "reason": words}  # fmt: skip
