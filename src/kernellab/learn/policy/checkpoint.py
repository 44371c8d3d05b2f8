"""The file of a trained recipe transformer: its weights, and the spaces it was made for. NumPy's own format, no pickles.

Covered: a file that is no policy, one that is too large, damaged or not all there, one made for other recipes, parameters or
choices; each is refused in words. Not covered: whether its choices are any good.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from kernellab.core.array_file import FOREIGN, unpacked
from kernellab.core.errors import UsageError
from kernellab.core.files import read_plain
from kernellab.core.printable import printable
from kernellab.learn.extra import needed
from kernellab.learn.policy.grammar import space_digest, unlike
from kernellab.learn.policy.network import Size, count
from kernellab.learn.policy.recipe_policy import RecipePolicy
from kernellab.learn.tabular import Spaces

VERSION = 1
MOST_BYTES = 8 << 20
"""Of the file, and of everything in it when it is unpacked."""
_FIX = "train a policy for the recipes that are here"


def policy_data(policy: RecipePolicy, facts: dict[str, Any]) -> bytes:
    """The same bytes for the same policy. `facts`: on what it was trained, and how."""
    header = {"version": VERSION, "tasks": policy.tasks, "size": policy.size.facts(), "facts": facts,
              "spaces": list(policy.grammar.spaces.items()), "space": policy.grammar.digest}  # fmt: skip
    arrays: dict[str, Any] = {"header": np.array(json.dumps(header))}
    arrays |= {f"weight {name}": value.detach().numpy() for name, value in policy.weights.items()}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def read_policy(data: bytes, where: str, spaces: Spaces) -> tuple[RecipePolicy, dict[str, Any]]:
    """The policy and the facts of its training. `where`: what to call it; `spaces`: what it is to choose from."""
    if len(data) > MOST_BYTES:
        raise UsageError(f"{where} has {len(data) >> 20} MiB, and a policy has at most {MOST_BYTES >> 20}", _FIX)
    try:
        held = unpacked(data, MOST_BYTES)
        header = json.loads(str(held.pop("header")))
        if header["version"] != VERSION:
            raise ValueError(f"it is of version {header['version']}, and {VERSION} is read")
        made_for: Spaces = dict(header["spaces"])
        if space_digest(made_for) != header["space"]:
            raise ValueError("its spaces are not those that it names by their digest")
        difference = unlike(made_for, spaces)
        if difference:
            raise UsageError(f"{where} was made for another space: {difference}", _FIX)
        return _rebuilt(header, made_for, held), dict(header["facts"])
    except FOREIGN as err:
        raise UsageError(f"{where} is no policy: {printable(str(err))[:300]}", _FIX) from None


def _rebuilt(header: dict[str, Any], spaces: Spaces, held: dict[str, Any]) -> RecipePolicy:
    """Into the weights of a new policy, name by name and shape by shape."""
    torch = needed("torch")
    size = Size(**header["size"])
    if not 1 <= size.width * size.layers <= 4096 or size.width % size.heads:
        raise ValueError(f"a network of {size} is not read")
    policy = RecipePolicy.new(spaces, [str(task) for task in header["tasks"]], torch.Generator().manual_seed(0), size)
    for name, weight in policy.weights.items():
        found = held[f"weight {name}"]
        if found.shape != tuple(weight.shape) or found.dtype != np.float32 or not np.isfinite(found).all():
            raise ValueError(f"its weights '{name}' are damaged")
        with torch.no_grad():
            weight.copy_(torch.from_numpy(found))
    if len(held) != len(policy.weights):
        raise ValueError(f"it holds weights that a policy of {count(policy.weights)} numbers does not have")
    return policy


def read_file(path: Path) -> bytes:
    try:
        return read_plain(path, MOST_BYTES)
    except OSError as err:
        raise UsageError(f"the policy {path} cannot be read: {err.strerror}", _FIX) from None
