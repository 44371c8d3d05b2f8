"""A run as its owner could have signed it, had its content been another."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import SigningKey

Bodies = list[tuple[str, dict[str, Any]]]
"""Kind and body of each entry."""


def leave_out_rejected(entries: Bodies) -> None:
    """A prettier history: the rejected trials are gone, and the others are numbered anew."""
    numbers: dict[int, int] = {}
    kept: Bodies = []
    for kind, body in entries:
        if kind == "trial" and body["status"] == "rejected":
            continue
        if kind == "trial":
            numbers[body["trial"]] = len(numbers)
            body["trial"] = numbers[body["trial"]]
            body |= {"of": numbers[body["of"]]} if "of" in body else {}
        elif kind == "confirmation" or (kind == "result" and body["trial"] is not None):
            body["trial"] = numbers[body["trial"]]
        elif kind == "end":
            for result in body["results"]:
                result["trial"] = None if result["trial"] is None else numbers[result["trial"]]
        kept.append((kind, body))
    entries[:] = kept


def resigned(run: Path, target: Path, change: Callable[[Bodies], object], key: SigningKey | None = None) -> Path:
    """`key`: whose signature it bears; without one, that of somebody unknown."""
    entries: Bodies = [(e.kind, copy.deepcopy(dict(e.body))) for e in read_entries(run)]
    entries[0][1].pop("public_key")
    entries[0][1].pop("nonce")
    change(entries)
    with Ledger.create(target, entries[0][1], key or SigningKey.generate()) as ledger:
        for kind, body in entries[1:]:
            ledger.append(kind, body)
    if (run / "artifacts").is_dir():  # the root of a suite has none
        shutil.copytree(run / "artifacts", target / "artifacts")
    return target
