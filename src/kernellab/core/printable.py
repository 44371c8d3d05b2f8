"""What untrusted code said, for a person's screen."""

from __future__ import annotations


def printable(text: str) -> str:
    """Without the characters that move a cursor, clear a line, turn text round, or are half of one: a terminal would obey
    them, and show a verdict that nobody gave."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " if c.isspace() else "\ufffd" for c in text)
