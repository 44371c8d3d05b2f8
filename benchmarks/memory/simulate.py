"""Does the memory teach? A simulated proposer searches a recorded space, shown contrastive or random exemplars.

    python benchmarks/memory/simulate.py [--seeds 30] [--first-seed 0] [--trials 60] [--shown 4] [--tau 0.1] [--arm NAME ...]
                                         [--space FILE ...]

The proposer stands in for a language model that learns from what it is shown and from nothing else: it knows the names
and choices of the parameters, and has no memory of its own. From every pair of exemplars it infers which values went
with the faster one; a pair that differs in many parameters says little about each of them. It takes an exemplar as the
parent (mostly the fastest shown), applies what it inferred (the surer, the more often), crosses, and else mutates what
nothing is known of. It is the same code in every arm, as are the first trials of a seed; only the exemplars differ. What
was tried before is not proposed again, in any arm.

Figure: the area under the best-so-far curve (0 the space's median speed-up, 1 its best, logarithmic), arm minus
random exemplars, paired by seed, with the 95 % bootstrap interval of the mean difference. Warm start: the same loop
with contrastive exemplars at the adjacent shape, started with the best of this seed's search at the first shape
(warm.warm_start) against started at random.

The selection was developed with seeds from 1000 on; the figure is for seeds 0 to 29, on all recorded spaces.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from space import Point, Space, bootstrap, point, spaces

from kernellab.core.records import Param
from kernellab.search.archive import AnyTrial
from kernellab.search.memory.select import TAU, contrastive_select, effect
from kernellab.search.memory.specimen import Specimen, recall
from kernellab.search.memory.warm import place_of, warm_start

FIRST = 4
Memory = Callable[[Space, list[AnyTrial], int, random.Random], list[Specimen]]


class Proposer:
    """See the module's text. The habits are fixed: how often it takes the fastest shown as the parent, follows a lesson
    that speaks against the parent's value, goes one step further in a lesson's direction, crosses, and starts anew."""

    fastest, follow, further, cross, anew = 0.85, 0.6, 0.3, 0.1, 0.05
    settled = 0.02
    """The credit (a logarithm of speed) at which a lesson is half believed."""

    def __init__(self, space: Space, rng: random.Random) -> None:
        self._space = space
        self._rng = rng

    def propose(self, shown: Sequence[Specimen], tried: set[Point]) -> Point:
        works = [s for s in shown if s.timing is not None]
        for attempt in range(40):
            child = self._child(shown, works, 1 + attempt // 8) if works else self.anything()
            if child not in tried and child in self._space.rows:
                return child
        return self._rng.choice([p for p in self._space.points if p not in tried])

    def anything(self) -> Point:
        return self._rng.choice(self._space.points)

    def _child(self, shown: Sequence[Specimen], works: Sequence[Specimen], restless: int) -> Point:
        rng = self._rng
        if rng.random() < self.anew:
            return self.anything()
        ranked = sorted(works, key=lambda s: -(s.score or 0.0))
        parent = (ranked[0] if rng.random() < self.fastest else rng.choice(ranked)).trial.proposal
        choices = self._space.recipes[parent.name].space
        kin = [s.trial.proposal.params for s in works if s.trial.proposal.name == parent.name]
        votes, trends = lessons([s for s in shown if s.trial.proposal.name == parent.name], choices)
        params = dict(parent.params)
        for key, values in choices.items():
            liked = max(votes[key], key=lambda v: votes[key][v], default=params[key])
            sure = max(0.0, votes[key][liked])
            if rng.random() < self.follow * sure / (sure + self.settled):
                params[key] = liked
            if rng.random() < self.further * abs(trends[key]) / (abs(trends[key]) + self.settled):
                params[key] = _move(values, params[key], 1 if trends[key] > 0 else -1)
            other = rng.choice(kin)[key]
            if votes[key][other] >= 0 and rng.random() < self.cross:
                params[key] = other
        if params == parent.params or restless > 1:
            self._mutate(params, choices, votes, restless)
        return point(parent.name, params)

    def _mutate(
        self,
        params: dict[str, Param],
        choices: dict[str, list[Param]],
        votes: dict[str, dict[Param, float]],
        times: int,
    ) -> None:
        """Where nothing is settled yet, and to values that nothing speaks against."""
        keys = sorted(choices)
        known = [max(votes[k].values(), default=0.0) for k in keys]
        for key in self._rng.choices(keys, [self.settled / (self.settled + max(0.0, v)) for v in known], k=times):
            fair = [v for v in choices[key] if votes[key].get(v, 0.0) >= 0]
            params[key] = self._rng.choice(fair or choices[key])


def lessons(
    shown: Sequence[Specimen], choices: dict[str, list[Param]]
) -> tuple[dict[str, dict[Param, float]], dict[str, float]]:
    """What pairs of one recipe say about each parameter: credit for values, and a trend along numbers.

    The part of a pair's effect that noise does not explain is shared among the parameters that differ, with less trust
    the more of them there are: one lesson of a clean pair outweighs a guess from a muddled one. A failure counts
    against its values as a slow kernel would.
    """
    votes: dict[str, dict[Param, float]] = {k: defaultdict(float) for k in choices}
    trends: dict[str, float] = dict.fromkeys(choices, 0.0)
    for a, b in itertools.combinations(shown, 2):
        fast, slow = (a, b) if (a.score if a.timing else -9.0) >= (b.score if b.timing else -9.0) else (b, a)  # type: ignore[operator]
        if fast.timing is None:
            continue
        one, other = fast.trial.proposal.params, slow.trial.proposal.params
        names = [k for k in choices if one[k] != other[k]]
        sure = effect(fast, slow) if slow.timing else 0.3
        for name in names:
            credit = sure / len(names) ** 2
            votes[name][one[name]] += credit
            votes[name][other[name]] -= credit
            if slow.timing and ordered(choices[name]):
                trends[name] += credit if one[name] > other[name] else -credit  # type: ignore[operator]
    return votes, trends


def ordered(choices: Sequence[Param]) -> bool:
    return len(choices) > 2 and all(isinstance(c, int) and not isinstance(c, bool) for c in choices)


def _move(choices: list[Param], now: Param, way: int) -> Param:
    """The next choice up or down."""
    line = sorted(choices, key=lambda c: (isinstance(c, str), c))
    return line[max(0, min(len(line) - 1, line.index(now) + way))]


def at_random(space: Space, trials: list[AnyTrial], n: int, rng: random.Random) -> list[Specimen]:
    known = recall(trials, space.read)
    return rng.sample(known, min(n, len(known)))


def random_working(space: Space, trials: list[AnyTrial], n: int, rng: random.Random) -> list[Specimen]:
    known = [s for s in recall(trials, space.read) if s.timing is not None]
    return rng.sample(known, min(n, len(known)))


def nothing(space: Space, trials: list[AnyTrial], n: int, rng: random.Random) -> list[Specimen]:
    """No exemplars: the proposer is then a random search."""
    return []


def the_best(space: Space, trials: list[AnyTrial], n: int, rng: random.Random) -> list[Specimen]:
    known = [s for s in recall(trials, space.read) if s.timing is not None]
    return sorted(known, key=lambda s: -(s.score or 0.0))[:n]


def contrastive(scheme: str, tau: float) -> Memory:
    def select(space: Space, trials: list[AnyTrial], n: int, rng: random.Random) -> list[Specimen]:
        found = contrastive_select(trials, n, scheme, tau, rng, space.read)  # type: ignore[arg-type]
        return [e.specimen for e in found]

    return select


def search(
    space: Space, memory: Memory, seed: int, trials: int, shown: int, start: Sequence[Point] = ()
) -> list[Point]:
    """One search: the first trials by `start` and then at random, the rest by the proposer; what it tried, in order."""
    opening, rng = random.Random(seed), random.Random(seed + 1_000_003)
    tried: list[Point] = list(dict.fromkeys(p for p in start if p in space.rows))
    while len(tried) < FIRST:
        candidate = opening.choice(space.points)
        tried += [candidate] if candidate not in tried else []
    records = [space.trial(p, i) for i, p in enumerate(tried)]
    proposer = Proposer(space, rng)
    while len(tried) < min(trials, len(space.points)):
        tried.append(proposer.propose(memory(space, records, shown, rng), set(tried)))
        records.append(space.trial(tried[-1], len(records)))
    return tried


def warmed(near: Space, far: Space, memory: Memory, seed: int, trials: int, shown: int) -> list[Point]:
    """A search at `far` that starts with the best three of this seed's own search at `near`."""
    before = search(near, memory, seed, trials, shown)
    recorded = [near.trial(p, i) for i, p in enumerate(before)]
    wanted = place_of(far.trial(far.points[0], 0))
    start = [point(s.name, s.params) for s in warm_start({"before": recorded}, wanted)]
    return search(far, memory, seed, trials, shown, start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--shown", type=int, default=4)
    parser.add_argument("--tau", type=float, default=TAU)
    parser.add_argument("--space", type=Path, action="append", default=[])
    parser.add_argument("--arm", action="append", default=[], help="only these beside random, and no warm start")
    options = parser.parse_args()
    arms: dict[str, Memory] = {
        "random": at_random,
        "contrastive, buckets": contrastive("bucket", options.tau),
        "contrastive, islands": contrastive("island", options.tau),
        "random of what works": random_working,
        "the best": the_best,
        "none (random search)": nothing,
    }
    arms = {name: memory for name, memory in arms.items() if name in ("random", *(options.arm or arms))}
    print(f"{options.trials} trials, {options.shown} exemplars shown, tau {options.tau}, {options.seeds} seeds")
    every: dict[str, list[list[float]]] = {name: [] for name in arms}
    for near, far in spaces(options.space):
        for space in (near, far):
            print(f"\n{space.label}: {len(space.points)} combinations, {len(space.speedups)} measured, best {space.best:.2f}x,"
                  f" median {space.median:.2f}x")  # fmt: skip
            areas = {name: _areas(space, memory, options) for name, memory in arms.items()}
            for name, found in areas.items():
                every[name].append(found)
                _say(name, found, areas["random"], "random exemplars")
        if options.arm:
            continue
        every.setdefault("cold start", []).append(areas["contrastive, buckets"])
        every.setdefault("warm start", []).append(_warm_areas(near, far, arms["contrastive, buckets"], options))
        print(f"warm start at {far.label} from {near.label}")
        _say("warm start", every["warm start"][-1], every["cold start"][-1], "a cold start")
    print("\nall spaces together (each seed's mean over them)")
    means = {
        name: [math.fsum(column) / len(column) for column in zip(*rows, strict=True)] for name, rows in every.items()
    }
    for name in arms:
        _say(name, means[name], means["random"], "random exemplars")
    if not options.arm:
        _say("warm start", means["warm start"], means["cold start"], "a cold start")


def _warm_areas(near: Space, far: Space, memory: Memory, options: argparse.Namespace) -> list[float]:
    found = [warmed(near, far, memory, seed, options.trials, options.shown) for seed in _seeds(options)]
    return [float(far.progress(tried).mean()) for tried in found]


def _seeds(options: argparse.Namespace) -> range:
    return range(options.first_seed, options.first_seed + options.seeds)


def _areas(space: Space, memory: Memory, options: argparse.Namespace) -> list[float]:
    return [
        float(space.progress(search(space, memory, s, options.trials, options.shown)).mean()) for s in _seeds(options)
    ]


def _say(name: str, found: Sequence[float], against: Sequence[float], what: str) -> None:
    mean, low, high = bootstrap([a - b for a, b in zip(found, against, strict=True)])
    own = math.fsum(found) / len(found)
    verdict = "" if found is against else f"; against {what} {mean:+.4f} [{low:+.4f}, {high:+.4f}]"
    clear = " better" if low > 0 else " worse" if high < 0 else ""
    print(f"  {name:22s} area {own:.3f}{verdict}{clear}")


if __name__ == "__main__":
    main()
