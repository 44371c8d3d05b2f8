"""klab prove: that a trial stands in a signed ledger, as a file that anybody can check without the ledger."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernellab.cli import pages
from kernellab.cli.display import confirmation_line, trial_line
from kernellab.cli.options import Json, out_option
from kernellab.cli.screen import Screen
from kernellab.core.errors import EXIT_ENVIRONMENT, UsageError
from kernellab.core.files import write_file
from kernellab.core.records import MeasuredTrial

if TYPE_CHECKING:
    from kernellab.ledger.proof import InclusionProof
    from kernellab.ledger.trusted import Signer

_out = Screen()


def prove(
    run_folder: Annotated[Path | None, typer.Argument(metavar="RUN")] = None,
    trial: Annotated[int | None, typer.Argument(help="The trial's number.")] = None,
    out: Annotated[Path | None, out_option("The file to write (default: RUN-trial-N.proof.json here).")] = None,
    check: Annotated[Path | None, typer.Option("--check", metavar="FILE", help="Check a proof instead.")] = None,
    key: Annotated[
        list[str] | None, typer.Option(help="The key that must have signed: fingerprint, hex or file; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a proof that a trial stands in a run's signed ledger; with --check FILE, check one without the ledger."""
    if check is not None:
        if run_folder is not None or out is not None:
            raise UsageError("--check takes a proof and nothing else", "klab prove --check FILE [--key KEY]")
        _check(check, key or [], as_json)
        return
    if run_folder is None or trial is None:
        raise UsageError("a proof needs one run and one trial", "klab prove RUN TRIAL, or klab prove --check FILE")
    if key:
        raise UsageError("--key is for checking a proof", "klab prove --check FILE --key KEY")
    _write(pages.existing(run_folder), trial, out, as_json)


def _write(folder: Path, number: int, out: Path | None, as_json: bool) -> None:
    from kernellab.report.trial_proof import prove_trial

    proof = prove_trial(folder, number)
    path = out or Path(f"{folder.resolve().name}-trial-{number}.proof.json")
    write_file(path, proof.model_dump_json(indent=1) + "\n")
    data = {"status": "written", "file": str(path), **_facts(proof)}
    if as_json:
        pages.print_json(data)
        return
    entries = ", ".join(map(str, data["entries"]))
    told = f"wrote {path}: trial {number} of run {data['run']}, entries {entries} of {data['size']}"
    _out.print(f"{told}\nledger root {data['ledger_root']}", markup=False, soft_wrap=True)


def _check(path: Path, keys: list[str], as_json: bool) -> None:
    from kernellab.ledger.proof import proof_problems, read_proof
    from kernellab.report.trial_proof import claim_problems, trial_of

    proof = read_proof(path)
    problems = list(proof_problems(proof))
    signer = _signer(proof, keys)
    problems += [signer.problem] if signer.problem else []
    try:
        found = trial_of(proof)
        problems += [] if problems else claim_problems(proof, found)
    except UsageError as fault:
        problems.append(fault.what)
        found = None
    if as_json:
        facts = {} if problems else _facts(proof)
        pages.print_json({"status": "failed" if problems else "ok", "file": str(path), "problems": problems,
                          "confirmed": bool(found and found.confirmation),
                          "signer": signer.words, "pinned": signer.pinned, **facts})  # fmt: skip
    else:
        _say("the proof does NOT hold" if problems else "the proof holds", "bold red" if problems else "bold green")
        for problem in problems:
            _say(f"  - {problem}", "red")
        if found is not None and not problems:
            _out.print(trial_line(found.trial, found.confirmation), soft_wrap=True)
            if found.confirmation is not None:
                _say(confirmation_line(found.confirmation))
            elif isinstance(found.trial, MeasuredTrial):
                _say("no confirmation is in this proof: a trial's own figures are no claim", "yellow")
            head = proof.promised()
            _say(f"run {head.run}, {head.size} entries when it was made, ledger root {head.root}")
            _say(signer.words)
            _say(f"  remark: {signer.remark}", "yellow") if signer.remark else None
    raise typer.Exit(EXIT_ENVIRONMENT if problems else 0)


def _say(text: str, style: str | None = None) -> None:
    _out.print(text, style=style, markup=False, soft_wrap=True)


def _signer(proof: InclusionProof, keys: list[str]) -> Signer:
    from kernellab.ledger.trusted import default_trusted, own_key, pinned_keys, signer_of

    asked = [found for text in keys for found in pinned_keys(text)]
    return signer_of(proof.public_key, asked, default_trusted(os.environ), own_key())


def _facts(proof: InclusionProof) -> dict[str, Any]:
    from kernellab.report.trial_proof import trial_of

    head = proof.promised()
    return {"trial": trial_of(proof).trial.trial, "run": head.run, "size": head.size, "ledger_root": head.root,
            "entries": [proven.index for proven in proof.entries], "public_key": proof.public_key}  # fmt: skip
