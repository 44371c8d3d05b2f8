"""Folders for keys, settings and caches that are no user's own. All of a session's share one thing: the machine code that was
compiled before, by whichever worker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_XDG = {"XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state"}


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """One folder for all workers of this session."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def code_folder(factory: pytest.TempPathFactory) -> Path:
    """Where compiled code is kept by the hash of all that went into it: nobody compiles the same text twice in a session."""
    folder = shared_folder(factory) / "code"
    folder.mkdir(exist_ok=True)
    return folder


def settle(folder: Path, code: Path) -> dict[str, str]:
    """The environment variables of a new home in `folder`, empty but for the compiled code."""
    homes = {variable: str(folder / name) for variable, name in _XDG.items()}
    kept = Path(homes["XDG_CACHE_HOME"]) / "kernellab"
    kept.mkdir(parents=True)
    (kept / "code").symlink_to(code)
    return {**homes, "HOME": str(folder)}
