"""How many pairs stand behind a speed-up, worded once: a figure whose pairs were mostly dropped is another figure."""

from __future__ import annotations


def pairs_kept(kept: int, dropped: int) -> str:
    """For print beside a speed-up: what was kept, and what was thrown away of everything that was tried."""
    return f"{kept} pair{'s' if kept != 1 else ''}, {dropped} of {kept + dropped} tries dropped"
