"""klab export: from promoted certificates to a small package that stands on its own, or no package at all.

Refused: certificates that do not fit their run, that a person rejected, or that nobody accepted (unless asked for, and
then marked in the README and in the code); certificates of different tasks; a task whose text has changed since.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernellab.build.base import Candidate
from kernellab.certify.certificate import Certificate, read_certificate
from kernellab.certify.confirmed_trial import need_run, prove_certificate
from kernellab.certify.history import read_history
from kernellab.certify.package_order import FORMS, Form, Order, Variant
from kernellab.certify.proof import Proof
from kernellab.certify.write_package import package_files
from kernellab.core.errors import UsageError
from kernellab.ledger.disk import access_fault
from kernellab.search.experiment_run import task_of
from kernellab.tasks.modules.importing import source_of
from kernellab.tasks.modules.record import ModuleRecord, read_module_record
from kernellab.tasks.spec import Task, dims_label
from kernellab.tasks.suites import find_problem


@dataclass(frozen=True)
class Exported:
    folder: Path
    form: Form
    package: str
    files: tuple[str, ...]
    reviewed: bool


def export(
    paths: Sequence[Path],
    wanted: str,
    out: Path,
    runs: Sequence[Path] = (),
    unreviewed: bool = False,
    problem: str = "",
) -> Exported:
    """Check everything, write into a folder aside, and move it into place when it is whole.

    `problem`: the module that was certified, for a run that has no text of it.
    """
    form = next((f for f in FORMS if f == wanted), None)
    if form is None:
        raise UsageError(f"there is no form '{wanted}'", f"--as takes {', '.join(FORMS)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists already", "choose another --out")
    order = take_order(paths, runs, unreviewed)
    if problem:
        order = _with_problem(order, problem)
    package, files = package_files(order, form)
    _place(out, files)
    return Exported(out, form, package, tuple(sorted(files)), order.reviewed)


def take_order(paths: Sequence[Path], runs: Sequence[Path] = (), unreviewed: bool = False) -> Order:
    """The certificates, each held against its run and its reviews."""
    if not paths:
        raise UsageError("no certificate is given", "name one or more files that 'klab certify' wrote")
    reviewed, module = True, None
    tasks: list[Task] = []
    variants: list[Variant] = []
    for number, path in enumerate(dict.fromkeys(p.resolve() for p in paths)):
        certificate = read_certificate(path)
        proof, task, module = _evidence(path, certificate, runs)
        reviewed &= _reviewed(path, certificate, proof.folder, unreviewed)
        tasks.append(task)
        variants.append(Variant(number, certificate, Candidate(proof.source, certificate.kernel.name)))
    _refuse_mixture(variants)
    return Order(tasks[0], tuple(variants), reviewed, module)


def _with_problem(order: Order, locator: str) -> Order:
    """The text is held against the certified graph when it is written."""
    found = find_problem(locator)
    if order.module is None or found is None:
        which = locator if order.module is not None else order.task.name
        raise UsageError(
            f"'{which}' is no PyTorch module", "--problem names the module that was certified: FILE.py:Model"
        )
    source = source_of(found, order.module.graph)
    origin = order.module.origin.model_copy(update={"source": source})
    return replace(order, module=order.module.model_copy(update={"origin": origin}))


def _reviewed(path: Path, certificate: Certificate, folder: Path, unreviewed: bool) -> bool:
    history = read_history(path, certificate, folder)
    if history.state == "rejected":
        raise UsageError(f"{path.name} was rejected in review: {history.reviews[-1].reason}",
                         "what a person rejected is not exported; a later review may accept it")  # fmt: skip
    if history.state != "promoted" and not unreviewed:
        raise UsageError(f"{path.name} is not promoted: it is {history.state}",
                         f"klab review accept {path.name} --reason ..., then klab promote {path.name}; "
                         "or --unreviewed for a package that says so")  # fmt: skip
    return history.state == "promoted"


def _evidence(path: Path, certificate: Certificate, runs: Sequence[Path]) -> tuple[Proof, Task, ModuleRecord | None]:
    given = next((r for r in runs if _is_of(r, certificate)), runs[0] if len(runs) == 1 else None)
    folder = need_run(path, certificate, given)
    proof = prove_certificate(certificate, folder)
    task, locator = task_of(folder, proof.trial.trial)
    task = task.on(proof.genesis.settings.device)
    if task.fingerprint() != certificate.subject.fingerprint:
        raise UsageError(f"the task '{task.name}' is not the one that was certified", "certify the trial again")
    return proof, task, read_module_record(locator) if task.captured else None


def _is_of(folder: Path, certificate: Certificate) -> bool:
    from kernellab.ledger.check import check

    return folder.is_dir() and check(folder).run == certificate.evidence.run


def _refuse_mixture(variants: Sequence[Variant]) -> None:
    first = variants[0].certificate
    for variant in variants[1:]:
        other = variant.certificate
        if (other.subject.name, other.subject.fingerprint) != (first.subject.name, first.subject.fingerprint):
            raise UsageError(f"the certificates are of different tasks: {first.subject.name} and {other.subject.name}",
                             "export each task on its own")  # fmt: skip
        if other.kernel.backend != first.kernel.backend:
            raise UsageError(f"the certificates are of different back ends: {first.kernel.backend} and "
                             f"{other.kernel.backend}", "export each on its own")  # fmt: skip
    labels = [dims_label(dict(sorted(v.certificate.shapes.timed.items()))) for v in variants]
    twice = next((label for label in labels if labels.count(label) > 1), "")
    if twice:
        raise UsageError(f"two certificates are for the same shape, {twice}", "give one for each shape")


def _place(out: Path, files: Mapping[str, str]) -> None:
    """The folder appears with all of its files or not at all."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        try:
            for name, text in files.items():
                path = aside / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            aside.chmod(0o755)
            if out.exists():
                out.rmdir()  # empty, as was seen
            aside.rename(out)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise access_fault(out.parent, error) from error
