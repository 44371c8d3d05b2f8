"""Two trials side by side: what differs in code, parameters and resources, and what that did to the time.

The interval of the ratio is exact like the bench's own (measurement/stats.py): the bootstrap distribution of each median is
known in closed form over the sorted pairs, and that of their ratio is the product of the two. No seed, no resampling.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from kernellab.core.records import FailedTrial, Param
from kernellab.measurement.stats import LEVEL, Estimate, median
from kernellab.search.memory.likeness import changed, distance
from kernellab.search.memory.specimen import Specimen

TOKENS = 600
_CHARACTERS_A_TOKEN = 3
"""Code is denser in tokens than prose; three characters a token errs on the safe side."""


@dataclass(frozen=True)
class Contrast:
    """`ratio`: how many times faster `a` is than `b`; None unless both were timed against the same baseline."""

    a: Specimen
    b: Specimen
    ratio: Estimate | None
    params: dict[str, tuple[Param | None, Param | None]]
    resources: dict[str, tuple[int, int]]
    diff: str
    distance: float

    def text(self, tokens: int = TOKENS) -> str:
        """For a prompt: the facts first, the diff as far as it fits. Tokens are estimated, not counted."""
        room = max(0, tokens) * _CHARACTERS_A_TOKEN
        lines = [self._verdict()]
        if self.params:
            lines.append(
                "parameters (A | B): " + ", ".join(f"{k} {_say(x)} | {_say(y)}" for k, (x, y) in self.params.items())
            )
        if self.resources:
            lines.append("resources (A | B): " + ", ".join(f"{k} {x} | {y}" for k, (x, y) in self.resources.items()))
        lines.append("code: the same" if not self.diff else "code, from B to A:")
        facts = _cut("\n".join(lines), room)
        left = room - len(facts) - 1
        return facts if not self.diff or left < 40 else f"{facts}\n{_cut(self.diff, left)}"

    def _verdict(self) -> str:
        a, b = f"A (trial {self.a.number})", f"B (trial {self.b.number})"
        failed = [f"{name} failed: {s.reason}" for name, s in ((a, self.a), (b, self.b)) if s.timing is None]
        if failed:
            timed = [f"{n} reached {_figure(s)}" for n, s in ((a, self.a), (b, self.b)) if s.timing is not None]
            return "; ".join([*failed, *timed])
        both = f"{a} reached {_figure(self.a)}, {b} {_figure(self.b)}"
        if self.ratio is None:
            return f"{both}; not comparable: another task, shape, device or baseline"
        word = "faster" if self.ratio.low > 1 else "slower" if self.ratio.high < 1 else "not clearly different"
        return f"{both}; A/B {self.ratio.value:.3f} [{self.ratio.low:.3f}, {self.ratio.high:.3f}]: A is {word}"


def contrast(a: Specimen, b: Specimen) -> Contrast:
    same = a.trial.proposal.source == b.trial.proposal.source
    return Contrast(
        a=a,
        b=b,
        ratio=ratio(a, b),
        params=changed(a.trial.proposal.params, b.trial.proposal.params),
        resources=_resource_changes(a, b),
        diff="" if same else _diff(b, a),
        distance=distance(a, b),
    )


def ratio(a: Specimen, b: Specimen) -> Estimate | None:
    """Speed-up of a over that of b, each the median of its pairs against the common baseline."""
    if a.timing is None or b.timing is None or a.arena != b.arena:
        return None
    first, second = (
        np.sort([y / x for x, y in zip(t.candidate_s, t.baseline_s, strict=True)]) for t in (a.timing, b.timing)
    )
    ratios = (first[:, None] / second[None, :]).ravel()
    weights = np.outer(median_weights(len(first)), median_weights(len(second))).ravel()
    order = np.argsort(ratios, kind="stable")
    reached = np.cumsum(weights[order])
    tail = (1 - LEVEL) / 2
    low, high = (int(np.searchsorted(reached, p * reached[-1])) for p in (tail, 1 - tail))
    last = len(ratios) - 1
    value = median(first.tolist()) / median(second.tolist())
    ends = float(ratios[order[min(low, last)]]), float(ratios[order[min(high, last)]])
    return Estimate(value, min(ends[0], value), max(ends[1], value), min(len(first), len(second)))


@lru_cache(maxsize=512)
def median_weights(n: int) -> tuple[float, ...]:
    """How likely a resample of n has the k-th smallest value as its (lower) median, for every k."""
    half = n // 2 + n % 2
    below = [_at_least(n, k / n, half) for k in range(n + 1)]
    return tuple(b - a for a, b in pairwise(below))


def _at_least(n: int, p: float, hits: int) -> float:
    if p <= 0 or p >= 1:
        return float(p >= 1)
    log_p, log_q, whole = math.log(p), math.log1p(-p), math.lgamma(n + 1)
    return math.fsum(
        math.exp(whole - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * log_p + (n - i) * log_q)
        for i in range(hits, n + 1)
    )


def _resource_changes(a: Specimen, b: Specimen) -> dict[str, tuple[int, int]]:
    if isinstance(a.trial, FailedTrial) or isinstance(b.trial, FailedTrial):
        return {}
    one, other = a.trial.artifact.resources, b.trial.artifact.resources
    return {k: (one[k], other[k]) for k in sorted({*one} & {*other}) if one[k] != other[k]}


def _diff(old: Specimen, new: Specimen) -> str:
    if not old.source or not new.source:
        return "(the source of one of them is not at hand)"
    before, after = (f"trial-{s.number}/{s.trial.proposal.name}" for s in (old, new))
    lines = difflib.unified_diff(old.source.splitlines(), new.source.splitlines(), before, after, n=1, lineterm="")
    return "\n".join(lines)


def _figure(specimen: Specimen) -> str:
    assert specimen.timing is not None
    timing = specimen.timing
    return f"{timing.speedup:.3f}x of {timing.baseline} [{timing.speedup_low:.3f}, {timing.speedup_high:.3f}]"


def _say(value: Param | None) -> str:
    return "-" if value is None else str(value)


def _cut(text: str, room: int) -> str:
    mark = "\n... (cut)"
    if len(text) <= room:
        return text
    return text[: max(0, room - len(mark))] + mark if room > len(mark) else text[:room]
