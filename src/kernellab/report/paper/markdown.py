"""paper.md: the same text for people who read Markdown; figures are files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernellab.report.paper.document import Block, FigureFile, PaperFile, labels, pieces

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def figure_file(figure: FigureFile) -> str:
    """Where a drawing lies, seen from paper.md."""
    return f"figures/{figure.name}.svg"


def render(paper: PaperFile) -> str:
    return "\n".join(_lines(paper)).rstrip() + "\n"


def _lines(paper: PaperFile) -> Iterator[str]:
    claims = {c.id: c for c in paper.claims}
    number = {r.key: n for n, r in enumerate(paper.references, 1)}
    figures = {f.name: f for f in paper.figures}
    titles = labels(paper.blocks)

    def inline(text: str) -> str:
        said = []
        for piece in pieces(text, claims):
            if piece.kind == "cite":
                said.append(f"\\[{number.get(piece.text, '?')}\\]")
            elif piece.kind in ("code", "claim-code"):
                said.append(_code(piece.text))
            else:
                said.append(_SPECIAL.sub(r"\\\1", piece.text))
        return "".join(said)

    def block_lines(block: Block) -> Iterator[str]:
        text = inline(block.text) if block.kind != "code" else ""
        if block.kind == "title":
            yield f"# {text}"
        elif block.kind == "heading":
            yield f"{'#' * (block.level + 1)} {text}"
        elif block.kind == "note":
            yield f"> **{text}**"
        elif block.kind == "list":
            yield from (f"- {inline(row[0])}" for row in block.rows)
        elif block.kind == "table":
            yield from (f"{titles[block.id]} {text}", "")
            for at, row in enumerate(block.rows):
                yield "| " + " | ".join(inline(cell).replace("|", "\\|") for cell in row) + " |"
                if at == 0:
                    yield "|" + " --- |" * len(row)
        elif block.kind == "figure":
            figure = figures[block.name]
            alt = _SPECIAL.sub(r"\\\1", figure.alt)
            yield f"![{alt}]({figure_file(figure)})"
            yield from ("", f"{titles[block.id]} {text}")
        elif block.kind == "code":
            fence = "`" * 4
            yield from (fence, "".join(p.text for p in pieces(block.text, claims)).replace(fence, "'''"), fence)
        elif block.kind == "references":
            for n, reference in enumerate(paper.references, 1):
                told = _SPECIAL.sub(r"\\\1", reference.text)
                yield f"{n}. {told} <{reference.url}>"
        else:
            yield text

    for block in paper.blocks:
        yield from block_lines(block)
        yield ""


def _code(text: str) -> str:
    return f"``{text}``" if "`" in text else f"`{text}`"
