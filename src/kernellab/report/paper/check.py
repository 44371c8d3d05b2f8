"""The audit of a paper: every number again from the ledger, every printed figure against its claim, every drawing redrawn.

Covered: a ledger that changed, a claim that does not follow, words and numbers in the visible text that are not the claims'
own, points that were moved, references that are not the shipped ones. Where the paper was made by the same versions of code
and tools the files themselves are made again and compared to the byte; else a note says what could not be compared.
Not covered: whether the ledger's owner measured honestly (`klab audit RUN --rerun`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import KlabError
from kernellab.report.audit import Audit, audit
from kernellab.report.paper import charts
from kernellab.report.paper.bibliography import shipped
from kernellab.report.paper.claims import problem_with
from kernellab.report.paper.cross import contradictions
from kernellab.report.paper.document import PaperFile, Segment, cited, segments, stray_digits
from kernellab.report.paper.evidence import Evidence
from kernellab.report.paper.extract import Opened, drawn_pages, open_paper
from kernellab.report.paper.figures import digest_of, rows_of
from kernellab.report.paper.polish import mismatch
from kernellab.report.paper.write import Made, made_by, make, printed_files

_MOST = 50
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_BLANK = re.compile("[\\s\u200b\u00ad•‣–]+")  # spaces, soft breaks, and what a list puts before its items
_CONTEXT = 30


@dataclass
class PaperAudit:
    """`numbers` of the visible text, of which `traced` lead to a claim, structure, a figure's axes or a reference."""

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
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def data(self) -> dict[str, Any]:
        rest = {k: v for k, v in self.__dict__.items() if k != "root"}
        return {"status": "ok" if self.ok else "failed", **rest, "ledger_root": self.root}


class Auditor:
    """Audits papers of one run; the ledger is read once, and what it gives is made again once."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._report: Audit | None = None
        self._evidence: dict[int, Evidence] = {}
        self._made: dict[tuple[int, str, bool], Made] = {}
        self._printed: dict[bytes, dict[str, bytes]] = {}

    def audit(self, file: Path) -> PaperAudit:
        opened = open_paper(file)
        paper = opened.paper
        report = PaperAudit(str(file), opened.kind, paper.run, paper.root, claims=len(paper.claims))
        for problem in self._problems(opened, report):
            report.problems.append(problem)
            if len(report.problems) >= _MOST:
                report.problems.append("and more")
                break
        return report

    def _problems(self, opened: Opened, report: PaperAudit) -> Iterator[str]:
        paper = opened.paper
        if self._report is None:
            self._report = audit(self.run)
        yield from (f"the ledger: {problem}" for problem in self._report.problems)
        try:
            evidence = self._evidence.setdefault(paper.entries, Evidence(self.run, paper.entries))
        except (KlabError, KeyError, TypeError, AttributeError) as error:
            yield f"the ledger cannot be read: {error}"
            return
        yield from _origin(paper, evidence, self._report.fingerprint)
        yield from (f"claim {c.id} ({c.formula}) {why}" for c in paper.claims if (why := problem_with(c, evidence)))
        yield from contradictions_of(paper, evidence)
        yield from _figures(paper, evidence, report)
        yield from _words(paper)
        yield from _visible(opened, report)
        yield from _drawn(opened, report)
        yield from self._again(opened, evidence, report)

    def _again(self, opened: Opened, evidence: Evidence, report: PaperAudit) -> Iterator[str]:
        """The paper made again from the ledger by the same code, and compared: words first, then the file."""
        paper = opened.paper
        here = made_by()
        if paper.made_by != here:
            other = [n for n in type(here).model_fields if getattr(here, n) != getattr(paper.made_by, n)]
            report.notes.append(f"made by another {', '.join(other)} than is here: words and pages were not made again")
            return
        if paper.template:
            report.notes.append("made with a template of its own: its words were not made again")
            svgs = {f.name: charts.draw(f.spec, f.rows) for f in paper.figures}
        else:
            try:
                made = self._remade(paper, evidence)
            except KlabError as fault:
                yield f"the paper cannot be made again: {fault.what}"
                return
            yield from _compared(paper, made.paper)
            svgs = made.svgs
        if report.problems:
            return
        yield from self._same_file(opened, svgs)
        report.remade = True

    def _remade(self, paper: PaperFile, evidence: Evidence) -> Made:
        key = (paper.entries, paper.font, paper.polish is not None)
        if key not in self._made:
            self._made[key] = make(evidence, paper.fingerprint, font=paper.font, polished=paper.polish is not None)
        return self._made[key]

    def _same_file(self, opened: Opened, svgs: dict[str, str]) -> Iterator[str]:
        key = opened.paper.model_dump_json().encode()
        if key not in self._printed:
            self._printed = {key: printed_files(opened.paper, svgs)}
        expected = self._printed[key][f"paper.{opened.kind}"]
        if expected == opened.data:
            return
        if opened.kind != "pdf":
            at = next((i for i, (a, b) in enumerate(zip(expected, opened.data, strict=False)) if a != b), -1)
            yield f"the file is not the one that the ledger gives: it differs at byte {at}"
            return
        ours, theirs = drawn_pages(expected), drawn_pages(opened.data)
        pages = [str(n) for n, (a, b) in enumerate(zip(ours, theirs, strict=False), 1) if a != b]
        where = f"page {', '.join(pages)}" if pages else "its number of pages, its attachments or its metadata"
        yield f"the PDF is not the one that the ledger gives: {where} differ" + ("" if len(pages) != 1 else "s")


def contradictions_of(paper: PaperFile, evidence: Evidence) -> Iterator[str]:
    try:
        yield from contradictions(paper.claims, evidence)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        yield f"the claims cannot be held against each other: {type(error).__name__}: {error}"


def _origin(paper: PaperFile, evidence: Evidence, fingerprint: str) -> Iterator[str]:
    if paper.run != evidence.run:
        yield f"the paper is of run {paper.run}, this is run {evidence.run}"
    if evidence.size < paper.entries:
        yield f"the paper was made from {paper.entries} entries, the ledger has {evidence.size}"
    elif paper.root != evidence.root:
        yield f"the paper was made from root {paper.root}, the ledger's first {paper.entries} entries give {evidence.root}"
    if paper.fingerprint != fingerprint:
        yield f"the paper names signing key {paper.fingerprint}, the ledger {fingerprint}"


def _figures(paper: PaperFile, evidence: Evidence, report: PaperAudit) -> Iterator[str]:
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
    for stray in stray_digits(paper.blocks):
        yield f"the text holds '{stray}', a number that is no claim"
    known = shipped()
    for reference in paper.references:
        if known.get(reference.key) != reference:
            yield f"the reference '{reference.key}' is not the one in the bibliography"
    if cited(paper.blocks) != [r.key for r in paper.references]:
        yield "the references are not the works that the text cites"
    for block in paper.blocks:
        if block.plain and (why := mismatch(block.text, block.plain)):
            yield f"polished paragraph {block.id}: {why}"


def _visible(opened: Opened, report: PaperAudit) -> Iterator[str]:
    """What a reader sees against what the claims say, sign by sign without spaces."""
    try:
        told = list(segments(opened.paper))
    except (KlabError, KeyError) as error:
        yield f"the text cannot be put together: {error}"
        return
    counts = Counter[str]()
    for segment in told:
        counts[segment.source] += len(_NUMBER.findall(segment.text))
    report.sources = dict(counts)
    report.traced = report.numbers = counts.total() - counts["words"]
    report.numbers += counts["words"]
    yield from opened.odd
    if opened.visible is None:
        return
    wanted = _stream(told)
    places = [i for i, sign in enumerate(opened.visible) if not _BLANK.fullmatch(sign)]
    seen = "".join(opened.visible[i] for i in places)
    if seen == wanted:
        return
    start = next((i for i, (a, b) in enumerate(zip(seen, wanted, strict=False)) if a != b), min(len(seen), len(wanted)))
    tail = 0
    while tail < min(len(seen), len(wanted)) - start and seen[-1 - tail] == wanted[-1 - tail]:
        tail += 1
    untraced = len(_NUMBER.findall(seen[start : len(seen) - tail])) or 1
    report.numbers = max(report.numbers, report.traced)
    report.traced = max(0, report.traced - untraced)
    near = " ".join(
        opened.visible[places[max(0, start - _CONTEXT)] : places[min(len(places) - 1, start + _CONTEXT)]].split()
    )
    yield f"the visible text is not what the claims say near '{near}'; they say '{wanted[max(0, start - 12) : start + 24]}'"


def _stream(told: list[Segment]) -> str:
    return _BLANK.sub("", "".join(s.text for s in told))


def _drawn(opened: Opened, report: PaperAudit) -> Iterator[str]:
    """Drawings of a page against drawings of the data; only the same vl-convert draws the same lines."""
    paper = opened.paper
    if opened.kind != "html" or not paper.figures:
        return
    here = made_by()
    if (paper.made_by.vl_convert, paper.made_by.hand) != (here.vl_convert, here.hand):
        report.notes.append("made by another vl-convert or with other fonts than are here: drawings were not compared")
        return
    shown = [b.name for b in paper.blocks if b.kind == "figure"]
    by_name = {f.name: f for f in paper.figures}
    if len(shown) != len(opened.svgs):
        yield f"the page shows {len(opened.svgs)} drawings, the paper has {len(shown)} figures"
    for name, svg in zip(shown, opened.svgs, strict=False):
        figure = by_name.get(name)
        if figure is None or charts.draw(figure.spec, figure.rows) != svg:
            yield f"figure {name} is not drawn from its data"


def _compared(paper: PaperFile, made: PaperFile) -> Iterator[str]:
    if [c.model_dump() for c in paper.claims] != [c.model_dump() for c in made.claims]:
        yield "the claims are not the ones that the ledger gives"
    theirs, ours = {f.name: f for f in paper.figures}, {f.name: f for f in made.figures}
    yield from (
        f"figure {name} is not the one that the ledger gives" for name in ours if theirs.get(name) != ours[name]
    )
    if len(paper.blocks) != len(made.blocks):
        yield f"the paper has {len(paper.blocks)} blocks of text, the ledger gives {len(made.blocks)}"
    for block, wanted in zip(paper.blocks, made.blocks, strict=False):
        plain = block.model_copy(update={"text": block.plain, "plain": ""}) if block.plain else block
        if plain != wanted:
            yield f"the words of '{block.id}' are not the ones that the ledger gives"
    if paper.title != made.title:
        yield "the title is not the one that the ledger gives"
