"""Making a paper: audit the run, mint the claims, compose, draw, print; all files appear together or none does."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from kernellab.core.errors import EnvironmentFault, LedgerFault, UsageError
from kernellab.core.files import file_in_the_way
from kernellab.core.ids import sha256_hex
from kernellab.core.version import VERSION
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.records import Genesis
from kernellab.report.audit import audit
from kernellab.report.paper import html_page, markdown, pdf
from kernellab.report.paper.bibliography import resolve
from kernellab.report.paper.charts import FONT, hand, tool_version
from kernellab.report.paper.claims import Claim, ClaimBook
from kernellab.report.paper.compose import Parts, compose, make_parts
from kernellab.report.paper.document import Block, Maker, PaperFile, cited, resolved, texts
from kernellab.report.paper.facts import gather
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.report.paper.polish import Polisher
from kernellab.report.paper.wording import wrong_units
from kernellab.search.verify import PURPOSE as VERIFY

NAMES = ("paper.pdf", "paper.html", "paper.md", "paper.json")


@dataclass(frozen=True)
class Written:
    """What was made. `refused`: paragraphs whose polished text was not taken, and why."""

    folder: Path
    paper: PaperFile
    numbers: int

    @property
    def refused(self) -> list[str]:
        return self.paper.polish.refused if self.paper.polish else []


@dataclass(frozen=True)
class Made:
    """`parts`: every table, listing and drawing that the ledger gives, shown or not."""

    paper: PaperFile
    parts: Parts


def write_paper(
    run: Path, out: Path, polisher: Polisher | None = None, template: Path | None = None, font: str = FONT
) -> Written:
    """Raises LedgerFault for a run that does not pass its audit, UsageError for one that holds nothing to report."""
    _refuse_taken(out)
    with ThreadPoolExecutor(1) as pool:
        tools = pool.submit(made_by)  # the drawing engine takes a second to start; the ledger is audited meanwhile
        report = audit(run)
        tools.result()
    if not report.ok:
        resume = "have no signed head" in report.problems[0]
        raise LedgerFault(f"{run} does not pass its audit: {report.problems[0]}",
                          f"'klab resume {run}' goes on with it" if resume
                          else f"see 'klab audit {run}'; a paper is made of sound runs only")  # fmt: skip
    evidence = LedgerPrefix(run, report.entries)
    made = make(evidence, report.fingerprint, polisher, template, font, polisher is not None)
    _publish(out, printed_files(made))
    return Written(out, made.paper, sum(not isinstance(c.value, str) for c in made.paper.claims))


def make(
    evidence: LedgerPrefix, fingerprint: str, polisher: Polisher | None = None, template: Path | None = None,
    font: str = FONT, polished: bool = False,
) -> Made:  # fmt: skip
    """The paper before it is printed. `polished` lets the text say that a model polished it."""
    _refuse_empty(evidence)
    book = ClaimBook(evidence)
    facts = gather(book)
    parts = make_parts(book, facts)
    blocks = compose(book, facts, parts, template, polished)
    _refuse_units(blocks, book.claims)
    polish = None
    if polisher is not None:
        blocks, polish = polisher.polish(blocks, book.claims)
    shown = {b.name for b in blocks if b.kind == "figure"}
    title = next((resolved(b.text, book.claims) for b in blocks if b.kind == "title"), "")
    if not title:
        raise UsageError("the template has no title", "let it start with a line '# ...'")
    paper = PaperFile(
        made_by=made_by(), run=evidence.run, root=evidence.root, fingerprint=fingerprint, entries=evidence.size,
        title=title, font=font, template=sha256_hex(template.read_bytes()) if template else "",
        claims=list(book.claims.values()), blocks=blocks, references=resolve(cited(blocks)), polish=polish,
        figures=[d.file for name, d in parts.drawings.items() if name in shown],
    )  # fmt: skip
    return Made(paper, parts)


def printed(paper: PaperFile, svgs: Mapping[str, str], kind: str) -> bytes:
    """One file of a paper; an auditor prints it again and compares."""
    match kind:
        case "pdf":
            return pdf.render(paper, svgs)
        case "html":
            return html_page.render(paper, svgs).encode()
        case "md":
            return markdown.render(paper).encode()
        case _:
            return html_page.dumped(paper)


def printed_files(made: Made) -> dict[str, bytes]:
    """Every file of a paper by its name."""
    svgs = {f.name: made.parts.drawings[f.name].svg for f in made.paper.figures}
    whole = {name: printed(made.paper, svgs, name.partition(".")[2]) for name in NAMES}
    return whole | {markdown.figure_file(f): svgs[f.name].encode() for f in made.paper.figures}


@cache
def made_by() -> Maker:
    tools = {"typst": "typst", "altair": "altair", "vl_convert": "vl-convert-python"}
    versions = {field: tool_version(package) for field, package in tools.items()}
    return Maker(kernellab=VERSION, code=_code(), hand=hand(), **versions)


def _code() -> str:
    """A digest of the texts that turn claims into pages: two papers with the same one were printed by the same rules."""
    home = files("kernellab.report.paper")
    texts = sorted((p for p in home.iterdir() if p.name.endswith((".py", ".toml"))), key=lambda p: p.name)
    texts += sorted(home.joinpath("templates").iterdir(), key=lambda p: p.name)
    return sha256_hex(b"\0".join(p.name.encode() + b"\0" + p.read_bytes() for p in texts if p.is_file()))


def _refuse_taken(out: Path) -> None:
    """Earlier papers are replaced; other files are left alone, and a run's folder holds nothing but the run."""
    if file := file_in_the_way(out):
        raise UsageError(f"{file} is a file", "give a folder with --out")
    place = out.resolve()
    for folder in (place, *place.parents):
        if (folder / LEDGER_FILE).exists():
            inside = "is" if folder == place else "lies in"
            raise UsageError(f"{out} {inside} the folder of a run", "give a folder of the paper's own with --out")
    taken = [out / name for name in NAMES if (out / name).exists()]
    if taken and not _is_claims(out / "paper.json"):
        raise UsageError(f"{taken[0]} is there already and not a paper of KernelLab (no claims beside it)",
                         "move it away, or give another --out")  # fmt: skip


def _is_claims(file: Path) -> bool:
    """The claims file of a paper, of this version or another; a paper's files are always written together."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {"made_by", "claims", "blocks"} <= found.keys()


def _refuse_empty(evidence: LedgerPrefix) -> None:
    if not isinstance(evidence.start, Genesis):
        raise UsageError(f"{evidence.folder} is not the run of a task", "give the folder that 'klab run' named")
    if not evidence.trials:
        raise UsageError(f"{evidence.folder} holds no trial: there is nothing to report",
                         f"'klab resume {evidence.folder}' goes on with the run")  # fmt: skip
    if evidence.start.purpose == VERIFY:
        raise UsageError(f"{evidence.folder} holds a verdict alone: nothing in it was timed",
                         "'klab bench' times the kernel, 'klab run' searches; give the folder of one of those")  # fmt: skip


def _refuse_units(blocks: Sequence[Block], claims: Mapping[str, Claim]) -> None:
    for text in texts(blocks):
        for wrong in wrong_units(text, claims):
            raise UsageError(f"the template says {wrong}", "write the number's own unit after it, or none")


def _publish(out: Path, made: Mapping[str, bytes]) -> None:
    """Write aside, then move: a full disk or Ctrl-C leaves the old paper or none, never half of one."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            for name, data in made.items():
                (aside / name).parent.mkdir(exist_ok=True)
                (aside / name).write_bytes(data)
            aside.chmod(0o755)
            _swap(aside, out, list(made))
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise EnvironmentFault(f"the paper cannot be written to {out}: {error.strerror}",
                               "check rights and free space, or give another --out") from None  # fmt: skip


def _swap(aside: Path, out: Path, names: list[str]) -> None:
    """A new folder takes its place in one step; into a folder that is there, files move one by one, all written before."""
    if not out.exists():
        os.rename(aside, out)
        return
    for name in names:
        (out / name).parent.mkdir(exist_ok=True)
        os.replace(aside / name, out / name)
