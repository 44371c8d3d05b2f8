"""The file of a trained prior: two forests, and what they were trained on. NumPy's own format, without pickled objects.

A file may come from anybody. Covered: one that is no prior, one whose features mean something else, one for another kind
of device, one that is too large or would be when it is unpacked, numbers that no training gives; each is refused in words.
Not covered: whether its forecasts are any good; the search finds out.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernellab.core.array_file import FOREIGN, unpacked
from kernellab.core.errors import UsageError
from kernellab.core.files import read_plain
from kernellab.core.printable import printable
from kernellab.search.prior.features import NAMES, VERSION
from kernellab.search.prior.trees import Forest

MOST_BYTES = 5 << 20
"""Of the file, and of everything in it when it is unpacked."""
_TRAIN = "train one: klab learn prior RUN... --out prior.npz"
_HEADS = ("slowdown", "chance")
_ARRAYS = ("features", "thresholds", "leaves", "start")
_MOST_SPREAD = 100.0
MOST_TREES = 4096
_MOST_ADDED = 1e4
"""By a leaf, to a logarithm."""


@dataclass(frozen=True)
class Checkpoint:
    """`slowdown`: the logarithm of a time over the best one's; `chance`: the logit of being right and timed. `spread`: the
    standard deviation of what the first gets wrong on graphs that it has not seen. `kind`: of devices. `facts`: on what it
    was trained, and how."""

    slowdown: Forest
    chance: Forest
    spread: float
    kind: str
    facts: dict[str, Any]

    def data(self) -> bytes:
        """The same bytes for the same checkpoint."""
        header = {"version": VERSION, "names": NAMES, "spread": self.spread, "kind": self.kind, "facts": self.facts}
        arrays: dict[str, Any] = {"header": np.array(json.dumps(header, sort_keys=True))}
        for head in _HEADS:
            arrays |= {f"{head}_{name}": value for name, value in getattr(self, head).arrays().items()}
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        return file.getvalue()


def read_checkpoint(data: bytes, where: str) -> Checkpoint:
    """`where`: what to call it."""
    if len(data) > MOST_BYTES:
        raise UsageError(f"{where} has {len(data) >> 20} MiB, and a prior has at most {MOST_BYTES >> 20}", _TRAIN)
    try:
        held = unpacked(data, MOST_BYTES, ("header", *(f"{head}_{name}" for head in _HEADS for name in _ARRAYS)))
        header = json.loads(str(held["header"]))
        _same_features(header, where)
        forests = {head: _forest({name: held[f"{head}_{name}"] for name in _ARRAYS}) for head in _HEADS}
        spread, facts = float(header["spread"]), dict(header["facts"])
        if not 0 < spread <= _MOST_SPREAD:
            raise ValueError(f"a spread of {spread:g}")
        if not all(isinstance(device, str) for device in facts.get("devices", [])):
            raise ValueError("devices that have no names")
        return Checkpoint(spread=spread, kind=str(header["kind"]), facts=facts, **forests)
    except FOREIGN as err:
        raise UsageError(f"{where} is no prior: {printable(str(err))[:300]}", _TRAIN) from None


def _forest(arrays: dict[str, Any]) -> Forest:
    if arrays["features"].dtype.kind not in "iu" or any(
        a.dtype.kind != "f" for n, a in arrays.items() if n != "features"
    ):
        raise ValueError("trees that are not of numbers")
    asked, added = arrays["features"], arrays["leaves"]
    if asked.size and not 0 <= int(asked.min()) <= int(asked.max()) < len(NAMES):
        raise ValueError("a tree asks for a feature that is not there")
    if asked.shape[0] > MOST_TREES:
        raise ValueError(f"{asked.shape[0]} trees")
    if np.isnan(arrays["thresholds"]).any() or not all(
        (np.abs(a) <= _MOST_ADDED).all() for a in (added, arrays["start"])
    ):
        raise ValueError("numbers that no training gives")
    return Forest.of(arrays)


def _same_features(header: dict[str, Any], where: str) -> None:
    if header["version"] != VERSION or tuple(header["names"]) != NAMES:
        theirs = printable(str(header["version"]))[:40]
        what = f"{where} was trained on features of version {theirs}, and this laboratory has version {VERSION}"
        raise UsageError(what, _TRAIN)


def read_file(path: Path) -> bytes:
    try:
        return read_plain(path, MOST_BYTES)
    except OSError as err:
        raise UsageError(f"the prior {path} cannot be read: {err.strerror}", _TRAIN) from None
