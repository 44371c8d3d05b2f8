"""How many elements a shape has, however people write it: 1,024 x 1,024, (1024, 1024), M=64,N=48, 2^20, 1k x 1k."""

from __future__ import annotations

import math
import re

from kernellab.report.printed import Span

_GROUPED = r"\d{1,3}(?:[,_' \u00a0\u2009\u202f]\d{3})+"
_EXTENT = (
    rf"(?:\d{{1,9}}\s?(?:\^|\*\*)\s?\d{{1,2}}|{_GROUPED}(?!\d)|"
    r"\d{1,15}(?:\.\d{1,3})?[kKM](?![A-Za-z])|\d{1,15}(?!\d|\.\d))"
)
_CROSSED = re.compile(rf"(?<![\w.,^]){_EXTENT}(?:\s?[x×*]\s?{_EXTENT}){{1,9}}", re.IGNORECASE)
_ROW_OF = re.compile(r"[\[(]\s*(\d{1,15}(?:\s*[,;]\s*\d{1,15})*)\s*,?\s*[\])]")
_NAMED = re.compile(r"\b[A-Za-z]\w*\s*=\s*(\d{1,15})\b")
_LISTED = re.compile(r"\d{1,15}(?:\s*[;,]\s*\d{1,15})+")
_SET_OFF = re.compile(_GROUPED)


def shape_of(text: str, heading: str = "shape") -> Span | None:
    """How many elements; with 1k from 1000 to 1024 each."""
    if crossed := shape_in(text):
        return crossed
    text = text.strip()
    row = _ROW_OF.search(text)
    if row and not (_SET_OFF.fullmatch(row[1]) and ", " not in row[1]):
        return _product(re.findall(r"\d+", row[1]))
    if named := _NAMED.findall(text):
        return _product(named)
    if _LISTED.fullmatch(text) and not _SET_OFF.fullmatch(text):
        return _product(re.findall(r"\d+", text))
    alone = re.fullmatch(_EXTENT, text)
    whole = not _SET_OFF.fullmatch(text) or re.search(r"\D0", text)  # 16,384 may be 16 x 384
    one = alone and whole and re.search(r"shape|elements", heading.lower())  # one size may be the side of a square
    return _product([text]) if one else None


def shape_in(text: str) -> Span | None:
    """The first shape that is written with crosses, anywhere in a text."""
    found = _CROSSED.search(text)
    return _product(re.findall(_EXTENT, found[0])) if found else None


def extents_in(text: str) -> int:
    """How many extents a shape names."""
    found = _CROSSED.search(text)
    return len(re.findall(_EXTENT, found[0])) if found else len(re.findall(r"\d+", text))


def _product(extents: list[str]) -> Span | None:
    each = [_extent(e) for e in extents]
    low, high = math.prod(e.low for e in each), math.prod(e.high for e in each)
    return Span(low, high) if low > 0 and high < 1e30 else None


def _extent(text: str) -> Span:
    base, power, exponent = re.sub(r"[,_' \u00a0\u2009\u202f]", "", text).replace("**", "^").partition("^")
    if power:
        value = float(base) ** float(exponent) if float(exponent) * math.log10(float(base) or 1) < 30 else math.inf
        return Span(value, value)
    if base[-1] in "kKM":
        steps = 2 if base[-1] == "M" else 1
        return Span(float(base[:-1]) * 1000**steps, float(base[:-1]) * 1024**steps)
    return Span(float(base), float(base))
