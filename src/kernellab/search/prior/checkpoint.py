"""The file of a trained prior: two forests, and what they were trained on. NumPy's own format, without pickled objects.

Covered: a file that is no prior, one whose features mean something else, one for another kind of device, one that is too
large; each is refused in words. Not covered: whether its forecasts are any good; the search finds out.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernellab.core.errors import UsageError
from kernellab.search.prior.features import NAMES, VERSION
from kernellab.search.prior.trees import Forest

MOST_BYTES = 5 << 20
_TRAIN = "train one: klab learn prior RUN... --out prior.npz"
_HEADS = ("slowdown", "chance")


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
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            held = {name: arrays[name] for name in arrays.files}
        header = json.loads(str(held["header"]))
        _same_features(header, where)
        forests = {head: Forest.of(_under(f"{head}_", held)) for head in _HEADS}
        if any(f.features.size and int(f.features.max()) >= len(NAMES) for f in forests.values()):
            raise ValueError("a tree asks for a feature that is not there")
        return Checkpoint(
            spread=float(header["spread"]), kind=str(header["kind"]), facts=dict(header["facts"]), **forests
        )
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as err:
        raise UsageError(f"{where} is no prior: {err}", _TRAIN) from None


def _same_features(header: dict[str, Any], where: str) -> None:
    if header["version"] != VERSION or tuple(header["names"]) != NAMES:
        raise UsageError(
            f"{where} was trained on features of version {header['version']}, and this laboratory has version {VERSION}",
            _TRAIN,
        )


def _under(prefix: str, held: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in held.items() if name.startswith(prefix)}


def read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as err:
        raise UsageError(f"the prior {path} cannot be read: {err.strerror}", _TRAIN) from None
