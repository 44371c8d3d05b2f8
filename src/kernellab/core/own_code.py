"""Which code this laboratory is: a digest over the installed package, so that a record names what judged and timed it.

Every file counts: modules, recipes, templates, the shipped cheats. Compiled caches do not. A checkout and a wheel made of it
have the same digest. Not covered: the interpreter and the libraries, whose versions the environment names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kernellab.core.ids import digest, sha256_hex

PACKAGE = Path(__file__).parents[1]


@cache
def own_code() -> str:
    """Of the package that is running; read once a process (about 15 ms)."""
    return code_digest(PACKAGE)


def code_digest(package: Path) -> str:
    """SHA-256 over the sorted relative paths and the SHA-256 of what each file holds."""
    return digest(
        sorted([path.relative_to(package).as_posix(), sha256_hex(path.read_bytes())] for path in _files(package))
    )


def _files(package: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(package):
        folders[:] = [folder for folder in folders if folder != "__pycache__"]
        yield from (Path(place, name) for name in names if not name.endswith((".pyc", ".pyo")))
