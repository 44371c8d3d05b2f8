"""A Gaussian process over the combinations of several recipes: what to expect of those not tried, and how surely.

Two combinations of one recipe are alike by the parameters they share, half as a sum (each parameter has an effect of its
own: what few trials can teach) and half as a product (they act together: what many teach). Numbers are alike by the
steps between them, words by being the same. Different recipes share a level and nothing else. The constants are fixed:
fitted to a few dozen noisy trials they follow the noise, and searches get worse.

Limits: at most `MOST_KNOWN` trials are looked at (the best and the latest), so that a prediction stays within
milliseconds in a long search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernellab.core.records import Param
from kernellab.propose.recipe import Recipe

Floats = NDArray[np.float64]
Combination = tuple[int, tuple[int, ...]]
"""The recipe's number and, for each of its parameters, the number of the choice."""

MOST_KNOWN = 128
_RECIPES_SHARE = 0.1
_OTHER_WORD = 0.2
"""How alike two combinations are in a parameter whose words differ."""
_STEPS = 2.0
"""Over this many steps the likeness of numbers falls by a factor e."""
_NOISE = 0.02
"""The share of the variance that a repetition would not reproduce."""
_LEAST_SCALE = 0.05
"""The prior variance is estimated, but never so small that the search believes itself to be done."""


class Surrogate:
    """Knows the recipes' spaces; holds no trials."""

    def __init__(self, recipes: Sequence[Recipe]) -> None:
        """Every choice of every parameter has a column; a combination is a row with a 1 for each choice it makes."""
        spaces = [list(r.space.values()) for r in recipes]
        width = sum(len(choices) for space in spaces for choices in space)
        self._sums, self._logs = np.zeros((width, width)), np.zeros((width, width))
        self._columns: list[NDArray[np.int64]] = []
        at = 0
        for space in spaces:
            starts = []
            for choices in space:
                block = slice(at, at + len(choices))
                self._sums[block, block] = _likeness(choices) / len(space)
                self._logs[block, block] = np.log(_likeness(choices))
                starts.append(at)
                at += len(choices)
            self._columns.append(np.array(starts, dtype=np.int64))

    def improvement(
        self,
        known: Sequence[Combination],
        values: Sequence[float | None],
        pending: Sequence[Combination],
        candidates: Sequence[Combination],
    ) -> Floats:
        """The expected improvement of each candidate over the best value known, times its chance to work at all; in
        standard deviations of the values. None is the value of what never ran.

        What is `pending` (asked for, not known yet) is believed to be as expected: that narrows the uncertainty around
        it, so that the next is asked for elsewhere.
        """
        measured = [(c, v) for c, v in zip(known, values, strict=True) if v is not None]
        chances = self._chances(known, [v is not None for v in values], candidates)
        return chances * self._gains(measured, pending, candidates)

    def _gains(
        self,
        measured: Sequence[tuple[Combination, float]],
        pending: Sequence[Combination],
        candidates: Sequence[Combination],
    ) -> Floats:
        if not measured:
            return np.ones(len(candidates))
        keep = _worth_knowing([v for _, v in measured])
        seen, y = [measured[i][0] for i in keep], np.array([measured[i][1] for i in keep], dtype=float)
        y = (y - y.mean()) / (y.std() or 1.0)
        best = float(y.max())
        if pending:
            believed = self._alike(pending, seen) @ np.linalg.solve(self._noisy(seen), y)
            seen, y = [*seen, *pending], np.concatenate([y, believed])
        across = self._alike(seen, candidates)
        solved = np.linalg.solve(self._noisy(seen), np.column_stack([y, across]))
        scale = max(_LEAST_SCALE, float(y @ solved[:, 0]) / len(y))
        spread = np.sqrt(scale * np.maximum(1e-9, 1 - np.einsum("ij,ij->j", across, solved[:, 1:])))
        gains: Floats = spread * _expected_gain((across.T @ solved[:, 0] - best) / spread)
        return gains

    def _chances(
        self, known: Sequence[Combination], works: Sequence[bool], candidates: Sequence[Combination]
    ) -> Floats:
        """A failure says nothing about speed, and little about what is far from it: the share of what works among the
        tried, weighted by their likeness, with one fair trial that worked beforehand."""
        weights = np.maximum(0.0, self._alike(known, candidates) - _RECIPES_SHARE) ** 2
        found: Floats = (1 + np.array(works, dtype=float) @ weights) / (1 + weights.sum(axis=0))
        return found

    def _noisy(self, combinations: Sequence[Combination]) -> Floats:
        return self._alike(combinations, combinations) + _NOISE * np.eye(len(combinations))

    def _alike(self, a: Sequence[Combination], b: Sequence[Combination]) -> Floats:
        one, other = self._rows(a), self._rows(b)
        within = (one @ self._sums @ other.T + np.exp(one @ self._logs @ other.T)) / 2
        bare = np.array([not picks for _, picks in a])
        within[bare] = 1.0
        same = np.array([number for number, _ in a])[:, None] == np.array([number for number, _ in b])[None, :]
        return _RECIPES_SHARE + (1 - _RECIPES_SHARE) * np.where(same, within, 0.0)

    def _rows(self, combinations: Sequence[Combination]) -> Floats:
        rows = np.zeros((len(combinations), len(self._sums)))
        for number, columns in enumerate(self._columns):
            own = [i for i, c in enumerate(combinations) if c[0] == number]
            if own and len(columns):
                picks = np.array([combinations[i][1] for i in own]) + columns
                rows[np.array(own)[:, None], picks] = 1.0
        return rows


def ordered(choices: Sequence[Param]) -> bool:
    """More than two numbers, rising or falling: the steps between them mean something."""
    numbers = [c for c in choices if isinstance(c, (int, float)) and not isinstance(c, bool)]
    rising = sorted(numbers)
    return len(numbers) == len(choices) > 2 and numbers in (rising, rising[::-1])


def _likeness(choices: Sequence[Param]) -> Floats:
    steps = np.abs(np.subtract.outer(np.arange(len(choices)), np.arange(len(choices))))
    found: Floats = np.exp(-steps / _STEPS) if ordered(choices) else np.where(steps > 0, _OTHER_WORD, 1.0)
    return found


def _worth_knowing(values: Sequence[float]) -> list[int]:
    """All, or else the best half of what fits and the latest of the others, in their order."""
    if len(values) <= MOST_KNOWN:
        return list(range(len(values)))
    best = sorted(range(len(values)), key=lambda i: (-values[i], i))[: MOST_KNOWN // 2]
    others = [i for i in range(len(values)) if i not in {*best}]
    return sorted([*best, *others[-(MOST_KNOWN - len(best)) :]])


def _expected_gain(z: Floats) -> Floats:
    """Of a standard normal variable's part above -z."""
    below = np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in z])
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    gain: Floats = z * below + density
    return gain
