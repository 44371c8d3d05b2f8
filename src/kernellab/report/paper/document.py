"""A paper's text: blocks of words and marks, before any renderer. One order of reading, the same in PDF, HTML and Markdown.

Words hold no number: numbers are claims, structure (table and figure numbers, citations) is counted, references come from
the shipped bibliography, and figures carry their own labels. `segments` says which is which, in the order of reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from kernellab.core.errors import UsageError
from kernellab.core.records import Record
from kernellab.report.paper.claims import FORMS, MARK, Claim
from kernellab.report.paper.wording import stray_numbers

Kind = Literal["title", "byline", "heading", "paragraph", "note", "list", "table", "figure", "code", "references"]
PieceKind = Literal["words", "code", "claim", "claim-code", "cite"]
_PIECE = re.compile(r"⟦(?P<claim>c\d+)⟧|⟦@(?P<cite>[a-z0-9]+)⟧|`(?P<code>[^`⟦⟧]+)`")
_DIRECTIVE = re.compile(r"@(table|figure|code) (\w+)")
_ALONE = re.compile(r"(?m)^[ \t]*(#.*|@(?:table|figure|code) .*|@references.*)$")


class Block(Record):
    """`rows`: of a list (one cell each), of a table (its head first). `name` of a figure. `plain`: before polishing."""

    kind: Kind
    id: str
    text: str = ""
    level: int = 1
    rows: tuple[tuple[str, ...], ...] = ()
    name: str = ""
    plain: str = ""


class Reference(Record):
    key: str
    text: str
    url: str


class FigureFile(Record):
    """Rows follow from the ledger by the figure's formula; `labels` are the words and ticks that its drawing shows."""

    name: str
    formula: str
    args: dict[str, Any]
    rows: list[dict[str, Any]]
    sha256: str
    spec: dict[str, Any]
    alt: str
    labels: list[str] = Field(default_factory=list)


class Maker(Record):
    """What made a paper; where an auditor has the same, files are compared to the byte. `hand`: how texts are laid out."""

    kernellab: str
    code: str
    typst: str
    altair: str
    vl_convert: str
    hand: str


class Polish(Record):
    model: str
    kept: int
    refused: list[str]
    calls: list[dict[str, Any]]


class PaperFile(Record):
    """paper.json."""

    format: Literal[1] = 1
    made_by: Maker
    run: str
    root: str
    fingerprint: str
    entries: int = Field(ge=1)
    title: str
    font: str
    template: str = ""
    claims: list[Claim]
    blocks: list[Block]
    figures: list[FigureFile]
    references: list[Reference]
    polish: Polish | None = None


@dataclass(frozen=True)
class Piece:
    kind: PieceKind
    text: str
    claim: Claim | None = None


@dataclass(frozen=True)
class Segment:
    """A stretch of visible text, where it comes from, and the block it stands in."""

    text: str
    source: Literal["words", "claim", "recorded words", "structure", "reference", "figure"]
    block: str = ""


@dataclass(frozen=True)
class Table:
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def parse(text: str, tables: Mapping[str, Table], codes: Mapping[str, str], captions: Mapping[str, str]) -> list[Block]:
    """The small markup that templates write: # headings, - items, ! notes, > byline, @table|@figure|@code NAME,
    @references; ~ is a space that does not break."""
    blocks: list[Block] = []
    section, number = "start", 0
    for chunk in re.split(r"\n\s*\n", _ALONE.sub(r"\n\n\1\n\n", text).strip()):
        lines = [" ".join(line.split()).replace("~", "\u00a0") for line in chunk.strip().splitlines() if line.strip()]
        if not lines:
            continue
        first = lines[0]
        if first.startswith("#"):
            level = len(first) - len(first.lstrip("#"))
            words = first.lstrip("#").strip()
            section, number = re.sub(r"[^a-z]+", "-", MARK.sub("", words).lower()).strip("-") or "section", 0
            kind: Kind = "heading" if blocks else "title"
            blocks.append(Block(kind=kind, id=f"{section}-{number}", text=words, level=max(level - 1, 1)))
            continue
        number += 1
        blocks.append(_block(f"{section}-{number}", first, lines, tables, codes, captions))
    _refuse_numbers(blocks)
    return blocks


def _block(
    name: str, first: str, lines: Sequence[str], tables: Mapping[str, Table], codes: Mapping[str, str],
    captions: Mapping[str, str],
) -> Block:  # fmt: skip
    if first == "@references":
        return Block(kind="references", id=name)
    if found := _DIRECTIVE.fullmatch(first):
        what, which = found.groups()
        if which not in {"table": tables, "figure": captions, "code": codes}[what]:
            raise UsageError(f"the template asks for {what} '{which}', which this paper does not have",
                             "ask for it only where it is defined: {% if '" + which + f"' in {what}s %}}")  # fmt: skip
        if what == "table":
            table = tables[which]
            return Block(kind="table", id=name, text=table.caption, rows=(table.head, *table.rows), name=which)
        if what == "figure":
            return Block(kind="figure", id=name, text=captions[which], name=which)
        return Block(kind="code", id=name, text=codes[which], name=which)
    if first.startswith("- "):
        items = "\n".join(lines).removeprefix("- ").split("\n- ")
        return Block(kind="list", id=name, rows=tuple((" ".join(i.split()),) for i in items))
    if first.startswith("! "):
        return Block(kind="note", id=name, text=" ".join(lines).removeprefix("! "))
    if first.startswith("> "):
        return Block(kind="byline", id=name, text=" ".join(lines).removeprefix("> "))
    return Block(kind="paragraph", id=name, text=" ".join(lines))


def pieces(text: str, claims: Mapping[str, Claim]) -> Iterator[Piece]:
    at = 0
    for found in _PIECE.finditer(text):
        if found.start() > at:
            yield Piece("words", text[at : found.start()])
        at = found.end()
        if name := found["claim"]:
            claim = claims.get(name)
            if claim is None:
                raise UsageError(f"the text names claim {name}, which the paper does not have", "make the paper again")
            yield Piece("claim-code" if FORMS[claim.form].code else "claim", claim.printed, claim)
        elif found["cite"]:
            yield Piece("cite", found["cite"])
        else:
            yield Piece("code", found["code"])
    if at < len(text):
        yield Piece("words", text[at:])


def resolved(text: str, claims: Mapping[str, Claim]) -> str:
    """Plain text with the claims printed; citations are left out."""
    return "".join(p.text for p in pieces(text, claims) if p.kind != "cite")


def cited(blocks: Sequence[Block]) -> list[str]:
    """Keys in the order in which they are first cited."""
    return list(dict.fromkeys(m["cite"] for text in texts(blocks) for m in _PIECE.finditer(text) if m["cite"]))


def labels(blocks: Sequence[Block]) -> dict[str, str]:
    """ "Table 1." for each table, "Figure 1." for each figure, by block id."""
    found: dict[str, str] = {}
    counts = {"table": 0, "figure": 0}
    for block in blocks:
        if block.kind in ("table", "figure"):
            counts[block.kind] += 1
            found[block.id] = f"{block.kind.capitalize()} {counts[block.kind]}."
    return found


def segments(paper: PaperFile) -> Iterator[Segment]:
    """All visible text in the order of reading: a table's caption stands above it, a figure's below."""
    claims = {c.id: c for c in paper.claims}
    number = {r.key: n for n, r in enumerate(paper.references, 1)}
    figures = {f.name: f for f in paper.figures}
    titles = labels(paper.blocks)

    def inline(text: str, block: str) -> Iterator[Segment]:
        for piece in pieces(text, claims):
            if piece.kind == "cite":
                yield Segment(f"[{number.get(piece.text, '?')}]", "structure", block)
            else:
                yield Segment(piece.text, _source(piece.claim), block)

    for block in paper.blocks:
        if block.kind == "figure":
            for label in figures[block.name].labels:
                yield Segment(f" {label} ", "figure", block.id)
        if block.id in titles:
            yield Segment(f" {titles[block.id]} ", "structure", block.id)
        yield from inline(block.text, block.id)
        for row in block.rows:
            for cell in row:
                yield Segment(" ", "words", block.id)
                yield from inline(cell, block.id)
        if block.kind == "references":
            for reference in paper.references:
                yield Segment(f" [{number[reference.key]}] ", "structure", block.id)
                yield Segment(f"{reference.text} {reference.url} ", "reference", block.id)
        yield Segment("\n", "words", block.id)


def _source(claim: Claim | None) -> Literal["words", "claim", "recorded words"]:
    """Digits in recorded words (a name, a reason, somebody's hypothesis) are no figures of the laboratory."""
    return "words" if claim is None else "recorded words" if isinstance(claim.value, str) else "claim"


def strays(blocks: Sequence[Block]) -> list[str]:
    """Words with a number that is no claim, in any writing; words set as code are no exception."""
    return [word for text in texts(blocks) for word in stray_numbers(_PIECE.sub(lambda m: m["code"] or " ", text))]


def _refuse_numbers(blocks: Sequence[Block]) -> None:
    if stray := strays(blocks):
        raise UsageError(f"the template prints '{stray[0]}', a number that is no claim",
                         "take numbers from the facts: {{ shape.latency }}, {{ constant('level', 'level') }}")  # fmt: skip


def texts(blocks: Sequence[Block]) -> Iterator[str]:
    """Every text of the blocks, cells and items included."""
    for block in blocks:
        yield block.text
        for row in block.rows:
            yield from row
