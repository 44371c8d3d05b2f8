"""paper.pdf, by typst: text, drawings as vectors, the claims file attached. The same paper gives the same bytes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from kernellab.core.errors import EnvironmentFault
from kernellab.report.paper.charts import EXTRA, FONT
from kernellab.report.paper.document import Block, PaperFile, labels, pieces
from kernellab.report.paper.html_page import dumped, numeric_columns

ATTACHED = "paper.json"
_BREAKABLE = re.compile(r"(?<=[_.,=/:-])(?=\S)|(?<=[0-9a-f]{8})(?=[0-9a-f]{8})")
_ZERO_WIDTH = "\u200b"
_PRINTED = (("\t", "~"), ("\u00a0", "\u017f"), ("\u0370", "\u03ff"), ("\u0400", "\u04ff"), ("\u2010", "\u2027"),
            ("\u2030", "\u203a"), ("\u2070", "\u2094"), ("€", "€"), ("™", "™"), ("\u2190", "\u2223"), ("\u2225", "\u2246"),
            ("\u2248", "\u22ab"), ("\u2500", "\u25ff"))  # fmt: skip
_LONG = 16  # rows from which a table may break over pages
_PREAMBLE = """\
#set document(title: {title}, author: "KernelLab", date: datetime({date}))
#set page(paper: "a4", margin: (x: 2.1cm, top: 2.0cm, bottom: 2.2cm), numbering: "1",
  footer: context align(center, text(size: 8.5pt, fill: luma(40%), counter(page).display())))
#set text(font: {font}, size: 10pt, hyphenate: false, lang: "en", fallback: true)
#set par(justify: false, leading: 0.62em, spacing: 0.95em)
#show raw: set text(font: "DejaVu Sans Mono")
#show raw.where(block: true): it => block(width: 100%, fill: luma(96.5%), stroke: 0.5pt + luma(85%), inset: 6pt,
  breakable: true, text(size: 6.9pt, it))
#show heading: set block(above: 1.35em, below: 0.65em)
#show heading.where(level: 1): set text(size: 12.5pt)
#show heading.where(level: 2): set text(size: 11pt)
#set table(stroke: none, inset: (x: 3.2pt, y: 3pt))
#show table: set text(size: 8.4pt)
#show table: set par(justify: false, leading: 0.5em)
#let kltable(caption, widths, align, long, head, ..cells) = block(width: 100%, spacing: 1.3em, breakable: long)[
  #block(below: 0.5em, sticky: true, text(size: 9pt, fill: luma(25%), caption))
  #table(columns: widths, align: align,
    table.header(repeat: false, table.hline(stroke: 0.9pt), ..head.map(h => strong(h)), table.hline(stroke: 0.6pt)),
    ..cells, table.hline(stroke: 0.9pt))]
#let klnote(body) = block(width: 100%, inset: 7pt, fill: rgb("#fdf1f2"), stroke: (left: 3pt + rgb("#b00020")),
  strong(body))
#let klfigure(file, alt, caption) = block(breakable: false, width: 100%, spacing: 1.4em,
  figure(image(file, alt: alt, width: auto), caption: none, supplement: none, numbering: none, kind: image) +
  block(above: 0.5em, text(size: 9pt, fill: luma(25%), caption)))
#pdf.attach("{attached}", read("{attached}", encoding: none), relationship: "data", mime-type: "application/json",
  description: "the claims of this paper")
"""


def render(paper: PaperFile, svgs: Mapping[str, str]) -> bytes:
    drawn = {name: spelled(svg, paper.font) for name, svg in svgs.items()}
    return typeset(source(paper), dumped(paper), drawn, paper.font, int(made(paper).timestamp()))


def spelled(text: str, font: str) -> str:
    """What the typefaces that come with typst cannot print, or would print from right to left, by its number: U+6F22.

    A typeface of the user's own is taken to have the signs that the run and the template use."""
    if font != FONT or text.isascii():
        return text
    return "".join(sign if _prints(sign) else f"U+{ord(sign):04X}" for sign in text)


def _prints(sign: str) -> bool:
    return any(low <= sign <= high for low, high in _PRINTED) and unicodedata.category(sign)[0] != "M"


def typeset(text: str, attached: bytes, svgs: Mapping[str, str], font: str, stamp: int) -> bytes:
    """A font that is not there, and anything else that typst warns of, is a fault: no page is printed in a guessed font."""
    try:
        import typst
    except ImportError:
        raise EnvironmentFault("papers need the package 'typst', which is not installed", EXTRA) from None
    files = {"main.typ": text.encode(), ATTACHED: attached, **{f"{n}.svg": svg.encode() for n, svg in svgs.items()}}
    compile_files: Any = typst.compile_with_warnings  # its stubs do not know yet that a dict of files is taken
    try:
        data, warnings = compile_files(files, ignore_system_fonts=font == FONT, timestamp=stamp)
    except typst.TypstError as error:
        raise EnvironmentFault(f"the PDF cannot be set: {error.message}",
                               "check the template; a font that no file holds cannot be used") from None  # fmt: skip
    told = [str(w.message) for w in warnings]
    if fonts := [t for t in told if "font family" in t]:
        raise EnvironmentFault(f"the PDF cannot be set: {fonts[0]}",
                               f"install that font, or leave --font out ('{FONT}' comes with typst)")  # fmt: skip
    if told:
        raise EnvironmentFault(f"the PDF would not be as meant: {told[0]}", "check the template")
    return bytes(data)


def source(paper: PaperFile) -> str:
    """The typst text. Words and claims stand in it as strings, so nothing of a ledger is read as markup."""
    date = made(paper)
    when = f"year: {date.year}, month: {date.month}, day: {date.day}"
    head = _PREAMBLE.format(title=_quoted(paper.title), date=when, font=_quoted(paper.font), attached=ATTACHED)
    return head + "\n\n".join(_blocks(paper)) + "\n"


def made(paper: PaperFile) -> datetime:
    """The day of the run, not of the printing: the same ledger gives the same file."""
    started = next((str(c.value) for c in paper.claims if c.formula == "time"), "")
    return datetime.strptime(started or "1970-01-01 00:00", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def _blocks(paper: PaperFile) -> Iterator[str]:
    claims = {c.id: c for c in paper.claims}
    number = {r.key: n for n, r in enumerate(paper.references, 1)}
    alts = {f.name: f.alt for f in paper.figures}
    titles = labels(paper.blocks)

    def inline(text: str) -> str:
        told = []
        for piece in pieces(text, claims):
            shown = spelled(piece.text, paper.font)
            if piece.kind == "cite":
                told.append(f"#{_quoted(f'[{number.get(piece.text, chr(63))}]')}")
            elif piece.kind in ("code", "claim-code"):
                told.append(f"#raw({_quoted(_breaking(shown))})")
            else:
                told.append(f"#{_quoted(shown)}")
        return "".join(told)

    def plain(text: str) -> str:
        return "".join(spelled(p.text, paper.font) for p in pieces(text, claims))

    def one(block: Block) -> str:
        text = inline(block.text)
        match block.kind:
            case "title":
                return f"#block(below: 0.7em, text(size: 16.5pt, weight: 600)[{text}])"
            case "byline":
                return f"#block(below: 1.3em, text(size: 9pt, fill: luma(35%))[{text}])"
            case "heading":
                return f"#heading(level: {block.level})[{text}]"
            case "note":
                return f"#klnote[{text}]"
            case "list":
                return "#list(" + ", ".join(f"[{inline(row[0])}]" for row in block.rows) + ")"
            case "table":
                texts = [[plain(cell) for cell in row] for row in block.rows]
                widths = _widths(texts)
                align = ", ".join("right" if n else "left" for n in numeric_columns(texts)) + ","
                head = ", ".join(f"[{inline(cell)}]" for cell in block.rows[0])
                long = "true" if len(block.rows) > _LONG else "false"
                cells = ",\n  ".join(", ".join(f"[{inline(c)}]" for c in row) for row in block.rows[1:])
                caption = f"[#{_quoted(titles[block.id] + ' ')}{text}]"
                return f"#kltable({caption}, ({widths}), ({align}), {long}, ({head},), {cells})"
            case "figure":
                caption = f"#{_quoted(titles[block.id] + ' ')}{text}"
                return f'#klfigure("{block.name}.svg", {_quoted(alts[block.name])}, [{caption}])'
            case "code":
                return f"#raw({_quoted(plain(block.text))}, block: true)"
            case "references":
                return "\n\n".join(
                    f"#par(hanging-indent: 1.6em)[#{_quoted(f'[{n}] {r.text} ')}#raw({_quoted(_breaking(r.url))})]"
                    for n, r in enumerate(paper.references, 1)
                )
            case _:
                return f"#par[{text}]"

    for block in paper.blocks:
        yield one(block)


def _widths(rows: list[list[str]]) -> str:
    """Narrow columns as wide as their text, wide ones share what is left in proportion to it (within bounds)."""
    widths = []
    narrow = 24 if len(rows[0]) <= 4 else 12
    for column in zip(*rows, strict=True):
        longest = max(map(len, column[1:]), default=0)
        word = max((len(w) for cell in column for w in re.split(r"[\s_.,=/:-]", cell)), default=1)
        if longest <= narrow and word <= narrow:
            widths.append("auto" if len(column[0]) <= 14 else f"{max(longest, 12)}fr")
        else:
            widths.append(f"{min(max(longest, 16), 60)}fr")
    return ", ".join(widths) + ("," if len(widths) == 1 else "")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "")
    return f'"{escaped}"'


def _breaking(text: str) -> str:
    """Long names may break after their joints, and digests anywhere."""
    return _BREAKABLE.sub(_ZERO_WIDTH, text) if len(text) > 14 else text
