"""Gradient boosting of complete trees over binned features, in NumPy. The same rows and seed give the same forest.

`groups`: rows of one task. Of squares, only differences within a task are learned: how long a task takes at all is nothing
that a ranking needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernellab.search.prior.trees import Floats, Forest

Ints = NDArray[np.int64]
_BINS = 48
_LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class Boosting:
    """`bags`: forests that are averaged, each over tasks drawn again; `share`: of the features that a tree may ask for;
    `rows`: the share of the rows that it is grown with."""

    trees: int = 100
    depth: int = 4
    rate: float = 0.08
    share: float = 0.4
    rows: float = 0.5
    damping: float = 5.0
    least: float = 3.0
    bags: int = 4


Slope = Callable[[Floats], tuple[Floats, Floats]]
"""Of the loss, by each row's sum so far: first and second derivative."""


def squared(targets: Floats, weights: Floats, groups: Ints) -> Slope:
    def slope(sums: Floats) -> tuple[Floats, Floats]:
        wrong = sums - targets
        return weights * _centred(wrong, weights, groups), weights

    return slope


def logistic(worked: Floats, weights: Floats) -> Slope:
    def slope(sums: Floats) -> tuple[Floats, Floats]:
        chance = 1 / (1 + np.exp(-sums))
        return weights * (chance - worked), weights * np.maximum(1e-3, chance * (1 - chance))

    return slope


def _centred(values: Floats, weights: Floats, groups: Ints) -> Floats:
    whole = np.maximum(1e-12, np.bincount(groups, weights))
    found: Floats = values - (np.bincount(groups, weights * values) / whole)[groups]
    return found


def boosted(
    table: Floats,
    groups: Ints,
    weights: Floats,
    loss: Callable[[Floats], Slope],
    start: float,
    how: Boosting,
    seed: int,
) -> Forest:
    """`loss` is asked with the weights of each bag."""
    edges = [_edges(column) for column in table.T]
    binned = np.stack([_bins(column, cut) for column, cut in zip(table.T, edges, strict=True)])
    features, thresholds, leaves = [], [], []
    for bag in range(how.bags):
        dice = np.random.default_rng([seed, bag])
        slope = loss(weights * _drawn_again(groups, dice) if how.bags > 1 else weights)
        sums = np.full(len(table), start)
        for _ in range(how.trees):
            shown = np.flatnonzero(dice.random(len(table)) < how.rows) if how.rows < 1 else slice(None)
            down, up = slope(sums)
            tree = _Tree(binned[:, shown], edges, down[shown], up[shown], how, dice)
            sums += tree(binned)
            features.append(tree.features)
            thresholds.append(tree.thresholds)
            leaves.append(tree.leaves / how.bags)
    shape = (-1, (1 << how.depth) - 1)
    return Forest(
        np.array(features, np.int16).reshape(shape), np.array(thresholds, np.float32).reshape(shape),
        np.array(leaves, np.float32).reshape(-1, 1 << how.depth), start,
    )  # fmt: skip


def _drawn_again(groups: Ints, dice: np.random.Generator) -> Floats:
    """How often each row's task comes in a bag: drawn with repetition, and a little of each is always there."""
    count = int(groups.max()) + 1
    times = np.bincount(dice.integers(0, count, count), minlength=count)
    found: Floats = (0.1 + 0.9 * times.astype(np.float64))[groups]
    return found


def _edges(column: Floats) -> Floats:
    """Values between which there are rows; float32, as a forest compares."""
    known: Floats = np.unique(column[~np.isnan(column)].astype(np.float32)).astype(np.float64)
    if len(known) > _BINS:
        known = np.unique(np.quantile(known, np.linspace(0, 1, _BINS)).astype(np.float64))
    middles = (known[:-1] + known[1:]) / 2
    return np.unique(middles.astype(np.float32)).astype(np.float64)


def _bins(column: Floats, edges: Floats) -> Ints:
    """0 for NaN and what is below all edges: both go left everywhere."""
    found = np.searchsorted(edges, np.nan_to_num(column.astype(np.float32), nan=-np.inf), side="left")
    return found.astype(np.int64)


class _Tree:
    def __init__(
        self, binned: Ints, edges: list[Floats], slope: Floats, curve: Floats, how: Boosting, dice: np.random.Generator
    ) -> None:
        self._binned, self._edges, self._how = binned, edges, how
        inner = (1 << how.depth) - 1
        self.features, self.thresholds = np.zeros(inner, np.int64), np.full(inner, np.inf)
        self._cuts = np.full(inner, np.iinfo(np.int64).max)
        usable = [f for f, cut in enumerate(edges) if len(cut)]
        count = min(len(usable), max(1, round(how.share * len(usable))))
        asked = sorted(dice.choice(usable, count, replace=False).tolist()) if usable else []
        node = np.zeros(binned.shape[1], np.int64)
        for level in range(how.depth):
            node = self._split((1 << level) - 1, 1 << level, node, asked, slope, curve)
        size = 1 << how.depth
        down, up = np.bincount(node, slope, size), np.bincount(node, curve, size)
        self.leaves: Floats = -how.rate * down / (up + how.damping)

    def __call__(self, binned: Ints) -> Floats:
        """Of all rows, those too that it was not grown with."""
        node, rows = np.zeros(binned.shape[1], np.int64), np.arange(binned.shape[1])
        for _ in range(self._how.depth):
            node = 2 * node + 1 + (binned[self.features[node], rows] > self._cuts[node])
        return self.leaves[node - len(self.features)]

    def _split(self, first: int, nodes: int, node: Ints, asked: list[int], slope: Floats, curve: Floats) -> Ints:
        """One level: the best question of every node; its rows' places in the next level."""
        if not asked:
            return 2 * node
        gains = self._gains(asked, nodes, node, slope, curve)
        where = gains.argmax(axis=1)
        gain, bins = gains[np.arange(nodes), where], gains.shape[1] // len(asked)
        chosen, cut = np.array(asked)[where // bins], where % bins
        for i in np.flatnonzero(gain > _LEAST_GAIN):
            self.features[first + i], self._cuts[first + i] = chosen[i], cut[i]
            self.thresholds[first + i] = self._edges[chosen[i]][cut[i]]
        right = (gain > _LEAST_GAIN)[node] & (self._binned[chosen[node], np.arange(len(node))] > cut[node])
        below: Ints = 2 * node + right
        return below

    def _gains(self, asked: list[int], nodes: int, node: Ints, slope: Floats, curve: Floats) -> Floats:
        """What each cut of each node would gain: a row a node, the cuts of one feature beside each other."""
        bins, shape = max(len(self._edges[f]) for f in asked) + 1, (len(asked), nodes, -1)
        place = (np.arange(len(asked))[:, None] * nodes + node) * bins + self._binned[asked]
        size = len(asked) * nodes * bins
        down, up = (
            np.bincount(place.ravel(), np.tile(v, len(asked)), size).reshape(shape).cumsum(axis=2)
            for v in (slope, curve)
        )
        whole, weight, damping = down[:, :, -1:], up[:, :, -1:], self._how.damping
        left, below = down[:, :, :-1], up[:, :, :-1]
        gain = left**2 / (below + damping) + (whole - left) ** 2 / (weight - below + damping)
        gain = gain - whole**2 / (weight + damping)
        enough = (below >= self._how.least) & (weight - below >= self._how.least)
        found: Floats = np.where(enough, gain, 0.0).transpose(1, 0, 2).reshape(nodes, -1)
        return found
