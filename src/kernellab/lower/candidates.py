"""A graph as candidate files for one device, the most promising first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kernellab.graph.record import GraphRecord
from kernellab.lower.c_candidate import c_candidates
from kernellab.lower.cost import CEILINGS, Ceilings
from kernellab.lower.plans import Ranked, plans
from kernellab.lower.site import NotLowered
from kernellab.lower.tensors import Written
from kernellab.lower.triton_candidate import triton_candidates

_RECURSION = 10_000


def written(
    record: GraphRecord,
    language: str,
    sizes: Mapping[str, int],
    precision: str = "ieee",
    on: Ceilings | None = None,
) -> list[Written]:
    """`sizes` are those that it will be timed at, `precision` is the contract of its products, `on` what the device was
    measured to do, where it was. Raises NotLowered, in words, where there is no way to write it."""
    if language not in CEILINGS:
        return []
    try:
        with _deep_recursion():
            return [w for ranked in plans(record, sizes, language, on) for w in _texts(ranked, language, precision)]
    except RecursionError:
        raise NotLowered("expressions that stand too deep in each other") from None


def _texts(ranked: Ranked, language: str, precision: str) -> list[Written]:
    try:
        found = c_candidates(ranked.fusion) if language == "c" else triton_candidates(ranked.fusion, precision)
    except NotLowered:
        if ranked.fusion.label:  # the first plan is there all the same
            return []
        raise
    return found if ranked.whole else found[:1]


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """A value is a tree, and trees are gone through by functions that call themselves."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
