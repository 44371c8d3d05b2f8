"""klab certify | recheck | review | promote | export: from a confirmed trial to code that others may use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from kernellab.cli.display import make_display
from kernellab.cli.options import Json, out_option
from kernellab.cli.pages import existing, print_json
from kernellab.cli.screen import Screen
from kernellab.tasks.spec import dims_label

if TYPE_CHECKING:
    from kernellab.certify.history import Decision
    from kernellab.certify.needs_review import Row
    from kernellab.certify.recheck import Recheck

CertificateFile = Annotated[Path, typer.Argument(metavar="CERT", help="A file that 'klab certify' wrote.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, for whoever asks later.")]
Reviewer = Annotated[str, typer.Option("--by", help="Who decides (default: the user's name).")]
Run = Annotated[Path | None, typer.Option("--run", help="The folder of its run, where it is not found by itself.")]
Runs = Annotated[list[Path] | None, typer.Option("--run", help="The folder of a run; may be repeated.")]
_out = Screen()
_MARK = {"same": ("same", "green"), "drifted": ("DRIFTED", "yellow"), "failed": ("FAILED", "bold red"),
         "unchecked": ("not checked", "dim")}  # fmt: skip
_VERDICT = {
    "holds": ("the certificate holds", "bold green"),
    "slower": ("right, but no longer faster: the certificate does not hold", "bold red"),
    "wrong": ("the certificate does not hold", "bold red"),
    "unchecked": ("could not be rechecked here in full; nothing found against it", "bold yellow"),
}

review_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="What people decide about certificates: list, accept, reject."
)


def register(app: typer.Typer) -> None:
    for command in (certify, recheck, promote, export):
        app.command()(command)
    app.add_typer(review_app, name="review")


def certify(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    trial: Annotated[int, typer.Argument(help="The number of a confirmed trial.")],
    out: Annotated[Path | None, out_option("Default: RUN/certificates/trial-N.json.")] = None,
    as_json: Json = False,
) -> None:
    """Issue the signed certificate of a trial whose confirmation passed."""
    from kernellab.build.abilities import BACK_DOORS, in_words
    from kernellab.certify.history import read_history
    from kernellab.certify.issue import certify as issue
    from kernellab.certify.needs_review import residual

    certificate, path = issue(existing(run_folder), trial, out)
    history = read_history(path, certificate, run_folder)
    reasons = residual(certificate)
    if history.state == "rejected":
        reasons = (f"this trial was rejected in review: {history.reviews[-1].reason}", *reasons)
    if as_json:
        print_json(
            {
                "status": "certified",
                "file": str(path),
                "certificate": certificate.id,
                "task": certificate.subject.name,
                "dims": certificate.shapes.timed,
                "speedup": certificate.speed.speedup,
                "pairs": certificate.speed.pairs,
                "dropped": certificate.speed.dropped,
                "residual": list(reasons),
                "abilities": certificate.kernel.abilities,
                "anchor": certificate.anchor.outputs,
                "ledger_root": certificate.evidence.root,
            }
        )
        return
    speed, accuracy = certificate.speed, certificate.accuracy
    _out.print(f"certified {certificate.subject.name} {dims_label(certificate.shapes.timed)}: {certificate.kernel.name}, "
               f"{speed.figure}, "
               f"{accuracy.max_ulp:.3g} of {accuracy.budget_ulp:.3g} ULP", markup=False, soft_wrap=True)  # fmt: skip
    _out.print(f"besides computing: {in_words(certificate.kernel.abilities)}", markup=False, soft_wrap=True)
    _out.print(BACK_DOORS, style="dim", markup=False, soft_wrap=True)
    for reason in reasons:
        _out.print(f"look at first: {reason}", style="yellow", markup=False, soft_wrap=True)
    _out.print(
        f"wrote {path}   (klab recheck, klab review accept, klab promote, klab export)", markup=False, soft_wrap=True
    )


def recheck(
    file: CertificateFile,
    run: Run = None,
    key: Annotated[
        list[str] | None, typer.Option(help="The key that must have signed: fingerprint, hex or file; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Does a certificate still hold, here and today? Exit code 0 if so, 3 if slower, 4 if wrong, 5 if it cannot be told."""
    from kernellab.certify.recheck import recheck as look_again
    from kernellab.ledger.trusted import pinned_keys

    keys = [found for text in key or [] for found in pinned_keys(text)]
    with make_display(_out, quiet=as_json) as display:
        report = look_again(file, run, display, keys)
    print_json(report.data()) if as_json else _show_recheck(report)
    raise typer.Exit(report.exit_code)


def _show_recheck(report: Recheck) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    for finding in report.findings:
        word, style = _MARK[finding.status]
        table.add_row(finding.part, Text(word, style), Text(finding.detail))
    _out.print(table)
    words, style = _VERDICT[report.verdict]
    _out.print(words, style=style)


@review_app.command("list")
def review_list(
    places: Annotated[list[Path] | None, typer.Argument(metavar="[CERT|RUN]...", help="Default: klab-runs.")] = None,
    as_json: Json = False,
) -> None:
    """Certificates and where they stand; those that a person should look at first come first."""
    from kernellab.certify.needs_review import review_list as find

    rows = find(places or [Path("klab-runs")])
    if as_json:
        print_json({"status": "ok", "certificates": [_row_data(row) for row in rows]})
        return
    for row in rows:
        _show_row(row)
    if not rows:
        _out.print("no certificates here: 'klab certify RUN TRIAL' issues one")


def _row_data(row: Row) -> dict[str, Any]:
    reviews = [{k: getattr(r, k) for k in ("decision", "reason", "by", "time")} for r in row.history.reviews]
    common = {"file": str(row.path), "state": row.history.state, "reviews": reviews, "residual": list(row.reasons)}
    if row.certificate is None:
        return {**common, "state": "unusable", "problem": row.problem}
    return {**common, "task": row.certificate.subject.name, "dims": row.certificate.shapes.timed}


def _show_row(row: Row) -> None:
    if row.certificate is None:
        _out.print(Text("unusable  ", "bold red"), Text(f"{row.path}: {row.problem}"), soft_wrap=True)
        return
    style = {"promoted": "green", "accepted": "green", "rejected": "red"}.get(row.history.state, "yellow")
    speed = row.certificate.speed
    _out.print(
        Text(f"{row.history.state:10}", style),
        Text(f"{row.path}  {row.certificate.subject.name} {dims_label(row.certificate.shapes.timed)} {speed.figure}"),
        soft_wrap=True,
    )
    for reason in row.reasons:
        _out.print(f"           look at first: {reason}", style="yellow", markup=False, soft_wrap=True)
    for review in row.history.reviews:
        _out.print(f"           {review.time[:19]} {review.by}: {review.decision}, {review.reason}", style="dim",
                   markup=False, soft_wrap=True)  # fmt: skip


@review_app.command("accept")
def accept(file: CertificateFile, reason: Reason, by: Reviewer = "", run: Run = None, as_json: Json = False) -> None:
    """Record that a person accepts this certificate."""
    _decide(file, "accept", reason, by, run, as_json)


@review_app.command("reject")
def reject(file: CertificateFile, reason: Reason, by: Reviewer = "", run: Run = None, as_json: Json = False) -> None:
    """Record that a person rejects this trial, in any of its certificates; a later review may accept one."""
    _decide(file, "reject", reason, by, run, as_json)


def _decide(file: Path, decision: Decision, reason: str, by: str, run: Path | None, as_json: bool) -> None:
    from kernellab.certify.certificate import read_certificate
    from kernellab.certify.confirmed_trial import find_run, prove_certificate
    from kernellab.certify.history import kept_with_run, review

    certificate = read_certificate(file)
    if decision == "accept" and (folder := find_run(file, certificate, run)) is not None:
        prove_certificate(certificate, folder)
    history = review(file, certificate, decision, reason, by, run)
    with_run = kept_with_run(file, certificate, run)
    if as_json:
        print_json({"status": history.state, "file": str(file), "reviews": len(history.reviews), "in_run": with_run})
        return
    _out.print(f"{file}: {history.state} (review {len(history.reviews)})", markup=False, soft_wrap=True)
    if not with_run:
        _out.print("known to this laboratory alone: its run is not here (--run names its folder)", style="yellow")


def promote(file: CertificateFile, run: Run = None, as_json: Json = False) -> None:
    """Promote a certificate that fits its run and that a person accepted; only then is it exported."""
    from kernellab.certify.certificate import read_certificate
    from kernellab.certify.confirmed_trial import need_run, prove_certificate
    from kernellab.certify.history import promote as record

    certificate = read_certificate(file)
    folder = need_run(file, certificate, run)
    prove_certificate(certificate, folder)
    history = record(file, certificate, folder)
    if as_json:
        print_json({"status": history.state, "file": str(file), "certificate": certificate.id})
    else:
        _out.print(f"{file}: {history.state}", markup=False, soft_wrap=True)


def export(
    files: Annotated[list[Path], typer.Argument(metavar="CERT...", help="One certificate for each shape.")],
    form: Annotated[str, typer.Option("--as", help="module, torch-op, c or kernelbench.")],
    out: Annotated[Path, out_option("The folder to write.")],
    run: Runs = None,
    unreviewed: Annotated[bool, typer.Option("--unreviewed", help="Not promoted yet: export, and say so.")] = False,
    problem: Annotated[str, typer.Option("--problem", help="The module, FILE.py:Model, for an older run.")] = "",
    as_json: Json = False,
) -> None:
    """Write promoted kernels as a small package that needs no kernellab."""
    from kernellab.certify.export import export as write

    done = write(files, form, out, run or (), unreviewed, problem)
    if as_json:
        print_json({"status": "exported", "folder": str(done.folder), "form": done.form, "package": done.package,
                    "files": list(done.files), "reviewed": done.reviewed})  # fmt: skip
        return
    _out.print(f"wrote {done.package} to {done.folder}: {', '.join(done.files)}", markup=False, soft_wrap=True)
    if not done.reviewed:
        _out.print("UNREVIEWED: its README and its code say so", style="bold yellow")
