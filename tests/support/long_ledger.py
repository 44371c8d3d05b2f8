"""A long run from a recorded one: its entries again and again through the real writer, renumbered and signed afresh."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernellab.ledger.journal import Entry, Ledger, read_entries
from kernellab.ledger.keys import SigningKey


def repeat_run(source: Path, folder: Path, trials: int, key: SigningKey) -> None:
    """`trials` trials spread over the run's shapes in order; each shape's calibration, confirmations and result stay its own."""
    entries = [e for e in read_entries(source) if e.body.get("status") != "duplicate"]
    genesis = {k: v for k, v in entries[0].body.items() if k not in ("public_key", "nonce")}
    shapes: dict[str, list[Any]] = {}
    for entry in entries[1:]:
        if "dims" in entry.body:
            shapes.setdefault(str(entry.body["dims"]), []).append(entry)
    counts = [trials // len(shapes) + (n < trials % len(shapes)) for n in range(len(shapes))]
    results, number = [], 0
    with Ledger.create(folder, genesis, key) as ledger, ledger.batch():
        for mine, count in zip(shapes.values(), counts, strict=True):
            first = [e for e in mine if e.kind == "trial"]
            moved = {e.body["trial"]: number + at for at, e in enumerate(first)}
            for entry in (e for e in mine if e.kind == "calibration"):
                ledger.append("calibration", entry.body)
            for at in range(count):
                ledger.append("trial", {**first[at % len(first)].body, "trial": number + at})
            for entry in (e for e in mine if e.kind in ("confirmation", "result")):
                body = {**entry.body, "trial": moved[entry.body["trial"]]}
                ledger.append(entry.kind, body)
                results += [body] if entry.kind == "result" else []
            number += count
        ledger.append("end", {"results": results})
        for entry in (e for e in entries if e.kind == "pruned"):
            ledger.append("pruned", entry.body)
    shutil.copytree(source / "artifacts", folder / "artifacts")


def copy_run(
    source: Path, folder: Path, key: SigningKey, take: Callable[[Entry], bool],
    more: Sequence[tuple[str, dict[str, Any]]] = (), ended: bool = False,
) -> None:  # fmt: skip
    """Some entries of a recorded run, and further ones, as a run of its own; trials are numbered anew."""
    genesis, *rest = read_entries(source)
    body = {k: v for k, v in genesis.body.items() if k not in ("public_key", "nonce")}
    taken = [e for e in rest if take(e) and e.kind not in ("end", "pruned")]
    moved = {e.body["trial"]: n for n, e in enumerate(e for e in taken if e.kind == "trial")}
    results = []
    with Ledger.create(folder, body, key) as ledger:
        for entry in taken:
            known = entry.body.get("trial") in moved
            written = {**entry.body, "trial": moved[entry.body["trial"]]} if known else entry.body
            ledger.append(entry.kind, written)
            results += [written] if entry.kind == "result" else []
        for kind, extra in more:
            ledger.append(kind, extra)
            results += [extra] if kind == "result" else []
        if ended:
            ledger.append("end", {"results": results})
        for entry in (e for e in rest if e.kind == "pruned"):
            ledger.append("pruned", entry.body)
    if (source / "artifacts").exists():
        shutil.copytree(source / "artifacts", folder / "artifacts")
