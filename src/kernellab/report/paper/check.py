"""The audit of a paper: every number again from the ledger, every printed figure against its claim, every drawing redrawn.

Covered: a ledger that changed; claims, tables, listings, figures and drawings that do not follow from it; units that are not
a number's own; words of polished paragraphs that the plain ones do not have; a page or PDF that shows anything else than its
claims say. Where code, tools and template are the ones here, the file itself is made again and compared to the byte: only
then has it passed. Where something cannot be made again the audit is partial and names what.
Not covered: whether the ledger's owner measured honestly (`klab audit RUN --rerun`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kernellab.core.errors import KlabError
from kernellab.core.ids import sha256_hex
from kernellab.report.audit import Audit, audit
from kernellab.report.paper import pdf
from kernellab.report.paper.again import derived, differences, loose, with_polish
from kernellab.report.paper.bibliography import shipped
from kernellab.report.paper.claims import problem_with
from kernellab.report.paper.cross import contradictions
from kernellab.report.paper.document import PaperFile, cited, segments, strays, texts
from kernellab.report.paper.extract import Opened, drawn_pages, open_paper
from kernellab.report.paper.figures import digest_of, rows_of
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.report.paper.markdown import figure_file
from kernellab.report.paper.polish import mismatch
from kernellab.report.paper.visible import difference, sources
from kernellab.report.paper.wording import wrong_units
from kernellab.report.paper.write import Made, made_by, make, printed

_MOST = 50
_NAMED = 8
_AFTERWARDS = ("pruned",)
_DRAWN_BY = ("altair", "vl_convert", "hand")
Status = Literal["ok", "partial", "failed"]


@dataclass
class PaperAudit:
    """`numbers` of the visible text, of which `traced` lead to a claim, structure, a figure's axes or a reference.
    `unchecked`: what could not be made again. `remade`: the file is the one that the ledger gives, to the byte."""

    file: str
    kind: str = ""
    run: str = ""
    root: str = ""
    claims: int = 0
    numbers: int = 0
    traced: int = 0
    sources: dict[str, int] = field(default_factory=dict)
    figures: int = 0
    points: int = 0
    remade: bool = False
    unchecked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Nothing is wrong; whether everything was checked is for `status` to say."""
        return not self.problems

    @property
    def status(self) -> Status:
        return "failed" if self.problems else "ok" if self.remade and not self.unchecked else "partial"

    def data(self) -> dict[str, Any]:
        rest = {k: v for k, v in self.__dict__.items() if k != "root"}
        return {"status": self.status, **rest, "ledger_root": self.root}


class Auditor:
    """Audits papers of one run; the ledger is read once, and what it gives is made again once. `template`: the text that
    papers with a template of their own were made with. `root`: of the ledger, as somebody wrote it down."""

    def __init__(self, run: Path, template: Path | None = None, root: str = "") -> None:
        self.run = run
        self.template = template
        self.root = root
        self._report: Audit | None = None
        self._evidence: dict[int, LedgerPrefix] = {}
        self._made: dict[tuple[int, str, bool, bool], Made] = {}
        self._printed: dict[tuple[object, ...], bytes] = {}

    def audit(self, file: Path) -> PaperAudit:
        opened = open_paper(file)
        paper = opened.paper
        report = PaperAudit(str(file), opened.kind, paper.run, paper.root, claims=len(paper.claims))
        for problem in self._problems(opened, report):
            report.problems.append(problem)
            if len(report.problems) >= _MOST:
                report.problems.append("and more")
                break
        if report.problems and paper.made_by != made_by():
            report.notes.append("it names other versions than are here: one that was sound when it was made is best audited "
                                "with those, or made again")  # fmt: skip
        return report

    def _problems(self, opened: Opened, report: PaperAudit) -> Iterator[str]:
        paper = opened.paper
        if self._report is None:
            self._report = audit(self.run, self.root)
        yield from (f"the ledger: {problem}" for problem in self._report.problems)
        try:
            if paper.entries not in self._evidence:
                self._evidence[paper.entries] = LedgerPrefix(self.run, paper.entries)
        except (KlabError, KeyError, TypeError, AttributeError) as error:
            yield f"the ledger cannot be read: {error}"
            return
        evidence = self._evidence[paper.entries]
        yield from _origin(paper, evidence, self._report.fingerprint)
        report.unchecked += self._later(paper)
        yield from (f"claim {c.id} ({c.formula}) {why}" for c in paper.claims if (why := problem_with(c, evidence)))
        yield from contradictions_of(paper, evidence)
        yield from _figures(paper, evidence, report)
        yield from _words(paper)
        again = _Again(paper)
        yield from _polished(paper, report, again)
        yield from self._again(opened, evidence, report, again)
        yield from _visible(opened, report, again)

    def _later(self, paper: PaperFile) -> Iterator[str]:
        """A paper of a run that went on tells what was so then; prunings change no figure."""
        assert self._report is not None
        if self._report.entries <= paper.entries:
            return
        if 0 not in self._evidence:
            self._evidence[0] = LedgerPrefix(self.run)
        kinds = Counter(e.kind for e in self._evidence[0].entries[paper.entries :] if e.kind not in _AFTERWARDS)
        if kinds:
            told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            yield f"the ledger goes on after entry {paper.entries - 1}, from which the paper was made: {told}"

    def _again(self, opened: Opened, evidence: LedgerPrefix, report: PaperAudit, again: _Again) -> Iterator[str]:
        """The paper made again from the ledger, and compared: its parts first, then the file."""
        paper = opened.paper
        given = sha256_hex(self.template.read_bytes()) if self.template else ""
        if given and given != paper.template:
            yield f"the paper was not made with the template {self.template}"
        known = paper.template in ("", given)
        try:
            made = self._remade(paper, evidence, known)
        except KlabError as error:
            yield f"the paper cannot be made again: {error.what}"
            return
        if again.strangers or paper.template:
            shipped = made if not known else self._remade(paper, evidence, False)
            report.unchecked += again.compare(paper, shipped, known)
        if again.strangers or not known:
            faults = derived(paper, made.parts, {c.id: c for c in made.paper.claims})
        else:
            faults = differences(paper, made.paper)
        for fault in faults:
            again.loose.append(fault.block)
            yield fault.what
        yield from opened.odd
        if report.problems:
            return
        whole = not again.strangers and known
        wanted = with_polish(made.paper, paper) if whole else paper
        yield from self._same_file(opened, wanted, made, report, again)
        report.remade = whole and again.same and paper.polish is None

    def _remade(self, paper: PaperFile, evidence: LedgerPrefix, known: bool) -> Made:
        """With the shipped template where the paper's own is not at hand: tables and figures are the same."""
        own = self.template if known and paper.template else None
        key = (paper.entries, paper.font, paper.polish is not None, own is not None)
        if key not in self._made:
            self._made[key] = make(evidence, paper.fingerprint, None, own, paper.font, paper.polish is not None)
        return self._made[key]

    def _same_file(
        self, opened: Opened, wanted: PaperFile, made: Made, report: PaperAudit, again: _Again
    ) -> Iterator[str]:
        svgs = {f.name: made.parts.drawings[f.name].svg for f in wanted.figures}
        if opened.kind == "html" and svgs and again.strangers & {*_DRAWN_BY}:
            report.unchecked.append(
                "drawn by another vl-convert or with other fonts than are here: lines were not compared"
            )
            shown = [b.name for b in wanted.blocks if b.kind == "figure"]
            svgs = dict(zip(shown, opened.svgs, strict=False)) if len(shown) == len(opened.svgs) else svgs
        try:
            expected = self._print(wanted, svgs, opened.kind)
        except KlabError as fault:
            report.unchecked.append(f"the pages were not made again: {fault.what}")
            return
        except (KeyError, IndexError, ValueError, TypeError) as error:
            yield f"the file cannot be printed from its claims: {type(error).__name__}: {error}"
            return
        again.same = expected == opened.data
        if again.same:
            yield from self._beside(opened, wanted, svgs, report, again)
            return
        if opened.kind != "pdf":
            yield _differs(opened, expected, svgs, wanted)
        elif again.strangers:
            report.unchecked.append("the pages were not made again: what is drawn beside or over the text was not seen")
        else:
            yield _pages_differ(opened.data, expected)

    def _beside(
        self, opened: Opened, wanted: PaperFile, svgs: Mapping[str, str], report: PaperAudit, again: _Again
    ) -> Iterator[str]:
        """The files that Markdown shows: its drawings, and the claims that a reader is sent to."""
        files = {pdf.ATTACHED: self._print(wanted, svgs, "json")}
        if again.strangers & {*_DRAWN_BY}:
            report.unchecked.append(
                "drawn by another vl-convert or with other fonts than are here: no figure was looked at"
            )
        else:
            files |= {figure_file(f): svgs[f.name].encode() for f in wanted.figures}
        for name, data in files.items():
            found = opened.beside.get(name, data)
            if found != data:
                yield f"{name} beside it is {'missing' if found is None else 'not the one that the ledger gives'}"

    def _print(self, paper: PaperFile, svgs: Mapping[str, str], kind: str) -> bytes:
        key = (kind, paper.model_dump_json(), *svgs.values())
        if key not in self._printed:
            self._printed[key] = printed(paper, svgs, kind)
        return self._printed[key]


class _Again:
    """How far a paper can be made again here. `strangers`: what made it that is another here. `loose`: blocks whose words
    are not the ones written here. `same`: the file is the one printed here."""

    def __init__(self, paper: PaperFile) -> None:
        here = made_by()
        fields = type(here).model_fields
        self.strangers = {n for n in fields if getattr(here, n) != getattr(paper.made_by, n)}
        self.loose: list[str] = []
        self.same = False

    def compare(self, paper: PaperFile, made: Made, known: bool) -> Iterator[str]:
        """What is not checked, in words."""
        if self.strangers:
            names = ", ".join(sorted(self.strangers))
            yield f"it names another {names} than is here: its files were not made again as they were"
        if paper.template:
            given = "" if known else ", which was not given (--template FILE)"
            yield (
                f"the words of a template of its own{given}: numbers, tables and figures are the ledger's, but nobody "
                "checked what is said of them"
            )
        found = loose(paper, made.paper)
        self.loose += found.strange
        if found.strange:
            yield f"words that are not the ones written here: {_listed(found.strange)}"
        if found.lacking:
            yield f"it lacks what is written here: {_listed(found.lacking)}"
        if not found.in_order:
            yield "its parts stand in another order than here, or more than once"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _differs(opened: Opened, expected: bytes, svgs: Mapping[str, str], wanted: PaperFile) -> str:
    shown = [b.name for b in wanted.blocks if b.kind == "figure"]
    moved = [name for name, svg in zip(shown, opened.svgs, strict=False) if svgs[name] != svg]
    if moved:
        return f"figure {moved[0]} is not drawn from its data"
    least = min(len(expected), len(opened.data))
    at = next((i for i in range(least) if expected[i] != opened.data[i]), least)
    near = opened.data[max(0, at - 20) : at + 40].decode(errors="replace")
    return f"the file is not the one that the ledger gives: it differs at byte {at}, near '{' '.join(near.split())}'"


def _pages_differ(data: bytes, expected: bytes) -> str:
    ours, theirs = drawn_pages(expected), drawn_pages(data)
    pages = [str(n) for n, (a, b) in enumerate(zip(ours, theirs, strict=False), 1) if a != b]
    where = f"page {', '.join(pages)}" if pages else "its number of pages, its attachments or its metadata"
    return f"the PDF is not the one that the ledger gives: {where} differ" + ("" if len(pages) != 1 else "s")


def contradictions_of(paper: PaperFile, evidence: LedgerPrefix) -> Iterator[str]:
    try:
        yield from contradictions(paper.claims, evidence)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        yield f"the claims cannot be held against each other: {type(error).__name__}: {error}"


def _origin(paper: PaperFile, evidence: LedgerPrefix, fingerprint: str) -> Iterator[str]:
    if paper.run != evidence.run:
        yield f"the paper is of run {paper.run}, this is run {evidence.run}"
    if evidence.size < paper.entries:
        yield f"the paper was made from {paper.entries} entries, the ledger has {evidence.size}"
    elif paper.root != evidence.root:
        yield f"the paper was made from root {paper.root}, the ledger's first {paper.entries} entries give {evidence.root}"
    if paper.fingerprint != fingerprint:
        yield f"the paper names signing key {paper.fingerprint}, the ledger {fingerprint}"


def _figures(paper: PaperFile, evidence: LedgerPrefix, report: PaperAudit) -> Iterator[str]:
    for figure in paper.figures:
        report.figures += 1
        report.points += len(figure.rows)
        try:
            rows = rows_of(figure.formula, evidence, figure.args)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            yield f"figure {figure.name} cannot be derived: {type(error).__name__}: {error}"
            continue
        if len(rows) != len(figure.rows):
            yield f"figure {figure.name} has {len(figure.rows)} points, the ledger gives {len(rows)}"
        for got, wanted in zip(figure.rows, rows, strict=False):
            if got != wanted:
                where = f"figure {figure.name}: the point of entry {wanted.get('entry')}"
                yield f"{where} was moved: {got}, the ledger gives {wanted}"
        if figure.sha256 != digest_of(rows):
            yield f"figure {figure.name}: the digest of its data does not fit the ledger"


def _words(paper: PaperFile) -> Iterator[str]:
    for stray in strays(paper.blocks):
        yield f"the text holds '{stray}', a number that is no claim"
    claims = {c.id: c for c in paper.claims}
    for text in texts(paper.blocks):
        yield from (f"the text says {wrong}" for wrong in wrong_units(text, claims))
    known = shipped()
    for reference in paper.references:
        if known.get(reference.key) != reference:
            yield f"the reference '{reference.key}' is not the one in the bibliography"
    if cited(paper.blocks) != [r.key for r in paper.references]:
        yield "the references are not the works that the text cites"


def _polished(paper: PaperFile, report: PaperAudit, again: _Again) -> Iterator[str]:
    """The check that every polished paragraph passed when it was made. Its words are a model's: nothing gives them again."""
    polished = [block for block in paper.blocks if block.plain]
    for block in polished:
        if block.kind != "paragraph":
            yield f"'{block.id}' is polished and is no paragraph"
        elif why := mismatch(block.text, block.plain):
            again.loose.append(block.id)
            yield f"polished paragraph {block.id}: {why}"
    kept = paper.polish.kept if paper.polish else 0
    if len(polished) != kept:
        yield f"{len(polished)} paragraphs are polished, the paper names {kept}"
    if paper.polish:
        report.unchecked.append(f"{kept} paragraphs are in a model's words: they were held against the plain ones, which "
                                "the ledger gives; the model's name, calls and costs are the paper's word")  # fmt: skip


def _visible(opened: Opened, report: PaperAudit, again: _Again) -> Iterator[str]:
    """What a reader sees against what the claims say. A file that was made again to the byte shows what it should."""
    try:
        told = list(segments(opened.paper))
    except (KlabError, KeyError) as error:
        yield f"the text cannot be put together: {error}"
        return
    counts = sources(told, again.loose)
    report.sources = dict(counts)
    report.numbers = counts.total()
    report.traced = report.numbers - counts["words"] - counts["unchecked"]
    if opened.visible is None or again.same:
        return
    font = opened.paper.font
    found = difference(opened.visible, told, lambda text: pdf.spelled(text, font) if opened.kind == "pdf" else text)
    if found is not None:
        report.traced = max(0, report.traced - found.untraced)
        yield found.what
