"""The miner: every factor of a ledger compared by matched pairs; what holds after the correction becomes an insight.

Covered: chance (the correction), selection (widened intervals), single candidates and single combinations at many shapes
posing as a pattern (see pairing), and that a search tries more of what looked good: there, pairs in which the slower was
tried first have to say the same by themselves. The error rate under searches is simulated (docs/studies.md), not proven.
Not covered: whatever else distinguishes candidates of different structure. Hence every insight comes with the study
that tests it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernellab.core.records import Param
from kernellab.ledger.run import Run
from kernellab.measurement.stats import Estimate, estimate
from kernellab.search.memory.specimen import Specimen, reader_of, recall
from kernellab.studies.mine.factors import PARAM, WRITTEN, Factor, comparisons, factors_of
from kernellab.studies.mine.importance import evaluator_name, importances
from kernellab.studies.mine.pairing import Pair, matched
from kernellab.studies.mine.signs import RATE, adjusted, level_after_selection, signed_rank_p, worth_testing
from kernellab.studies.mine.table import Row, rows_of
from kernellab.tasks.spec import dims_label

LEAST_PAIRS = 6
"""With fewer pairs not even unanimous ones could be told from chance (2^-6 < LEVEL_SLOWER_FIRST)."""
LEVEL_SLOWER_FIRST = 0.02
"""At which the pairs with the slower tried first have to say so, alone and uncorrected."""
LEAST_EFFECT = 0.01
"""Smaller effects are not worth a sentence, however sure they are."""


@dataclass(frozen=True)
class Insight:
    """`effect`: how many times faster `faster` is than `slower`, median over n matched pairs, interval at `level`;
    `exact` of these pairs differ in nothing else."""

    factor: Factor
    faster: Param
    slower: Param
    effect: Estimate
    level: float
    p: float
    p_adjusted: float
    trials: tuple[int, ...]
    places: tuple[str, ...]
    exact: int
    importance: float | None
    evaluator: str

    @property
    def claim(self) -> str:
        gain, low, high = (100 * (v - 1) for v in (self.effect.value, self.effect.low, self.effect.high))
        name = f"{self.factor.name} {_say(self.faster)}"
        of = f" in {self.factor.scope}" if self.factor.scope else ""
        return (
            f"{name} is {gain:.1f} % faster than {_say(self.slower)}{of} "
            f"[{low:.1f}, {high:.1f}] ({', '.join(self.places)})"
        )

    @property
    def caveat(self) -> str:
        if self.factor.kind == PARAM:
            others = self.effect.n - self.exact
            also = f" ({others} of {self.effect.n} in one or two others too)" if others else ""
            return f"pairs that differ in this parameter only{also}, as the search happened to try them"
        if self.factor.kind == WRITTEN:
            return "between candidates, which differ in other ways too"
        return "pairs of one candidate that differ in one or two parameters; the structure may be their companion only"

    def data(self) -> dict[str, Any]:
        return {
            "claim": self.claim,
            "factor": {"kind": self.factor.kind, "name": self.factor.name, "scope": self.factor.scope},
            "faster": self.faster,
            "slower": self.slower,
            "effect": {"value": self.effect.value, "low": self.effect.low, "high": self.effect.high,
                       "level": self.level, "unit": "times faster"},
            "n": self.effect.n,
            "exact_pairs": self.exact,
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "importance": self.importance,
            "importance_by": self.evaluator if self.importance is not None else None,
            "trials": list(self.trials),
            "places": list(self.places),
            "caveat": self.caveat,
        }  # fmt: skip


@dataclass(frozen=True)
class Analysis:
    """`tested`: how many claims had enough pairs; `rate`: the share of the insights that may be chance."""

    insights: tuple[Insight, ...]
    rows: int
    tested: int
    rate: float = RATE

    def data(self) -> dict[str, Any]:
        return {
            "kernels": self.rows,
            "tested": self.tested,
            "correction": "Benjamini-Yekutieli (false discovery rate, any dependence)",
            "rate": self.rate,
            "least_pairs": LEAST_PAIRS,
            "insights": [i.data() for i in self.insights],
        }


@dataclass(frozen=True)
class _Test:
    """Of the claim that one level is faster than the other. `alone`: p of the pairs with the slower tried first."""

    factor: Factor
    faster: Param
    slower: Param
    pairs: list[Pair]
    alone: float

    @property
    def gains(self) -> list[float]:
        return [p.gain for p in self.pairs]

    @property
    def p(self) -> float:
        return signed_rank_p(self.gains) if self.alone <= LEVEL_SLOWER_FIRST else 1.0


def mine(specimens: Sequence[Specimen], rate: float = RATE, searched: bool = True) -> Analysis:
    return mine_rows(rows_of(specimens), rate, searched)


def mine_run(folder: Path, rate: float = RATE) -> Analysis:
    run = Run(folder)
    return mine(recall(run.trials, reader_of(run.store)), rate, _searched(run))


def _searched(run: Run) -> bool:
    """Whether what was tried followed from what had come out before; a study's design does not, nor a random sampler."""
    asked = run.start
    drawn = asked.settings.sampled and asked.settings.sampler in ("random", "exhaustive")
    fixed = asked.purpose == "study" or drawn
    return not fixed or any(t.proposal.origin in ("llm", "warm-start") for t in run.trials)


def mine_rows(rows: Sequence[Row], rate: float = RATE, searched: bool = True) -> Analysis:
    """`searched`: what was tried followed from what had come out before."""
    tests = _tests(rows, rate, searched)
    corrected = adjusted([t.p for t in tests])
    chosen = [(t, q) for t, q in zip(tests, corrected, strict=True) if q <= rate]
    level = level_after_selection(len(chosen), len(tests), rate)
    scopes = {t.factor.scope for t, _ in chosen if t.factor.kind == PARAM}
    shares = {scope: importances(rows, scope) for scope in scopes}
    found = [i for t, q in chosen if (i := _insight(t, q, level, rows, shares)) is not None]
    found.sort(key=lambda i: -math.log(i.effect.value))
    return Analysis(tuple(found), len(rows), len(tests), rate)


def _tests(rows: Sequence[Row], rate: float, searched: bool) -> list[_Test]:
    """Every claim, in either direction, for which the ledger has pairs enough to carry it through the correction."""
    claims = [
        test
        for factor in factors_of(rows)
        for one, other in comparisons(factor, rows)
        for faster, slower in ((one, other), (other, one))
        if (test := _test(rows, factor, faster, slower, searched)) is not None
    ]
    least = worth_testing([len(c.pairs) for c in claims], rate)
    return [c for c in claims if len(c.pairs) >= least]


def _test(rows: Sequence[Row], factor: Factor, faster: Param, slower: Param, searched: bool) -> _Test | None:
    """None with too few pairs, or too few of them with the slower first. Candidates are compared whatever their order, and
    so are trials that nobody chose by outcomes."""
    pairs = matched(rows, factor, faster, slower)
    if len(pairs) < LEAST_PAIRS:
        return None
    if factor.kind == WRITTEN or not searched:
        return _Test(factor, faster, slower, pairs, 0.0)
    slower_first = matched(rows, factor, faster, slower, improving=True)
    alone = signed_rank_p([p.gain for p in slower_first])
    return _Test(factor, faster, slower, pairs, alone) if len(slower_first) >= LEAST_PAIRS else None


def _insight(
    test: _Test, p_adjusted: float, level: float, rows: Sequence[Row], shares: Mapping[str, dict[str, float]]
) -> Insight | None:
    """None for what is sure and tiny, or whose interval does not settle the direction."""
    found = estimate(test.gains, level)
    if math.expm1(found.value) < LEAST_EFFECT or found.low <= 0:
        return None
    trials = tuple(sorted({n for p in test.pairs for n in p.trials}))
    effect = Estimate(math.exp(found.value), math.exp(found.low), math.exp(found.high), found.n)
    share = shares.get(test.factor.scope, {}).get(test.factor.name) if test.factor.kind == PARAM else None
    return Insight(test.factor, test.faster, test.slower, effect, level, test.p, p_adjusted, trials,
                   _places(rows, trials), sum(p.exact for p in test.pairs), share, evaluator_name())  # fmt: skip


def _places(rows: Sequence[Row], trials: Sequence[int]) -> tuple[str, ...]:
    wanted = set(trials)
    arenas = dict.fromkeys(r.arena for r in rows if wanted & set(r.trials))
    return tuple(f"{task} {dims_label(dict(dims))}" for task, dims, _, _ in arenas)


def _say(level: Param) -> str:
    return str(level)
