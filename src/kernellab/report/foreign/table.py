"""Reading a foreign table: CSV or Markdown, columns known by their headings and units, captions by the words around them.

A CSV file may carry lines that start with '#': they are captions. In Markdown every line of text belongs to the table that
follows it without a heading between, or else to the one before it. What a heading does not say is not guessed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kernellab.core.errors import UsageError
from kernellab.report.printed import Span, span_of

Role = Literal[
    "latency", "base-latency", "rate", "speedup", "rate-ratio", "peak", "share", "shape", "dtype", "bytes", "count",
    "mean", "median", "rank", "name",
]  # fmt: skip
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
_RATES = {"mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12, "mib/s": 2.0**20, "gib/s": 2.0**30, "tib/s": 2.0**40, "gbps": 1e9}
_BYTES = {"b": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
_SHAPE = re.compile(r"(\d+)((?:\s*[x×,*]\s*\d+)+)", re.IGNORECASE)
_MOST_BYTES = 5_000_000


@dataclass(frozen=True)
class Column:
    heading: str
    role: Role
    scale: float = 1.0
    unit: str = ""
    over: float | None = None


@dataclass(frozen=True)
class Row:
    line: int
    cells: tuple[str, ...]


@dataclass
class ForeignTable:
    columns: list[Column]
    rows: list[Row]
    caption: list[str] = field(default_factory=list)
    name: str = ""

    def spans(self, row: Row, role: Role) -> list[tuple[Column, Span]]:
        """The cells of this role as quantities in base units (seconds, bytes a second, bytes, one)."""
        found = []
        for column, cell in zip(self.columns, row.cells, strict=False):
            if column.role == role and (span := quantity(cell, column)) is not None:
                found.append((column, span))
        return found

    def text(self, row: Row, role: Role) -> str:
        return next((c for k, c in zip(self.columns, row.cells, strict=False) if k.role == role and c), "")


def read_tables(file: Path) -> list[ForeignTable]:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{file} is too large for a table", "give the table alone")
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not text in UTF-8", "save the table as CSV or Markdown") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", "give a CSV or Markdown file") from None
    piped = any(line.lstrip().startswith("|") for line in text.splitlines())
    tables = _markdown(text) if piped else _comma_separated(text)
    tables = [t for t in tables if t.rows]
    if not tables:
        raise UsageError(f"{file} holds no table", "give CSV with a heading line, or a Markdown table with | and ---")
    known = {"latency", "rate", "speedup", "share", "count", "median"}
    if not any(c.role in known for t in tables for c in t.columns):
        raise UsageError(f"{file} has no column that can be checked",
                         "name columns as 'latency (ms)', 'GB/s', 'speed-up', 'peak (GB/s)', '% of peak'")  # fmt: skip
    return tables


def _comma_separated(text: str) -> list[ForeignTable]:
    caption, body = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            caption.append(line.lstrip("# ").strip())
        elif line.strip():
            body.append((number, line))
    if len(body) < 2:
        return []
    try:
        cells = list(csv.reader([line for _, line in body], delimiter="\t" if "\t" in body[0][1] else ","))
    except csv.Error as error:
        raise UsageError(f"the CSV cannot be read: {error}", "quote cells that hold a comma") from None
    rows = [Row(n, tuple(c.strip() for c in row)) for (n, _), row in zip(body, cells, strict=False)]
    return [_table(rows, caption, "table 1")]


def _markdown(text: str) -> list[ForeignTable]:
    """Tables in order. Text above a table, up to the last heading or table, is its caption; so is text that follows it."""
    found: list[tuple[list[Row], list[str]]] = []
    pending: list[str] = []
    open_table: list[Row] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("|"):
            if open_table is None:
                open_table = []
                found.append((open_table, pending))
                pending = []
            if not re.fullmatch(r"[|:\s-]+", line):
                open_table.append(Row(number, tuple(c.strip() for c in line.strip("|").split("|"))))
            continue
        open_table = None
        if line.startswith("#"):
            pending = []
        elif line and not line.startswith("<!--"):
            pending = [*pending, line]
            if found and not _heads(line):
                found[-1][1].append(line)
                pending = []
    return [_table(rows, caption, f"table {n}") for n, (rows, caption) in enumerate(found, 1)]


def _heads(line: str) -> bool:
    """Whether a line of text says that it belongs to the table below."""
    return line.rstrip().endswith(":")


def _table(rows: Sequence[Row], caption: list[str], name: str) -> ForeignTable:
    return ForeignTable([column_of(h) for h in rows[0].cells] if rows else [], list(rows[1:]), caption, name)


def column_of(heading: str) -> Column:
    """What a column holds, by its heading: 'Latency (ms)', 'Throughput (GB/s) vs eager', 'Success >1.01×'."""
    low = heading.lower().replace("μ", "µ")
    unit = _unit(low)
    versus = re.search(r"speed-?\s?up|\bvs\.?\b|\bversus\b|\bratio\b|×\s*$", low)
    if re.search(r"\bpeak\b", low) and ("%" in low or "share" in low or re.search(r"\bof\b", low)):
        return Column(heading, "share", 0.01, "%")
    if re.search(r"\bpeak\b|theoretical", low):
        return Column(heading, "peak", _RATES.get(unit, 1e9), unit or "gb/s")
    over = re.search(r">\s*=?\s*(\d+(?:\.\d+)?)", low)
    if over or "correct" in low or "pass" in low or "success" in low:
        return Column(heading, "count", over=float(over[1]) if over else None)
    if unit in _RATES or "throughput" in low or "bandwidth" in low:
        return Column(heading, "rate-ratio") if versus else Column(heading, "rate", _RATES.get(unit, 1e9), unit)
    if "latency" in low or "time" in low.split() or (unit in _SECONDS and unit != "s"):
        if versus:
            return Column(heading, "speedup")
        based = re.search(r"baseline|reference|\beager\b|before", low)
        return Column(heading, "base-latency" if based else "latency", _SECONDS.get(unit, 0.0), unit)
    if re.search(r"\bmean\b|average", low):
        return Column(heading, "mean")
    if "median" in low:
        return Column(heading, "median")
    if versus:
        return Column(heading, "speedup")
    if re.search(r"\bshape\b|\bsize\b|dims?\b", low):
        return Column(heading, "shape")
    if "dtype" in low or "precision" in low or low.strip() == "type":
        return Column(heading, "dtype")
    if "bytes" in low or "moved" in low:
        return Column(heading, "bytes", _BYTES.get(unit, 1.0), unit)
    if low.strip() in ("rank", "#", "place"):
        return Column(heading, "rank")
    return Column(heading, "name")


def quantity(cell: str, column: Column) -> Span | None:
    """A cell in base units; a unit in the cell itself overrules the heading's."""
    span = span_of(cell)
    if span is None:
        return None
    scales = {"latency": _SECONDS, "base-latency": _SECONDS, "rate": _RATES, "peak": _RATES, "bytes": _BYTES}.get(
        column.role
    )
    scale = column.scale
    if scales is not None and (own := _unit(cell.lower().replace("μ", "µ"))) in scales:
        scale = scales[own]
    return span.scaled(scale) if scale else None


def shape_of(text: str) -> tuple[int, ...] | None:
    found = _SHAPE.search(text)
    return tuple(int(n) for n in re.findall(r"\d+", found[0])) if found else None


def _unit(low: str) -> str:
    for unit in re.findall(r"[a-zµ]+/s|gbps|[a-zµ]+", low):
        if unit in _RATES or unit in _SECONDS or unit in ("mib", "gib", "kib", "mb", "gb", "kb", "bytes"):
            return str(unit)
    return ""
