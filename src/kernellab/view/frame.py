"""From facts to HTML: templates with escaping on, one style and one script inside each page, a policy that allows no other.

Covered: every text of a ledger is escaped, and freed of what turns it round or moves a cursor, before it stands in a page;
no page loads, links to or runs anything but its own. Drawings alone go in as they are: they are the chart code's own SVG.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kernellab.core.outlook import duration
from kernellab.core.printable import printable
from kernellab.view.drawings import Drawing

_MOST_NAME = 160


@cache
def asset(name: str) -> str:
    return files("kernellab.view").joinpath("assets", name).read_text(encoding="utf-8")


def policy(served: bool) -> str:
    """What a page may do. A file cannot forbid that it is framed, nor has it a server to ask."""
    script, style = (_hash(asset(name)) for name in ("view.js", "view.css"))
    parts = ["default-src 'none'", f"script-src '{script}'", f"style-src '{style}'", "img-src data:", "base-uri 'none'"]
    more = ["connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'"]
    return "; ".join([*parts, *(more if served else ["form-action 'none'"])])


def render(template: str, depth: int, served: bool, **facts: Any) -> str:
    """`depth`: how many folders below the first page it lies; links are relative, so files and a server have the same."""
    return _templates().get_template(template).render(root="../" * depth, served=served, **facts)


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("kernellab.view"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_clean,
    )  # fmt: skip
    made.filters.update(short=_short, figure=_figure, svg=_svg, duration=duration)
    made.globals.update(style=Markup(asset("view.css")), script=Markup(asset("view.js")), policy=policy)
    return made


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _clean(value: Any) -> Any:
    if value is None:
        return ""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _short(text: str, most: int = _MOST_NAME) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _figure(value: float | None, form: str = ".4g", unit: str = "") -> str:
    return "" if value is None else f"{value:{form}}{unit}"


def _svg(drawn: Drawing) -> Markup:
    """The chart code escapes what it writes. To a screen reader it is one picture: the label says what its parts would."""
    return Markup(drawn.svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1))
