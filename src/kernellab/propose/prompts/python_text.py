"""Reading Python that somebody else wrote, without running it and without its warnings on our console."""

from __future__ import annotations

import ast
import threading
import warnings

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_ONE_AT_A_TIME = threading.Lock()  # the filters of warnings belong to the whole process


def parsed(source: str) -> ast.Module:
    """The tree of a file; one of UNREADABLE where there is none."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
