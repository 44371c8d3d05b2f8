"""paper.html: one file that needs nothing else. Drawings and the claims file are inside; each number tells its origin."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator, Mapping

from kernellab.report.paper.claims import Claim
from kernellab.report.paper.document import Block, PaperFile, labels, pieces
from kernellab.report.paper.formulas import FORMULAS

CLAIMS_ID = "kernellab-paper"
_NUMERIC = re.compile(r"[\d\s.,%e\[\]-]+(?: \(no win\)| \(fastest\))?|none|did not run")
_STYLE = """
:root { color-scheme: light; }
body { font: 17px/1.55 "Libertinus Serif", "Iowan Old Style", Georgia, "Times New Roman", serif; color: #1a1a1a;
  background: #fff; max-width: 56rem; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
.byline { color: #555; margin: 0 0 1.4rem; }
.note { border-left: 4px solid #b00020; background: #fdf1f2; padding: .6rem .9rem; font-weight: 600; }
code, pre { font: .84em/1.45 "DejaVu Sans Mono", Menlo, Consolas, monospace; }
code { overflow-wrap: anywhere; } table code { overflow-wrap: break-word; }
pre { background: #f6f6f4; border: 1px solid #e2e2de; padding: .8rem; overflow-x: auto; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; line-height: 1.4; }
th { text-align: left; border-bottom: 2px solid #333; padding: .35rem .55rem; vertical-align: bottom; }
td { border-bottom: 1px solid #ddd; padding: .35rem .55rem; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
caption, figcaption { text-align: left; font-size: .9rem; color: #333; padding: .3rem 0 .5rem; caption-side: top; }
caption { max-width: calc(100vw - 2.6rem); }
figure { margin: 1.4rem 0; }
figure svg { max-width: 100%; height: auto; }
svg text { font-family: "Libertinus Serif", "Iowan Old Style", Georgia, "Times New Roman", serif; }
span[data-claim] { border-bottom: 1px dotted #9a9a9a; }
th span[data-claim], .title span[data-claim] { border: 0; }
ol.refs { padding: 0; list-style: none; } ol.refs li { margin: .3rem 0; overflow-wrap: anywhere; }
@media print { body { font-size: 11pt; max-width: none; } span[data-claim] { border: 0; } }
"""


def render(paper: PaperFile, svgs: Mapping[str, str]) -> str:
    """Text goes through html.escape, drawings are vl-convert's own, and the claims file is kept out of markup's reach."""
    body = "\n".join(_blocks(paper, svgs))
    data = base64.b64encode(dumped(paper)).decode()
    title = html.escape(paper.title)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f'<script type="application/json;base64" id="{CLAIMS_ID}">{data}</script>\n</body>\n</html>\n'
    )


def dumped(paper: PaperFile) -> bytes:
    """paper.json, the same bytes wherever it is put."""
    return (json.dumps(paper.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n").encode()


def numeric_columns(rows: list[list[str]]) -> list[bool]:
    """Columns of numbers stand to the right; a column with one word in it is a column of words."""
    return [all(_NUMERIC.fullmatch(cell) for cell in column[1:]) for column in zip(*rows, strict=True)]


def _blocks(paper: PaperFile, svgs: Mapping[str, str]) -> Iterator[str]:
    claims = {c.id: c for c in paper.claims}
    number = {r.key: n for n, r in enumerate(paper.references, 1)}
    alts = {f.name: f.alt for f in paper.figures}
    titles = labels(paper.blocks)

    def inline(text: str) -> str:
        return "".join(_piece(p.kind, p.text, p.claim, number) for p in pieces(text, claims))

    def table(block: Block) -> str:
        numeric = numeric_columns([["".join(p.text for p in pieces(c, claims)) for c in row] for row in block.rows])
        kinds = [' class="n"' if n else "" for n in numeric]
        head = "".join(f'<th scope="col"{k}>{inline(c)}</th>' for k, c in zip(kinds, block.rows[0], strict=True))
        rows = "\n".join(
            "<tr>" + "".join(f"<td{k}>{inline(c)}</td>" for k, c in zip(kinds, row, strict=True)) + "</tr>"
            for row in block.rows[1:]
        )
        return (f'<div class="scroll"><table><caption>{titles[block.id]} {inline(block.text)}</caption>\n'
                f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>")  # fmt: skip

    def one(block: Block) -> str:
        text = inline(block.text)
        match block.kind:
            case "title":
                return f'<h1 class="title">{text}</h1>'
            case "heading":
                return f"<h{block.level + 1}>{text}</h{block.level + 1}>"
            case "byline" | "note":
                return f'<p class="{block.kind}">{text}</p>'
            case "list":
                return "<ul>" + "".join(f"<li>{inline(row[0])}</li>" for row in block.rows) + "</ul>"
            case "table":
                return table(block)
            case "figure":
                alt = html.escape(alts[block.name], quote=True)
                return (f'<figure><div role="img" aria-label="{alt}">{svgs[block.name]}</div>'
                        f"<figcaption>{titles[block.id]} {text}</figcaption></figure>")  # fmt: skip
            case "code":
                shown = html.escape("".join(p.text for p in pieces(block.text, claims)))
                return f"<pre><code>{shown}</code></pre>"
            case "references":
                items = (
                    f'<li>[{n}] {html.escape(r.text)} <a href="{html.escape(r.url)}">{html.escape(r.url)}</a></li>'
                    for n, r in enumerate(paper.references, 1)
                )
                return '<ol class="refs">' + "".join(items) + "</ol>"
            case _:
                return f"<p>{text}</p>"

    for block in paper.blocks:
        yield one(block)


def _piece(kind: str, text: str, claim: Claim | None, number: Mapping[str, int]) -> str:
    if kind == "cite":
        return f"[{number.get(text, '?')}]"
    shown = html.escape(text)
    if kind in ("code", "claim-code"):
        shown = f"<code>{shown}</code>"
    if claim is None:
        return shown
    origin = f"{FORMULAS[claim.formula].about}; entries {claim.entries or 'none'}"
    return f'<span data-claim="{claim.id}" title="{html.escape(origin, quote=True)}">{shown}</span>'
