"""Inputs of a captured module: like its own example, and drawn in ways that make precision and mistakes visible.

Weights are always drawn like the module's own: a kernel may not depend on their values, but a network is made for their
size. Integers stay in the range that the example had and that whatever they index allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from kernellab.graph.record import GraphInput, GraphRecord, Seen
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.modules.uses import Uses
from kernellab.tasks.spec import Array, Buffer, Dims, Draw

OWN = "own"
KINDS = (OWN, "normal", "signed", "sparse", "heavy", "offset")
"""The first one is timed; a task has those under which its outputs are finite."""
FEW = 4
OFFSET = 30.0
HEAVY = 1 / 1.2


def draws(graph: GraphRecord, kinds: tuple[str, ...] = KINDS) -> Mapping[str, Draw]:
    """A draw for each of these distributions, for the buffers of this graph's task."""
    uses = Uses(graph)
    entries = {i.name: i for i in graph.inputs}
    first = first_float(graph)
    return {kind: _draw(kind, entries, uses, first) for kind in kinds}


def first_float(graph: GraphRecord) -> str:
    """The input that is drawn sparse."""
    return next((i.name for i in graph.inputs if i.role == "input" and i.type.is_float), "")


def _draw(kind: str, entries: Mapping[str, GraphInput], uses: Uses, first: str) -> Draw:
    def draw(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
        entry, shape = entries[buffer.name], buffer.shape(dims)
        if not is_float(buffer.dtype):
            return _whole(rng, entry, buffer, shape, uses.below(entry.name, dims))
        if kind == OWN or entry.role != "input":
            return _like(rng, entry, shape).astype(buffer.dtype)
        terms = uses.terms(entry.name, dims) if entry.name == first else 0
        return _KINDS[kind](rng, shape, terms).astype(buffer.dtype)

    return draw


def _whole(rng: np.random.Generator, entry: GraphInput, buffer: Buffer, shape: tuple[int, ...], below: int) -> Array:
    """Integers: the example's range, below what they index. Without an example small ones."""
    low, high = (int(entry.seen.low), int(entry.seen.high)) if entry.seen else (0, min(below, 8) - 1)
    if entry.type.dtype == "bool":
        low, high = 0, 1
    high = max(0, min(high if high > low else low + 1, below - 1))
    return rng.integers(min(low, high), high, shape, dtype=buffer.dtype, endpoint=True)


def _like(rng: np.random.Generator, entry: GraphInput, shape: tuple[int, ...]) -> Array:
    """Numbers of the example's size and sign: uniform between its ends, or normal where they lie far out."""
    seen = entry.seen
    if seen is None:
        return _unseen(rng, entry, shape)
    if seen.low == seen.high:
        around = rng.uniform(0.5, 1.5, shape) * seen.low if seen.low else 0.1 * rng.standard_normal(shape)
        return np.asarray(around)
    values = _between(rng, entry, seen, shape)
    return np.asarray(values * (rng.random(shape) >= seen.zeros) if 0.02 < seen.zeros < 1 else values)


def _between(rng: np.random.Generator, entry: GraphInput, seen: Seen, shape: tuple[int, ...]) -> Array:
    if seen.low >= 0 or entry.role != "input" or max(-seen.low, seen.high) <= 1:
        return rng.uniform(seen.low, seen.high, shape)
    spread = (seen.high - seen.low) / 8
    return np.clip(rng.normal(seen.mean, spread, shape), seen.low, seen.high)


def _unseen(rng: np.random.Generator, entry: GraphInput, shape: tuple[int, ...]) -> Array:
    """Of examples that were too large to look at: normal inputs, weights of the size that layers are made with."""
    if entry.role == "input":
        return rng.standard_normal(shape)
    if len(shape) < 2:
        return rng.uniform(0.5, 1.5, shape)
    bound = 1 / math.sqrt(math.prod(shape[1:]))
    return rng.uniform(-bound, bound, shape)


def _normal(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    return np.asarray(rng.standard_normal(shape))


def _signed(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    return rng.uniform(-1, 1, shape)


def _sparse(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    """About four terms of every sum over the first input are not zero: errors cannot average out."""
    values = rng.standard_normal(shape)
    return np.asarray(values * (rng.random(shape) < FEW / max(FEW, terms)))


def _heavy(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    """A few elements dominate."""
    return np.asarray(rng.standard_normal(shape) / np.maximum(rng.random(shape), 1e-4) ** HEAVY)


def _offset(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> Array:
    """The mean is far larger than the spread."""
    return np.asarray(rng.standard_normal(shape) + OFFSET)


_KINDS: dict[str, Callable[[np.random.Generator, tuple[int, ...], int], Array]] = {
    "normal": _normal, "signed": _signed, "sparse": _sparse, "heavy": _heavy, "offset": _offset,
}  # fmt: skip
