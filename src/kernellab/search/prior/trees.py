"""Sums of small decision trees, asked with NumPy alone.

Every tree is complete: a node that decides nothing sends all left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ROWS = 4096
"""Of a table that are gone through at a time."""


@dataclass(frozen=True)
class Forest:
    """`features` and `thresholds`: a row a tree, its inner nodes from the root down. A value above the threshold goes right,
    anything else, NaN too, left. `leaves`: what is added. `start`: what the sum begins with."""

    features: NDArray[np.int16]
    thresholds: NDArray[np.float32]
    leaves: NDArray[np.float32]
    start: float

    def __post_init__(self) -> None:
        trees, inner = self.features.shape
        if self.thresholds.shape != (trees, inner) or self.leaves.shape != (trees, inner + 1) or (inner + 1) & inner:
            raise ValueError("trees that are not complete")

    @property
    def depth(self) -> int:
        return int(self.leaves.shape[1]).bit_length() - 1

    def __call__(self, table: Floats) -> Floats:
        parts = [self._sum(table[i : i + _ROWS].astype(np.float32)) for i in range(0, len(table), _ROWS)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _sum(self, table: NDArray[np.float32]) -> Floats:
        trees = np.arange(len(self.features))[:, None]
        rows = np.arange(len(table))[None, :]
        node = np.zeros((len(self.features), len(table)), np.int64)
        for _ in range(self.depth):
            right = table[rows, self.features[trees, node]] > self.thresholds[trees, node]
            node = 2 * node + 1 + right
        found: Floats = self.start + self.leaves[trees, node - self.features.shape[1]].sum(axis=0, dtype=np.float64)
        return found

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        start = np.array(self.start, np.float64)
        return {"features": self.features, "thresholds": self.thresholds, "leaves": self.leaves, "start": start}

    @staticmethod
    def of(arrays: Mapping[str, NDArray[np.generic]]) -> Forest:
        """From what `arrays` gave. ValueError where it is not that."""
        return Forest(
            np.asarray(arrays["features"]).astype(np.int16),
            np.asarray(arrays["thresholds"]).astype(np.float32),
            np.asarray(arrays["leaves"]).astype(np.float32),
            float(np.asarray(arrays["start"])),
        )
