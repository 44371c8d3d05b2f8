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
    """How far a prior is believed; chosen on recorded spaces (benchmarks/learn/prior.py --choose).

    `spread`: of its errors, in multiples of what it had on unseen graphs; `weight`: trials that this counts for; `chance`:
    trials that its chance to work counts for. `slope`: how far the size of its differences may be from what trials show, as
    a share (0: not at all); `fades`: after so many trials half of the differences are left. `first`: how many come before
    trials have a say, of which so many are `authors`, candidates at their first choices; `apart`: how much less one that is
    like another of them is worth, in spreads.
    """

    spread: float = 1.0
    weight: float = 4.0
    chance: float = 1.0
    apart: float = 1.0
    slope: float = 0.5
    fades: float = 10.0
    authors: int = 2
    first: int = 3


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
        values, forecast = np.array(self._values), np.array([self._forecast[c] for c in self._seen.points])
        slope = self._slope(values, forecast)
        wrong = values - slope * forecast
        level = float(wrong.mean())
        scale = self._scale(wrong - level)
        weights = self._factor @ ((wrong - level) / scale)
        expected = level + slope * self._speeds + scale * (weights @ self._solved)
        spread = scale * np.sqrt(np.maximum(1e-9, 1 - self._explained(pending)))
        gains: Floats = spread * expected_gain((expected - float(values.max())) / spread)
        return gains

    def _slope(self, values: Floats, forecast: Floats) -> float:
        """How much of the forecast's differences the trials show: 1 before any, 0 where they show nothing of them."""
        if not self._belief.slope:
            return 1.0
        steep, seen = (self._factor @ (v - v.mean()) for v in (forecast, values))
        noise = (self._scale((values - values.mean()) - (forecast - forecast.mean())) / self._belief.slope) ** 2
        found = (float(steep @ seen) + noise) / (float(steep @ steep) + noise)
        fades = self._belief.fades
        return min(1.5, max(0.0, found)) * (fades / (fades + len(values)) if fades else 1.0)

    def _scale(self, wrong: Floats) -> float:
        weight = self._belief.weight
        return float(np.sqrt((weight * self._spread**2 + float(wrong @ wrong)) / (weight + len(wrong))))

    def _chances(self) -> Floats:
        counts = self._belief.chance
        return (counts * self._odds + self._near_works) / (counts + self._near_tried)
