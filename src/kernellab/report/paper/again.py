"""A paper held against the one that the ledger gives here.

Tables, listings, figures and their drawings follow from the ledger alone and are compared whatever a paper says about its
making. Words follow where code and template are the same; where they are not, `loose` names the blocks nobody vouches for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kernellab.core.errors import UsageError
from kernellab.core.ids import canonical_json
from kernellab.report.paper.claims import MARK, Claim
from kernellab.report.paper.compose import Parts
from kernellab.report.paper.document import Block, PaperFile, resolved

_Told = tuple[str, str, tuple[tuple[str, ...], ...]]
_ORIGIN = re.compile("⟦.*?⟧")
_SHOWN = ("table", "code", "figure")


class Fault(NamedTuple):
    """`block` is empty where no single one is at fault."""

    what: str
    block: str = ""


def differences(paper: PaperFile, made: PaperFile) -> Iterator[Fault]:
    """Between papers of the same code and template: none, but for the words of polished paragraphs."""
    if paper.claims != made.claims:
        yield Fault("the claims are not the ones that the ledger gives")
    theirs, ours = {f.name: f for f in paper.figures}, {f.name: f for f in made.figures}
    blocks = {b.name: b.id for b in paper.blocks if b.kind == "figure"}
    for name in sorted({*ours, *theirs}):
        if theirs.get(name) != ours.get(name):
            yield Fault(f"figure {name} is not the one that the ledger gives", blocks.get(name, ""))
    if len(paper.blocks) != len(made.blocks):
        yield Fault(f"the paper has {len(paper.blocks)} blocks of text, the ledger gives {len(made.blocks)}")
    for block, wanted in zip(paper.blocks, made.blocks, strict=False):
        if unpolished(block) != wanted:
            yield Fault(f"the words of '{block.id}' are not the ones that the ledger gives", block.id)
    if paper.title != made.title:
        yield Fault("the title is not the one that the ledger gives")


def with_polish(made: PaperFile, paper: PaperFile) -> PaperFile:
    """What the file must hold: all of it from the ledger, but for what a model put in other words."""
    pairs = zip(made.blocks, paper.blocks, strict=True)
    blocks = [m.model_copy(update={"text": p.text, "plain": m.text}) if p.plain else m for m, p in pairs]
    return made.model_copy(update={"blocks": blocks, "polish": paper.polish})


def unpolished(block: Block) -> Block:
    return block.model_copy(update={"text": block.plain, "plain": ""}) if block.plain else block


def derived(paper: PaperFile, parts: Parts, ours: Mapping[str, Claim]) -> Iterator[Fault]:
    """What no template and no version may change: tables with their heads and cells, listings, figures, the title."""
    theirs = {c.id: c for c in paper.claims}
    figures = {f.name: f for f in paper.figures}
    for block in (b for b in paper.blocks if b.kind in _SHOWN):
        wanted = _part(block, parts)
        if wanted is None:
            yield Fault(f"the paper shows {block.kind} '{block.name}', which the ledger does not give", block.id)
        elif (got := _told(block, theirs)) != (expected := _told(wanted, ours)):
            where = _where(got, expected)
            yield Fault(f"{block.kind} '{block.name}' is not the one that the ledger gives{where}", block.id)
        elif block.kind == "figure" and figures.get(block.name) != parts.drawings[block.name].file:
            yield Fault(f"figure {block.name} is not the one that the ledger gives: its data, drawing rule, labels or text "
                        "differ", block.id)  # fmt: skip
    if sorted(figures) != sorted({b.name for b in paper.blocks if b.kind == "figure"}):
        yield Fault("the figures are not the ones that the text shows")
    try:
        title = next((resolved(b.text, theirs) for b in paper.blocks if b.kind == "title"), "")
    except UsageError as error:
        yield Fault(f"the title cannot be put together: {error.what}")
        return
    if title != paper.title:
        yield Fault("the title of the file is not the title in the text")


class Loose(NamedTuple):
    """Blocks by id: whose words are not among those written here, and those written here that the paper lacks."""

    strange: list[str]
    lacking: list[str]
    in_order: bool


def loose(paper: PaperFile, made: PaperFile) -> Loose:
    theirs, ours = {c.id: c for c in paper.claims}, {c.id: c for c in made.claims}
    got = [(b.id, _told(unpolished(b), theirs)) for b in paper.blocks]
    wanted = [(b.id, _told(b, ours)) for b in made.blocks]
    there, known = ({told for _, told in side} for side in (got, wanted))
    return Loose(
        [name for name, told in got if told not in known and told[0] not in _SHOWN],
        [name for name, told in wanted if told not in there],
        [told for _, told in got if told in known] == [told for _, told in wanted if told in there],
    )


def _part(block: Block, parts: Parts) -> Block | None:
    if block.kind == "table" and (table := parts.tables.get(block.name)):
        return Block(kind="table", id=block.id, text=table.caption, rows=(table.head, *table.rows))
    if block.kind == "code" and block.name in parts.codes:
        return Block(kind="code", id=block.id, text=parts.codes[block.name])
    if block.kind == "figure" and (drawing := parts.drawings.get(block.name)):
        return Block(kind="figure", id=block.id, text=drawing.caption)
    return None


def _told(block: Block, claims: Mapping[str, Claim]) -> _Told:
    """A block with each mark as what its claim follows from: other code may number claims otherwise."""

    def origin(name: str) -> str:
        c = claims.get(name)
        return f"⟦{canonical_json([c.formula, c.entries, c.args, c.form]).decode()}⟧" if c else f"⟦{name}⟧"

    def told(text: str) -> str:
        return MARK.sub(lambda m: origin(m[1]), text)

    return block.kind, told(block.text), tuple(tuple(map(told, row)) for row in block.rows)


def _where(got: _Told, wanted: _Told) -> str:
    """The first cell that differs, as a reader finds it."""
    for number, (row, expected) in enumerate(zip(got[2], wanted[2], strict=False)):
        for column, (cell, right) in enumerate(zip(row, expected, strict=False)):
            if cell != right:
                return f": row {number}, column '{_ORIGIN.sub('…', wanted[2][0][column])}'"
    return ""
