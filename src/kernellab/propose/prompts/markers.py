"""The markers of the protocol, and how text that is only quoted is kept from posing as one."""

from __future__ import annotations

import re

MARKERS = ("task_spec", "context_previous_codes", "contrastive_objective", "think", "answer")
_MARKER = re.compile(rf"<(/?)({'|'.join(MARKERS)})>", re.IGNORECASE)


def inert(text: str) -> str:
    """Markers in angle quotes instead of brackets: readable, and no longer markers."""
    return _MARKER.sub(r"‹\1\2›", text)
