"""Forgeries of a paper and its ledger, one small change each, as somebody might make it who hopes that nobody looks.

Each function changes one thing at random and says what; the rest of the files stays sound.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from kernellab.report.paper import charts, pdf
from kernellab.report.paper.claims import MARK
from kernellab.report.paper.document import Block, PaperFile
from kernellab.report.paper.html_page import dumped

_DIGIT = re.compile(r"\d")
_SAMPLES = re.compile(r'"(?:candidate_s|baseline_s)":\[([^\]]+)\]')
_SYMBOL = re.compile(r'transform="translate\((-?[\d.]+),(-?[\d.]+)\)" d="M')
KINDS = ("json", "html", "pdf")


def load(folder: Path) -> PaperFile:
    return PaperFile.model_validate_json((folder / "paper.json").read_bytes())


def change_sample(ledger: Path, rng: random.Random) -> str:
    """One significant digit of one sample of one timing."""
    text = ledger.read_text()
    found = rng.choice(list(_SAMPLES.finditer(text)))
    samples = found[1].split(",")
    at = rng.randrange(len(samples))
    mantissa = samples[at].partition("e")[0]
    digits = [i for i, sign in enumerate(mantissa) if sign.isdigit()][: rng.choice((4, 8))]
    old = samples[at]
    samples[at] = _other_digit(old, rng.choice(digits[1:] or digits), rng)
    ledger.write_text(text[: found.start(1)] + ",".join(samples) + text[found.end(1) :])
    return f"sample {old} to {samples[at]}"


def change_digit(folder: Path, out: Path, kind: str, rng: random.Random) -> str:
    """One digit that a reader sees, in this kind of file; the claims inside stay as they were (but for the JSON)."""
    paper = load(folder)
    if kind == "json":
        return _digit_in_claims(paper, out, rng)
    if kind == "html":
        return _digit_in_page(folder, out, rng)
    claims = {c.id: c for c in paper.claims}
    shown = sorted({n for block in paper.blocks for text in _texts(block) for n in MARK.findall(text)})
    name = rng.choice([n for n in shown if _DIGIT.search(claims[n].printed)])
    new = _forge(claims[name].printed, rng)
    forged = [c.model_copy(update={"printed": new}) if c.id == name else c for c in paper.claims]
    visible = paper.model_copy(update={"claims": forged})
    out.write_bytes(pdf.typeset(pdf.source(visible), dumped(paper), drawings(paper), paper.font, _stamp(paper)))
    return f"{claims[name].printed[:40]!r} to {new[:40]!r}"


def move_point(folder: Path, out: Path, kind: str, rng: random.Random) -> str:
    """One point of one figure: in the rows of the claims file, or in the drawing that a reader sees."""
    paper = load(folder)
    if kind == "json":
        data: dict[str, Any] = json.loads((folder / "paper.json").read_bytes())
        figure = rng.choice(data["figures"])
        row = rng.choice(figure["rows"])
        name = rng.choice([k for k, v in row.items() if isinstance(v, float)])
        row[name] *= 1 + rng.choice((-1, 1)) * rng.uniform(0.001, 0.2)
        out.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
        return f"{figure['name']} {name}"
    svgs = drawings(paper)
    name = rng.choice(sorted(svgs))
    moved = _moved(svgs[name], rng)
    if kind == "html":
        page = (folder / "paper.html").read_text()
        assert page.count(svgs[name]) == 1
        out.write_text(page.replace(svgs[name], moved))
    else:
        svgs = {**svgs, name: moved}
        out.write_bytes(pdf.typeset(pdf.source(paper), dumped(paper), svgs, paper.font, _stamp(paper)))
    return f"a point of {name}"


def drawings(paper: PaperFile) -> dict[str, str]:
    return {f.name: charts.draw(f.spec, f.rows) for f in paper.figures}


def _moved(svg: str, rng: random.Random) -> str:
    found = rng.choice(list(_SYMBOL.finditer(svg)))
    x, y = (float(v) + rng.choice((-1, 1)) * rng.uniform(1.0, 20.0) for v in found.groups())
    return svg[: found.start()] + f'transform="translate({x:.3f},{y:.3f})" d="M' + svg[found.end() :]


def _digit_in_claims(paper: PaperFile, out: Path, rng: random.Random) -> str:
    data: dict[str, Any] = json.loads(dumped(paper))
    claim = rng.choice([c for c in data["claims"] if _DIGIT.search(c["printed"])])
    if not isinstance(claim["value"], str) and rng.random() < 0.5:
        claim["value"] = claim["value"] + 1 if isinstance(claim["value"], int) else claim["value"] * 1.001
    else:
        claim["printed"] = _forge(claim["printed"], rng)
    out.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    return f"claim {claim['id']}"


def _digit_in_page(folder: Path, out: Path, rng: random.Random) -> str:
    page = (folder / "paper.html").read_text()
    start, end = page.index("<main>"), page.index("</main>")
    nodes = [m for m in re.finditer(r">([^<>]+)<", page[start:end]) if _DIGIT.search(m[1])]
    node = rng.choice(nodes)
    new = _forge(node[1], rng)
    out.write_text(page[: start + node.start(1)] + new + page[start + node.end(1) :])
    return f"{node[1][:40]!r} to {new[:40]!r}"


def _forge(text: str, rng: random.Random) -> str:
    return _other_digit(text, rng.choice([i for i, sign in enumerate(text) if sign in "0123456789"]), rng)


def _other_digit(text: str, at: int, rng: random.Random) -> str:
    return text[:at] + rng.choice([d for d in "0123456789" if d != text[at]]) + text[at + 1 :]


def _texts(block: Block) -> list[str]:
    return [block.text, *(cell for row in block.rows for cell in row)]


def _stamp(paper: PaperFile) -> int:
    return int(pdf.made(paper).timestamp())
