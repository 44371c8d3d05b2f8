"""Contrastive selection: exemplars of clearly different speed and little difference in code, so that the cause shows.

`bucket`: the fastest is always shown. The other exemplars come from buckets drawn by softmax over their scores, none twice
before every other has had its turn (failures are owed none: they come by their low score); then, from the fastest drawn to
the slowest, a member is drawn out of each by the contrast that it makes with those before. `island`: the same inside one
island (its residents and guests), drawn at random, so that families of kernels are developed apart; the other islands
fill up.

tau is the temperature of the draws, in shares of the range from slowest to fastest bucket: 0 is greedy (best bucket
first, best contrast inside), infinity is uniform over buckets. Only `rng` decides, so a seed repeats the choice.

What benchmarks/memory/simulate.py says: the fastest always in and failures only where little else is known are what helps;
remembering what was shown before, preferring lessons that the fastest does not follow yet or that all trials together bear
out, and temperatures from 0.03 to 0.1 made no difference that could be measured.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernellab.search.archive import AnyTrial
from kernellab.search.memory.buckets import Bucket, buckets
from kernellab.search.memory.islands import Islands
from kernellab.search.memory.likeness import changed, distance
from kernellab.search.memory.specimen import Reader, Specimen, no_text, recall

Scheme = Literal["bucket", "island"]
TAU = 0.1
_LOOSER = 3.0
"""Contrasts lie closer together than buckets, and are less sure: they are drawn at this many times tau."""
_FAILED = -0.5
"""The score of the failures' bucket, where the slowest measured one has 0 and the fastest 1."""
_NEAR = 0.1
"""The distance at which a pair is worth half of what it would be worth as twins: about one parameter of four by a step."""
_PLAIN = 0.05
"""The certain effect (a logarithm) at which a pair is worth half of a huge one: a change is plain or it is not, and how
large it is matters little, else unrelated kernels of very different speed would always win."""


@dataclass(frozen=True)
class Exemplar:
    """A chosen trial: its bucket (0 the fastest), its island under that scheme, and why it is shown.

    `beside` is the trial chosen before that it is best read against; None for the first.
    """

    specimen: Specimen
    bucket: int
    island: int | None
    beside: Specimen | None
    why: str


def contrastive_select(
    trials: Sequence[AnyTrial],
    n: int,
    scheme: Scheme = "bucket",
    tau: float = TAU,
    rng: random.Random | None = None,
    read: Reader = no_text,
    islands: Islands | None = None,
    failures: bool = True,
) -> list[Exemplar]:
    """At most `n` exemplars out of the trials of one ledger, in the order of choice.

    Trials of the last trial's task, shape and device only: other speed-ups do not compare. `islands` saves rebuilding
    them; `failures` lets what did not build or verify be shown, with its reason.
    """
    if n < 0 or math.isnan(tau) or tau < 0:
        raise ValueError(f"cannot choose {n} exemplars at tau={tau}: give n >= 0 and tau >= 0")
    dice = rng or random.Random(0)
    known = recall(trials, read)
    here = [s for s in known if s.arena[:3] == known[-1].arena[:3] and (failures or s.timing is not None)]
    if scheme == "bucket":
        return choose(here, n, tau, dice)
    return _from_islands(here, n, tau, dice, islands or Islands.rebuild(known))


def choose(
    specimens: Sequence[Specimen], n: int, tau: float, rng: random.Random, chosen: Sequence[Exemplar] = ()
) -> list[Exemplar]:
    """The bucket scheme over specimens of one arena, going on from what is `chosen` already."""
    taken = {e.specimen.number for e in chosen}
    found = buckets(specimens)
    left = [[s for s in b.members if s.number not in taken] for b in found]
    picked = list(chosen)
    if n and not picked and left and found[0].score is not None:
        picked.append(Exemplar(left[0].pop(0), 0, None, None, _why(found[0].leader, None)))
        n -= 1
    for rank in _draw_ranks(found, left, bool(picked) and not chosen, n, tau, rng):
        picked.append(_pick(left[rank], rank, picked, tau, rng))
        left[rank].remove(picked[-1].specimen)
    return picked[len(chosen) :]


def _draw_ranks(
    found: Sequence[Bucket], members: Sequence[Sequence[Specimen]], led: bool, n: int, tau: float, rng: random.Random
) -> list[int]:
    """Which buckets n exemplars come from: none twice before every other has had its turn; fastest first, since the
    others are then chosen for what they say about the fastest. `led`: the first bucket has had its first turn."""
    utility, left = _utilities(found), [len(m) for m in members]
    ranks: list[int] = []
    turn: list[int] = []
    open_now = [i for i, size in enumerate(left) if size and not (led and i == 0)]
    while len(ranks) + len(turn) < n and any(left):
        if all(found[i].score is None for i in open_now):
            ranks, turn = ranks + sorted(turn), []
            open_now = [i for i, size in enumerate(left) if size]
        rank = open_now.pop(draw([utility[i] for i in open_now], tau, rng))
        left[rank] -= 1
        turn.append(rank)
    return ranks + sorted(turn)


def softmax(utility: Sequence[float], tau: float) -> list[float]:
    """exp(u / tau), normalised; all on the first of the largest at tau = 0, even at infinity."""
    best = max(utility)
    if tau == 0:
        first = list(utility).index(best)
        return [float(i == first) for i in range(len(utility))]
    weights = [math.exp((u - best) / tau) for u in utility]
    return [w / math.fsum(weights) for w in weights]


def draw(utility: Sequence[float], tau: float, rng: random.Random) -> int:
    return rng.choices(range(len(utility)), softmax(utility, tau))[0]


def worth(a: Specimen, b: Specimen) -> float:
    """How much a pair teaches, 0 to 1: its nearness in code and parameters times how plain its effect is.

    The certain part comes from the recorded intervals (half widths added in quadrature); contrast() gives the exact
    interval of the few pairs that are shown. A failure next to what works teaches by its nearness alone.
    """
    near = _NEAR / (_NEAR + distance(a, b))
    if a.timing is None or b.timing is None:
        return 0.0 if a.timing is b.timing else near
    if a.arena != b.arena:
        return 0.0
    sure = effect(a, b)
    return near * sure / (sure + _PLAIN)


def effect(a: Specimen, b: Specimen) -> float:
    """The distance of their speed-ups' ratio from 1 that noise does not explain, as a logarithm; 0 if it may."""
    if a.score is None or b.score is None:
        return 0.0
    noise = math.hypot(_half_width(a), _half_width(b))
    return max(0.0, abs(a.score - b.score) - noise)


def _from_islands(here: Sequence[Specimen], n: int, tau: float, rng: random.Random, islands: Islands) -> list[Exemplar]:
    numbers = {s.number for s in here}
    order = [i for i in islands.peopled() if any(s.number in numbers for s in islands.residents(i))]
    rng.shuffle(order)
    picked: list[Exemplar] = []
    for island in order:
        people = {s.number: s for s in (*islands.residents(island), *islands.guests(island)) if s.number in numbers}
        found = choose(list(people.values()), n - len(picked), tau, rng, picked)
        picked += [Exemplar(e.specimen, e.bucket, island, e.beside, e.why) for e in found]
    return picked


def _utilities(found: Sequence[Bucket]) -> list[float]:
    scores = [b.score for b in found if b.score is not None]
    span = max(scores) - min(scores) if scores else 0.0
    return [_FAILED if b.score is None else (b.score - min(scores)) / span if span else 1.0 for b in found]


def _pick(
    members: Sequence[Specimen], rank: int, before: Sequence[Exemplar], tau: float, rng: random.Random
) -> Exemplar:
    """By the best contrast with those before. What a contrast says about parameters that an earlier one has spoken of
    counts less: four exemplars shall give three lessons."""
    timed = [e.specimen for e in before if e.specimen.timing is not None]
    if not timed:
        specimen = members[draw([0.0] * len(members), tau, rng)]
        return Exemplar(specimen, rank, None, None, _why(specimen, None))
    told = {name for e in before if e.beside is not None for name in _subjects(e.specimen, e.beside)}
    pairs = [max((worth(m, s) * _news(_subjects(m, s), told), -i) for i, s in enumerate(timed)) for m in members]
    at = draw([value for value, _ in pairs], _LOOSER * tau, rng)
    beside = timed[-pairs[at][1]]
    return Exemplar(members[at], rank, None, beside, _why(members[at], beside))


def _subjects(a: Specimen, b: Specimen) -> set[str]:
    """What a contrast speaks of: the parameters that differ, and the code where that does."""
    one, other = a.trial.proposal, b.trial.proposal
    return {*changed(one.params, other.params), *(() if one.source == other.source else (f"code {other.source}",))}


def _news(subjects: set[str], told: set[str]) -> float:
    """1 when nothing was told before, a quarter when all was."""
    return 0.25 + 0.75 * len(subjects - told) / len(subjects) if subjects else 0.25


def _why(specimen: Specimen, beside: Specimen | None) -> str:
    if beside is None:
        return "a starting point" if specimen.timing else f"failed: {specimen.reason}"
    names = list(changed(specimen.trial.proposal.params, beside.trial.proposal.params))
    same = specimen.trial.proposal.source == beside.trial.proposal.source
    what = " and ".join([*([] if same else ["code"]), *([", ".join(names)] if names else [])]) or "nothing"
    what += " only" if same and names else ""
    if specimen.timing is None:
        return f"differs from trial {beside.number} in {what}, and failed: {specimen.reason}"
    sure = "clearly" if effect(specimen, beside) > 0 else "not clearly"
    word = "faster" if (specimen.score or 0) > (beside.score or 0) else "slower"
    return f"differs from trial {beside.number} in {what}, and is {sure} {word}"


def _half_width(specimen: Specimen) -> float:
    low, high = specimen.spread
    return (high - low) / 2
