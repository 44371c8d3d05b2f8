"""A graph as candidate files for one device, the most promising first."""

from __future__ import annotations

from collections.abc import Mapping

from kernellab.graph.record import GraphRecord
from kernellab.lower.c_candidate import c_candidates
from kernellab.lower.fusion import evaluated_apart, fuse
from kernellab.lower.tensors import Written
from kernellab.lower.triton_candidate import triton_candidates


def written(record: GraphRecord, language: str, sizes: Mapping[str, int]) -> list[Written]:
    """`sizes` are those that it will be timed at. Raises NotLowered, in words, where there is no way to write it."""
    if language == "c":
        return c_candidates(fuse(record, sizes))
    if language == "triton":
        return triton_candidates(fuse(record, sizes, evaluated_apart))
    return []
