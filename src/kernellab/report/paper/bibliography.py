"""The shipped bibliography: what a paper may cite, and nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files

from kernellab.core.errors import UsageError
from kernellab.report.paper.document import Reference


def shipped() -> dict[str, Reference]:
    text = files("kernellab.report.paper").joinpath("bibliography.toml").read_text(encoding="utf-8")
    return {key: Reference(key=key, **body) for key, body in tomllib.loads(text).items()}


def resolve(keys: Sequence[str]) -> list[Reference]:
    known = shipped()
    if missing := [key for key in keys if key not in known]:
        raise UsageError(f"the text cites '{missing[0]}', which the bibliography does not have",
                         f"cite one of: {', '.join(known)}")  # fmt: skip
    return [known[key] for key in keys]
