"""Rows of words as a table of Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(str(c).replace("|", "\\|").split()) for c in cells) + " |"

    return [line(head), "|" + " --- |" * len(head), *(line(row) for row in rows)]
