"""Machine code kept by the hash of everything that went into it, so that no variant is compiled twice.

Only the laboratory writes here; each entry carries its own SHA-256 and a damaged one counts as absent.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kernellab.core.ids import sha256_hex


class CodeCache:
    """A folder of files named by key: 64 hex digits of SHA-256 over the content, then the content."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, key: str) -> bytes | None:
        if self._folder is None:
            return None
        try:
            data = (self._folder / key[:2] / key).read_bytes()
        except OSError:
            return None
        return data[64:] if sha256_hex(data[64:]).encode() == data[:64] else None

    def put(self, key: str, content: bytes) -> None:
        """A cache that cannot be written is no reason to stop."""
        if self._folder is None:
            return
        target = self._folder / key[:2] / key
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            fd, temporary = tempfile.mkstemp(dir=target.parent)
            with os.fdopen(fd, "wb") as file:
                file.write(sha256_hex(content).encode() + content)
            os.replace(temporary, target)
        except OSError:
            return


def default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "kernellab" / "code"


def open_cache(wanted: bool = True) -> CodeCache:
    """The user's own, or one that keeps nothing."""
    return CodeCache(default_folder() if wanted else None)
