"""A graph as candidate files for one device, the most promising first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kernellab.graph.record import GraphRecord
from kernellab.lower.attention import attended, attention_of
from kernellab.lower.c_candidate import c_candidates
from kernellab.lower.fusion import evaluated_apart, fuse
from kernellab.lower.product import counted
from kernellab.lower.site import NotLowered
from kernellab.lower.tensors import Written
from kernellab.lower.triton_candidate import triton_candidates

_RECURSION = 10_000


def written(record: GraphRecord, language: str, sizes: Mapping[str, int], precision: str = "ieee") -> list[Written]:
    """`sizes` are those that it will be timed at, `precision` is the contract of its products. Raises NotLowered, in words,
    where there is no way to write it."""
    try:
        with _deep_recursion():
            return _written(record, language, sizes, precision)
    except RecursionError:
        raise NotLowered("expressions that stand too deep in each other") from None


def _written(record: GraphRecord, language: str, sizes: Mapping[str, int], precision: str) -> list[Written]:
    if language == "c":
        return c_candidates(fuse(record, sizes))
    if language == "triton":
        return _for_triton(record, sizes, precision)
    return []


def _for_triton(record: GraphRecord, sizes: Mapping[str, int], precision: str) -> list[Written]:
    """Attention in one kernel first, where there is some; and without."""
    plain = counted(evaluated_apart)
    fused = fuse(record, sizes, attended(plain))
    if not any(attention_of(stores) for stores in fused.kernels):
        return triton_candidates(fused, precision)
    return [*triton_candidates(fused, precision), *triton_candidates(fuse(record, sizes, plain), precision)]


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """A value is a tree, and trees are gone through by functions that call themselves."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
