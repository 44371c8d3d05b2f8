"""The Gaussian process of the tuner with a prior's forecast for its mean: it learns where that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernellab.propose.recipe import Recipe
from kernellab.search.prior.expected import Expected
from kernellab.search.surrogate import Combination, Floats, Surrogate, expected_gain


@dataclass(frozen=True)
class Belief:
    """How far a prior is believed. `spread`: of its errors, in multiples of what it had on unseen graphs; `weight`: trials
    that this counts for; `chance`: trials that its chance to work counts for; `apart`: how much less a combination like
    one of the first is worth, in the same spreads. `authors`: how many of the candidates' first choices come before all
    others, the best expected first; `first`: how many come before trials are asked."""

    spread: float = 1.0
    weight: float = 4.0
    chance: float = 1.0
    apart: float = 1.0
    authors: int = 2
    first: int = 4


class PriorSurrogate(Surrogate):
    def __init__(self, recipes: Sequence[Recipe], expected: Expected, belief: Belief) -> None:
        self._expected, self._belief = expected, belief
        self._spread = max(1e-3, expected.spread * belief.spread)
        self._speeds, self._odds = np.zeros(0), np.zeros(0)
        self._forecast: dict[Combination, float] = {}
        super().__init__(recipes)

    def consider(self, combinations: Sequence[Combination]) -> None:
        if not combinations:
            return
        speeds, odds = self._expected.of(combinations)
        self._speeds, self._odds = np.append(self._speeds, speeds), np.append(self._odds, odds)
        self._forecast |= dict(zip(combinations, speeds.tolist(), strict=True))
        super().consider(combinations)

    def learn(self, combination: Combination, value: float | None) -> None:
        if combination not in self._forecast:
            self._forecast[combination] = float(self._expected.of([combination])[0][0])
        super().learn(combination, value)

    def leading(self) -> list[Combination]:
        """The first to try: authors' first choices, then those that are worth most without being like what stands there."""
        worth = self._speeds + np.log(np.maximum(self._odds, 1e-3))
        authors = np.array([not any(picks) for _, picks in self._pool.points])
        chosen: list[int] = []
        likest = np.zeros(len(worth))
        for number in range(min(self._belief.first, len(worth))):
            left = worth - self._belief.apart * self._spread * likest
            left[chosen] = -np.inf
            if number < self._belief.authors and np.isfinite(left[authors]).any():
                left[~authors] = -np.inf
            chosen.append(int(np.argmax(left)))
            likest = np.maximum(likest, self._pool.alike(self._pool.points[chosen[-1]]))
        return [self._pool.points[i] for i in chosen]

    def _gains(self, pending: Sequence[Combination]) -> Floats:
        if not self._values:
            alone: Floats = np.exp(self._speeds - self._speeds.max(initial=-np.inf))
            return alone
        values = np.array(self._values)
        wrong = values - np.array([self._forecast[c] for c in self._seen.points])
        level, weight = float(wrong.mean()), self._belief.weight
        off = float(((wrong - level) ** 2).sum())
        scale = float(np.sqrt((weight * self._spread**2 + off) / (weight + len(values))))
        weights = self._factor @ ((wrong - level) / scale)
        expected = level + self._speeds + scale * (weights @ self._solved)
        spread = scale * np.sqrt(np.maximum(1e-9, 1 - self._explained(pending)))
        gains: Floats = spread * expected_gain((expected - float(values.max())) / spread)
        return gains

    def _chances(self) -> Floats:
        counts = self._belief.chance
        return (counts * self._odds + self._near_works) / (counts + self._near_tried)
