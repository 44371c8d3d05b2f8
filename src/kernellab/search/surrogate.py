"""A Gaussian process over the combinations of several recipes: what to expect of those not tried, and how surely.

Two combinations of one recipe are alike by the parameters they share, half as a sum (each parameter has an effect of its
own: what few trials can teach) and half as a product (they act together: what many teach). Numbers are alike by the
steps between them, words by being the same. Different recipes share a level and nothing else. The constants are fixed:
fitted to a few dozen noisy trials they follow the noise, and searches get worse.

What a trial changes is worked in when it is learned: one row of the inverse Cholesky factor, one row of its product with
the candidates' likenesses. So a proposal takes a few milliseconds, however the search got there.

Limits: beyond `MOST_KNOWN` measured trials the best and the latest few are kept, the others forgotten.
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

MOST_KNOWN = 256
_KEPT = 96
"""Of the best and of the latest, each, when there are more than that."""
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
    """`candidates`: what improvement() is asked about, in this order. What was learned stays."""

    def __init__(self, recipes: Sequence[Recipe]) -> None:
        self._tables = [[_likeness(choices) for choices in recipe.space.values()] for recipe in recipes]
        self._pool = _Points(self._tables)
        self._tried, self._works = _Points(self._tables), np.zeros(0)
        self._near_tried, self._near_works = np.zeros(0), np.zeros(0)
        self._values: list[float] = []
        self._seen: _Points
        self._factor: Floats
        self._solved: Floats
        self._forget()

    @property
    def candidates(self) -> list[Combination]:
        return self._pool.points

    def consider(self, combinations: Sequence[Combination]) -> None:
        """More candidates; each must be new."""
        if not combinations:
            return
        self._pool.add(combinations)
        near = [_closeness(self._tried.alike(c)) for c in combinations]
        self._near_tried = np.append(self._near_tried, [n.sum() for n in near])
        self._near_works = np.append(self._near_works, [n @ self._works for n in near])
        across = np.array([self._seen.alike(c) for c in combinations]).T
        self._solved = np.hstack([self._solved, self._factor @ across])

    def learn(self, combination: Combination, value: float | None) -> None:
        """What came of a trial; None for what never ran."""
        near = _closeness(self._pool.alike(combination))
        self._near_tried += near
        self._tried.add([combination])
        self._works = np.append(self._works, value is not None)
        if value is None:
            return
        self._near_works += near
        self._values.append(value)
        self._see(combination)
        if len(self._values) > MOST_KNOWN:
            keep = _worth_knowing(self._values)
            points, self._values = [self._seen.points[i] for i in keep], [self._values[i] for i in keep]
            self._forget()
            for point in points:
                self._see(point)

    def improvement(self, pending: Sequence[Combination] = ()) -> Floats:
        """The expected improvement of each candidate over the best value known, times its chance to work at all; in
        standard deviations of the values.

        What is `pending` (asked for, not known yet) is believed to be as expected: that narrows the uncertainty around
        it, so that the next is asked for elsewhere.
        """
        return self._chances() * self._gains(pending)

    def _gains(self, pending: Sequence[Combination]) -> Floats:
        count = len(self._values)
        if not count:
            return np.ones(len(self._pool.points))
        y = np.array(self._values)
        y = (y - y.mean()) / (y.std() or 1.0)
        weights = self._factor @ y
        expected = weights @ self._solved
        scale = max(_LEAST_SCALE, float(weights @ weights) / count)
        spread = np.sqrt(scale * np.maximum(1e-9, 1 - self._explained(pending)))
        gains: Floats = spread * expected_gain((expected - float(y.max())) / spread)
        return gains

    def _explained(self, pending: Sequence[Combination]) -> Floats:
        """The share of each candidate's variance that is known, once what is pending is."""
        before = self._seen, self._factor, self._solved
        self._seen = self._seen.copy()
        for combination in pending:
            self._see(combination)
        explained: Floats = np.einsum("ij,ij->j", self._solved, self._solved)
        self._seen, self._factor, self._solved = before
        return explained

    def _chances(self) -> Floats:
        """A failure says nothing about speed, and little about what is far from it: the share of what works among the
        tried, weighted by their likeness, with one fair trial that worked beforehand."""
        return (1 + self._near_works) / (1 + self._near_tried)

    def _forget(self) -> None:
        self._seen = _Points(self._tables)
        self._factor, self._solved = np.zeros((0, 0)), np.zeros((0, len(self._pool.points)))

    def _see(self, combination: Combination) -> None:
        """One more row: `_factor` is the inverse of the Cholesky factor of the likenesses of what was seen, `_solved` its
        product with their likenesses to the candidates."""
        row = self._factor @ self._seen.alike(combination)
        own = math.sqrt(max(_NOISE / 2, 1 + _NOISE - float(row @ row)))
        count = len(row)
        factor = np.zeros((count + 1, count + 1))
        factor[:count, :count] = self._factor
        factor[count, :count], factor[count, count] = -(row @ self._factor) / own, 1 / own
        solved = (self._pool.alike(combination) - row @ self._solved) / own
        self._factor, self._solved = factor, np.vstack([self._solved, solved])
        self._seen.add([combination])


class _Points:
    """Combinations, kept so that their likeness to another one is a few table look-ups."""

    def __init__(self, tables: Sequence[Sequence[Floats]]) -> None:
        self._tables = tables
        self.points: list[Combination] = []
        self._places = [np.zeros(0, np.int64) for _ in tables]
        self._picks = [np.zeros((len(t), 0), np.int64) for t in tables]

    def copy(self) -> _Points:
        other = _Points(self._tables)
        other.points, other._places, other._picks = list(self.points), list(self._places), list(self._picks)
        return other

    def add(self, combinations: Sequence[Combination]) -> None:
        for number, table in enumerate(self._tables):
            own = [(len(self.points) + i, c[1]) for i, c in enumerate(combinations) if c[0] == number]
            if own:
                self._places[number] = np.append(self._places[number], [place for place, _ in own])
                picks = np.array([p for _, p in own], np.int64).reshape(len(own), len(table)).T
                self._picks[number] = np.hstack([self._picks[number], picks])
        self.points += combinations

    def alike(self, to: Combination) -> Floats:
        number, picks = to
        found = np.full(len(self.points), _RECIPES_SHARE)
        tables, places = self._tables[number], self._places[number]
        if len(places):
            parts = [t[pick][own] for t, pick, own in zip(tables, picks, self._picks[number], strict=True)]
            within = (np.mean(parts, axis=0) + np.prod(parts, axis=0)) / 2 if parts else 1.0
            found[places] += (1 - _RECIPES_SHARE) * within
        return found


def ordered(choices: Sequence[Param]) -> bool:
    """More than two numbers, rising or falling: the steps between them mean something."""
    numbers = [c for c in choices if isinstance(c, (int, float)) and not isinstance(c, bool)]
    rising = sorted(numbers)
    return len(numbers) == len(choices) > 2 and numbers in (rising, rising[::-1])


def _likeness(choices: Sequence[Param]) -> Floats:
    steps = np.abs(np.subtract.outer(np.arange(len(choices)), np.arange(len(choices))))
    found: Floats = np.exp(-steps / _STEPS) if ordered(choices) else np.where(steps > 0, _OTHER_WORD, 1.0)
    return found


def _closeness(alike: Floats) -> Floats:
    found: Floats = np.maximum(0.0, alike - _RECIPES_SHARE) ** 2
    return found


def _worth_knowing(values: Sequence[float]) -> list[int]:
    """The best, and the latest of the others, in their order."""
    best = sorted(range(len(values)), key=lambda i: (-values[i], i))[:_KEPT]
    others = [i for i in range(len(values)) if i not in {*best}]
    return sorted([*best, *others[-_KEPT:]])


def expected_gain(z: Floats) -> Floats:
    """Of a standard normal variable's part above -z."""
    below = np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in z.tolist()])
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    gain: Floats = z * below + density
    return gain
