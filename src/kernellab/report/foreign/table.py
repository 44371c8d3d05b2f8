"""Reading a foreign table: CSV (comma, semicolon or tab) or Markdown, captions by the words around it.

A CSV file may carry lines that start with '#': they are captions. In Markdown every line of text belongs to the table that
follows it without a heading between, or else to the one before it. What a heading does not say is not guessed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.report.foreign.column import Column, Role, column_of, in_order, quantity
from kernellab.report.printed import Span

_MOST_BYTES = 5_000_000
_LONGEST_CELL = 300


@dataclass(frozen=True)
class Row:
    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """A figure of a table: where it stands, and all that it may be."""

    line: int
    index: int
    column: Column
    span: Span


@dataclass
class ForeignTable:
    """`unfit`: rows with more cells than headings, which nobody can tell apart."""

    columns: list[Column]
    rows: list[Row]
    unfit: list[Row] = field(default_factory=list)
    caption: list[str] = field(default_factory=list)
    name: str = ""

    def spans(self, row: Row, *roles: Role) -> list[Cell]:
        """The cells of these roles as quantities in base units (seconds, bytes a second, bytes, one)."""
        found = []
        for index, (column, cell) in enumerate(zip(self.columns, row.cells, strict=True)):
            if column.role in roles and (span := quantity(cell, column)) is not None:
                found.append(Cell(row.line, index, column, span))
        return found

    def text(self, row: Row, role: Role) -> str:
        return next((c for k, c in zip(self.columns, row.cells, strict=True) if k.role == role and c), "")


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
    tables = [t for t in tables if t.rows or t.unfit]
    if not tables:
        raise UsageError(f"{file} holds no table", "give CSV with a heading line, or a Markdown table with | and ---")
    known = {"latency", "base-latency", "rate", "speedup", "slowdown", "share", "count", "median", "flops"}
    if not any(c.role in known or in_order(c.heading) for t in tables for c in t.columns):
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
    delimiter = _delimiter(body[0][1])
    reader = csv.reader([line for _, line in body], delimiter=delimiter)
    rows = []
    try:
        for cells in reader:
            rows.append(Row(body[reader.line_num - 1][0], tuple(c.strip() for c in cells)))
    except csv.Error as error:
        raise UsageError(f"the CSV cannot be read: {error}", "quote cells that hold a comma") from None
    return [_table(_with_points(rows) if delimiter == ";" else rows, caption, "table 1")]


def _delimiter(heading: str) -> str:
    if "\t" in heading:
        return "\t"
    return ";" if heading.count(";") >= max(1, heading.count(",")) else ","


def _with_points(rows: Sequence[Row]) -> list[Row]:
    """Decimal commas as points, where a table parted by semicolons has commas that cannot set off thousands."""
    cells = [c for row in rows for c in row.cells]
    commas = any(re.match(r"[-+−]?\d+,(?:\d{1,2}|\d{4,})(?!\d)", c) for c in cells)
    if not commas or any(re.match(r"[-+−]?\d+\.\d", c) for c in cells):
        return list(rows)
    number = re.compile(r"(?<![\d,])(\d+),(\d+)(?![\d,])")
    return [Row(row.line, tuple(number.sub(r"\1.\2", c) for c in row.cells)) for row in rows]


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
                open_table.append(Row(number, tuple(c.strip("*` ") for c in _cells(line))))
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


def _cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line.removeprefix("|").removesuffix("|"))


def _heads(line: str) -> bool:
    """Whether a line of text says that it belongs to the table below."""
    return line.rstrip().endswith(":")


def _table(rows: Sequence[Row], caption: list[str], name: str) -> ForeignTable:
    """Empty cells beyond the headings are none, and missing ones are empty."""
    if not rows:
        return ForeignTable([], [], [], caption, name)
    width = len(rows[0].cells)
    fitted = [_fitted(row, width) for row in rows[1:]]
    whole, unfit = ([r for r in fitted if (len(r.cells) > width) is wide] for wide in (False, True))
    return ForeignTable([column_of(h[:_LONGEST_CELL]) for h in rows[0].cells], whole, unfit, caption, name)


def _fitted(row: Row, width: int) -> Row:
    cells = list(row.cells)
    while len(cells) > width and not cells[-1]:
        cells.pop()
    return Row(row.line, tuple(c[:_LONGEST_CELL] for c in cells + [""] * (width - len(cells))))
