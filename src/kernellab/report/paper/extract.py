"""What a reader sees of a paper's file, and the claims file inside it. The reader's side of the audit: no renderer is used.

Covered: text that is drawn as text. Not covered here: what a drawing hides or shifts; the audit redraws pages for that.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from pydantic import ValidationError

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.ids import sha256_hex
from kernellab.report.paper.charts import EXTRA
from kernellab.report.paper.document import PaperFile
from kernellab.report.paper.html_page import CLAIMS_ID
from kernellab.report.paper.markdown import figure_file
from kernellab.report.paper.pdf import ATTACHED

_HIDDEN = ("script", "style", "title", "head")
_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_FIX = "give paper.json, .pdf, .html or .md as 'klab paper' wrote it"
_SVG_TAGS = frozenset(("svg", "g", "path", "rect", "line", "text", "tspan", "defs", "clippath", "circle", "title"))
_MOST_BYTES = 200_000_000


@dataclass(frozen=True)
class Opened:
    """`visible` is None for the claims file and for Markdown, which are compared whole. `svgs`: a page's drawings. `odd`:
    wrong page numbers, tags that are none of a drawing's. `beside`: what Markdown shows or leans on, None where missing."""

    kind: str
    data: bytes
    paper: PaperFile
    visible: str | None = None
    svgs: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    beside: Mapping[str, bytes | None] = field(default_factory=dict)


def open_paper(file: Path) -> Opened:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{file} is too large to be a paper", _FIX)
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", _FIX) from None
    if data.startswith(b"%PDF"):
        return _open_pdf(file, data)
    if data.lstrip()[:9].lower() == b"<!doctype":
        return _open_html(file, data)
    if file.suffix == ".md":
        return _open_markdown(file, data)
    if data.lstrip()[:4] == b"<svg":
        raise UsageError(f"{file} is a drawing of a paper and holds no claims", f"audit the paper itself: {_FIX}")
    return Opened("json", data, _parse(file, data))


def _open_markdown(file: Path, data: bytes) -> Opened:
    """Markdown has no place for claims and drawings: they are the files beside it, and are checked as any."""
    claims = file.with_name(ATTACHED)
    if not claims.is_file():
        raise UsageError(f"{file} carries no claims, and there is no {ATTACHED} beside it", _FIX)
    paper = _parse(claims, claims.read_bytes())
    beside = {name: _bytes(file.parent / name) for name in (ATTACHED, *map(figure_file, paper.figures))}
    return Opened("md", data, paper, beside=beside)


def _bytes(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except (OSError, ValueError):
        return None


def _parse(file: Path, data: bytes) -> PaperFile:
    try:
        return PaperFile.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{file} is not a paper of KernelLab: {where or 'claims file'}: {first['msg']}", _FIX
        ) from None


def _open_html(file: Path, data: bytes) -> Opened:
    text = data.decode(errors="replace")
    reader = _Reader()
    reader.feed(text)
    try:
        inside = base64.b64decode(reader.claims, validate=True)
    except binascii.Error:
        raise UsageError(f"{file}: the claims inside are damaged", _FIX) from None
    if not inside:
        raise UsageError(f"{file} holds no claims: it is not a paper of KernelLab", _FIX)
    svgs = tuple(_SVG.findall(text))
    odd = tuple(f"a drawing holds <{tag}>, which drawings of a paper do not have" for tag in _strange_tags(svgs))
    return Opened("html", data, _parse(file, inside), "".join(reader.text), svgs, odd)


def _strange_tags(svgs: tuple[str, ...]) -> list[str]:
    """Tags that could hide or add what the text does not tell: pictures, styles, scripts, foreign objects."""
    found = {tag.lower() for svg in svgs for tag in re.findall(r"<\s*([^\s/>!?]+)", svg)}
    return sorted(found - _SVG_TAGS)


class _Reader(HTMLParser):
    """Visible text, words in drawings included; the claims file apart."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.claims = ""
        self._hidden: list[str] = []
        self._claims = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
            self._claims = tag == "script" and dict(attrs).get("id") == CLAIMS_ID

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            self._hidden.remove(tag)
        self.text.append(" ")

    def handle_data(self, data: str) -> None:
        if self._claims and self._hidden:
            self.claims += data
        elif not self._hidden:
            self.text.append(data)


def _open_pdf(file: Path, data: bytes) -> Opened:
    try:
        import pypdf
        from pypdf.errors import PyPdfError
    except ImportError:
        raise EnvironmentFault("to audit a PDF the package 'pypdf' is needed, which is not installed", EXTRA) from None
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        attached = reader.attachments.get(ATTACHED) or [b""]
        pages = [page.extract_text() for page in reader.pages]
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise UsageError(f"{file} is not a readable PDF: {error}", _FIX) from None
    if not attached[0]:
        raise UsageError(f"{file} has no claims attached: it is not a paper of KernelLab", _FIX)
    texts, odd = [], []
    for number, page in enumerate(pages, 1):
        body, _, foot = page.rstrip().rpartition("\n")
        if foot.strip() != str(number):
            odd.append(f"page {number} is numbered '{foot.strip()[:20]}'")
            body = page
        texts.append(body)
    return Opened("pdf", data, _parse(file, attached[0]), "\n".join(texts), odd=tuple(odd))


def drawn_pages(data: bytes) -> list[str]:
    """A digest of what each page draws: its operators, and the drawings and fonts that it names."""
    import pypdf

    return [_digest(page) for page in pypdf.PdfReader(io.BytesIO(data)).pages]


def _digest(page: object) -> str:
    seen: set[int] = set()

    def walk(item: object) -> bytes:
        found = item.get_object() if hasattr(item, "get_object") else item
        if id(found) in seen:
            return b"~"
        if isinstance(found, dict):
            seen.add(id(found))
            own = found.get_data() if hasattr(found, "get_data") else b""
            parts = [str(k).encode() + walk(v) for k, v in sorted(found.items()) if k not in _NOT_DRAWN]
            return b"<" + own + b"".join(parts) + b">"
        if isinstance(found, list):
            return b"[" + b"".join(map(walk, found)) + b"]"
        return str(found).encode()

    return sha256_hex(walk(page))


_NOT_DRAWN = ("/Parent", "/StructParents", "/StructParent", "/Annots", "/Tabs", "/P", "/Length")
