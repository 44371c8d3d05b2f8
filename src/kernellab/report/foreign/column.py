"""What a column holds, by its heading and unit, and what its cells then say. What is not said is not guessed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from kernellab.report.printed import Span, span_of

Role = Literal[
    "latency", "base-latency", "rate", "speedup", "rate-ratio", "peak", "share", "shape", "dtype", "bytes", "count",
    "mean", "median", "rank", "name",
]  # fmt: skip
_SECONDS = {"ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "µs": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0,
            "nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1.0}  # fmt: skip
_RATES = {"mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12, "mib/s": 2.0**20, "gib/s": 2.0**30, "tib/s": 2.0**40, "gbps": 1e9,
          "gbit/s": 0.125e9}  # fmt: skip
_BYTES = {"b": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
_SCALES = {"latency": _SECONDS, "base-latency": _SECONDS, "rate": _RATES, "peak": _RATES, "bytes": _BYTES}
_ABOVE_ZERO: tuple[Role, ...] = ("latency", "base-latency", "rate", "rate-ratio", "speedup", "peak", "bytes")
NUMBERS: tuple[Role, ...] = (*_ABOVE_ZERO, "share", "mean", "median", "rank")
_ENDLESS = re.compile(r"(?i)^[-+−]?(?:inf(?:inity)?|∞)(?![a-z])")
_VAGUE = re.compile(r"[<>≤≥~≈]|\d[kKMGT](?![A-Za-z])|\bn/?a\b", re.IGNORECASE)
_BETWEEN = re.compile(r"(?<=\d)\s*(?:–|—|\.\.+|\bto\b|(?<![eE])-)\s*(?=\d)")
_GROUPED = r"\d{1,3}(?:[,_' \u00a0\u2009\u202f]\d{3})+"
_EXTENT = (
    rf"(?:\d{{1,9}}\s?(?:\^|\*\*)\s?\d{{1,2}}|{_GROUPED}(?!\d)|"
    r"\d{1,15}(?:\.\d{1,3})?[kKM](?![A-Za-z])|\d{1,15}(?![\d.]))"
)
_CROSSED = re.compile(rf"(?<![\w.,^]){_EXTENT}(?:\s?[x×*]\s?{_EXTENT}){{1,9}}", re.IGNORECASE)
_ROW_OF = re.compile(r"[\[(]\s*(\d{1,15}(?:\s*[,;]\s*\d{1,15})*)\s*,?\s*[\])]")
_NAMED = re.compile(r"\b[A-Za-z]\w*\s*=\s*(\d{1,15})\b")
_LISTED = re.compile(r"\d{1,15}(?:\s*[;,]\s*\d{1,15})+")
_SET_OFF = re.compile(_GROUPED)


@dataclass(frozen=True)
class Column:
    """`scale` brings its figures to base units (seconds, bytes a second, bytes, one); 0: the heading names no unit."""

    heading: str
    role: Role
    scale: float = 1.0
    unit: str = ""
    over: float | None = None


def column_of(heading: str) -> Column:
    """What a column holds, by its heading: 'Latency (ms)', 'Throughput (GB/s) vs eager', 'Success >1.01×'."""
    low = _folded(heading)
    unit = _unit(low)
    versus = re.search(r"speed-?\s?up|\bvs\.?\b|\bversus\b|\bratio\b|×\s*$", low)
    if re.search(r"\bpeak\b", low) and ("%" in low or "share" in low or re.search(r"\bof\b", low)):
        return Column(heading, "share", 0.01, "%")
    if re.search(r"\bpeak\b|theoretical", low):
        return Column(heading, "peak", _RATES.get(unit, 0.0), unit)
    over = re.search(r">\s*=?\s*(\d{1,15}(?:\.\d{1,15})?)", low)
    if over or "correct" in low or "pass" in low or "success" in low:
        return Column(heading, "count", over=float(over[1]) if over else None)
    if unit in _RATES or "throughput" in low or "bandwidth" in low:
        return Column(heading, "rate-ratio") if versus else Column(heading, "rate", _RATES.get(unit, 0.0), unit)
    if _is_time(low, unit):
        if versus:
            return Column(heading, "speedup")
        based = re.search(r"baseline|reference|\beager\b|before", low)
        return Column(heading, "base-latency" if based else "latency", _SECONDS.get(unit, 0.0), unit)
    return Column(heading, "speedup") if versus and not re.search(r"\bmean\b|average|median", low) else _other(heading)


def _other(heading: str) -> Column:
    low = _folded(heading)
    if re.search(r"\bmean\b|average", low):
        return Column(heading, "mean")
    if "median" in low:
        return Column(heading, "median")
    if re.search(r"\bshape\b|\bsize\b|dims?\b|\belements\b", low):
        return Column(heading, "shape")
    if "dtype" in low or "precision" in low or low.strip() == "type":
        return Column(heading, "dtype")
    if "bytes" in low or "moved" in low:
        return Column(heading, "bytes", _BYTES.get(_unit(low), 1.0), _unit(low))
    return Column(heading, "rank" if low.strip() in ("rank", "#", "place") else "name")


def _is_time(low: str, unit: str) -> bool:
    if re.search(r"compil|build|tuning|setup", low):
        return False
    named = re.search(r"latency|\btime\b|runtime|duration|elapsed", low)
    return bool(named) or (unit in _SECONDS and unit != "s") or bool(re.search(r"[(\[]s(?:ec)?[)\]]", low))


def quantity(cell: str, column: Column) -> Span | None:
    """A cell in base units, a range from end to end; a unit in the cell overrules the heading's. None: cannot be read."""
    if _VAGUE.search(cell) or (column.role in ("speedup", "rate-ratio") and "%" in cell):
        return None
    ends = [span_of(part) for part in _BETWEEN.split(cell, maxsplit=1)]
    found = [s for s in ends if s is not None]
    if not found or len(found) < len(ends):
        return None
    own = _unit(_folded(cell))
    scale = _SCALES.get(column.role, {}).get(own, column.scale)
    span = found[0] if len(found) == 1 else Span(min(s.low for s in found), max(s.high for s in found))
    return span.scaled(scale) if scale else None


def impossible(cell: str, column: Column) -> str:
    """Why no measurement can have given this cell, or ''."""
    if column.role not in NUMBERS:
        return ""
    if _ENDLESS.match(cell) or (re.match(r"[-+−]?\d[\d.]*[eE]\+?\d{3,}", cell) and span_of(cell) is None):
        return "is not finite"
    span = quantity(cell, Column(column.heading, column.role, column.scale or 1.0))
    if span is not None and column.role in _ABOVE_ZERO and span.middle <= 0:
        return "must be above zero"
    return "must not be negative" if span is not None and column.role == "share" and span.high < 0 else ""


def shape_of(text: str, heading: str = "shape") -> Span | None:
    """How many elements a shape has: 1,024 x 1,024, (1024, 1024), M=64,N=48, 2^20, 1k x 1k (from 1000 to 1024 each)."""
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


def _folded(text: str) -> str:
    return re.sub(r"\b([GMT])b(?:/s|ps)\b", lambda m: f"{m[1]}bit/s", text).lower().replace("μ", "µ")


def _unit(low: str) -> str:
    for unit in re.findall(r"[a-zµ]+/s|gbps|[a-zµ]+", low):
        if unit in _RATES or unit in _SECONDS or unit in ("mib", "gib", "kib", "mb", "gb", "kb", "bytes"):
            return str(unit)
    return ""
