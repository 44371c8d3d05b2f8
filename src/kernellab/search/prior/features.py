"""Features of a candidate with its parameters, for a graph at some sizes on some device; nothing is built or run for them.

A row has a number for each name in `NAMES`; NaN where a name means nothing for it. Parameters that no name here knows are
counted in the generic ones. Whoever changes what a name means raises `VERSION`: a model of another version is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernellab.core.records import Param
from kernellab.lower.facts import StepFacts
from kernellab.lower.tensors import Written
from kernellab.search.prior.rates import Rates
from kernellab.search.prior.step_load import Floats, Sizes, StepLoad, step_load

VERSION = 1
_NUMBERS = ("PARTS", "SPLITS", "BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M", "STAGES", "BLOCK", "LANES", "PIECE", "WARPS",
            "ROWS")  # fmt: skip
_WORDS = {"PRECISION": ("bf16x6", "tf32x3", "ieee", "tf32", "bf16", "f16"), "MATH": ("poly", "libm")}
_FORMS = ("flat", "row", "row_loop", "tile", "tile_loop", "scan", "scan_tile", "product", "product_in_parts", "copy",
          "nest", "lanes", "send")  # fmt: skip
_PLANS = ("split", "packed", "parted")
_LOADS = ("programs", "block", "pieces", "warps", "per_thread", "resident", "waves", "waste", "shared", "seconds")
_TASK = ("bytes", "work", "intensity", "points", "rows", "length", "lanes", "units", "element", "functions", "reductions",
         "guards", "next", "same", "apart", "m", "n", "k", "batch")  # fmt: skip
_WHOLE = ("steps", "all_seconds", "guess", "guess_share", "vector_bytes", "full", "order", "candidates", "at_first",
          "from_first", "other_number", "other_word")  # fmt: skip
NAMES: tuple[str, ...] = (
    *(f"main_{n}" for n in _LOADS), *_TASK, *_WHOLE, *(f"p_{n}" for n in _NUMBERS),
    *(f"p_{n}_{w}" for n, words in _WORDS.items() for w in words), *(f"form_{f}" for f in _FORMS),
    *(f"plan_{p}" for p in _PLANS),
)  # fmt: skip
Picks = Sequence[Mapping[str, Param]]


@dataclass(frozen=True)
class Site:
    """Where candidates are ranked: the sizes, the device, and everything that the generator wrote, in its order."""

    dims: Mapping[str, int]
    rates: Rates
    written: Sequence[Written]
    spaces: Sequence[Mapping[str, Sequence[Param]]]

    def steps(self, number: int, picks: Picks) -> list[StepLoad]:
        """Of a candidate, for each combination of its parameters."""
        sizes = Sizes(self.dims, _numbers(picks), len(picks))
        return [step_load(step, sizes, self.rates) for step in self.written[number].steps]

    @cached_property
    def first(self) -> list[Floats]:
        """The guessed seconds of every candidate's steps at its first choices."""
        firsts = [[{name: choices[0] for name, choices in space.items()}] for space in self.spaces]
        return [np.array([s.seconds[0] for s in self.steps(i, picks)]) for i, picks in enumerate(firsts)]

    @cached_property
    def best_guess(self) -> float:
        return min((float(seconds.sum()) for seconds in self.first if len(seconds)), default=1.0)


def features(site: Site, number: int, picks: Picks) -> Floats:
    """A row a combination of candidate `number`'s parameters, a column a name."""
    written, steps = site.written[number], site.steps(number, picks)
    columns: dict[str, Floats | float] = {}
    if steps:
        main = int(np.argmax(site.first[number]))
        columns |= {f"main_{n}": _log(getattr(steps[main], n)) for n in _LOADS}
        columns |= _of_task(written.steps[main], steps[main], site, picks)
        seconds = np.sum([s.seconds for s in steps], axis=0)
        columns |= {"all_seconds": _log(seconds), "guess": _log(seconds / site.best_guess)}
        columns |= {"guess_share": steps[main].seconds / seconds, "full": steps[main].full}
        columns["vector_bytes"] = np.minimum(16.0, steps[main].per_thread * _element(written.steps[main]))
    columns |= {f"form_{f}": float(any(s.form == f for s in written.steps)) for f in _FORMS}
    columns |= {f"plan_{p}": float(written.form.startswith(p)) for p in _PLANS}
    columns |= {"steps": float(len(steps)), "order": float(number), "candidates": float(len(site.written))}
    columns |= _chosen(site.spaces[number], picks)
    table = np.full((len(picks), len(NAMES)), np.nan)
    for name, values in columns.items():
        table[:, NAMES.index(name)] = values
    return table


def _of_task(step: StepFacts, load: StepLoad, site: Site, picks: Picks) -> dict[str, Floats | float]:
    sizes = Sizes(site.dims, _numbers(picks), len(picks))
    lies = [t.lies for t in step.read]
    found: dict[str, Floats | float] = {
        "bytes": _log(load.bytes), "work": _log(load.work), "intensity": _log(load.work / np.maximum(1.0, load.bytes)),
        "points": _log(sizes.at(step.points)), "rows": _log(sizes.at(step.rows)), "length": _log(sizes.at(step.length)),
        "lanes": _log(sizes.at(step.lanes)), "units": float(site.rates.units), "element": _element(step),
        "functions": float(step.functions), "reductions": float(step.reductions), "guards": float(step.guards),
        **{word: float(lies.count(word)) for word in ("next", "same", "apart")},
    }  # fmt: skip
    if step.product:
        found |= {n: _log(sizes.at(text)) for n, text in zip(("batch", "m", "n", "k"), step.product, strict=True)}
    return found


def _chosen(space: Mapping[str, Sequence[Param]], picks: Picks) -> dict[str, Floats | float]:
    places = np.array([[list(space[k]).index(p[k]) if p.get(k) in space[k] else -1 for k in space] for p in picks])
    places = places.reshape(len(picks), len(space))
    found: dict[str, Floats | float] = {"from_first": places.sum(axis=1).astype(float)}
    found["at_first"] = (places == 0).mean(axis=1) if len(space) else 1.0
    numbers = _numbers(picks)
    found |= {f"p_{n}": _log(numbers[n]) for n in _NUMBERS if n in numbers}
    for name, words in _WORDS.items():
        if name in space:
            found |= {f"p_{name}_{w}": np.array([float(p.get(name) == w) for p in picks]) for w in words}
    others = [_log(v) for n, v in numbers.items() if n not in _NUMBERS]
    found["other_number"] = np.sum(others, axis=0) if others else 0.0
    plain = [i for i, n in enumerate(space) if n not in numbers and n not in _WORDS]
    found["other_word"] = places[:, plain].sum(axis=1).astype(float)
    return found


def _numbers(picks: Picks) -> dict[str, Floats]:
    """The parameters that are numbers in every combination."""
    names = dict.fromkeys(name for p in picks for name in p)
    plain = [n for n in names if all(_is_number(p.get(n)) for p in picks)]
    return {n: np.array([float(p[n]) for p in picks]) for n in plain}


def _is_number(value: Param | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _element(step: StepFacts) -> float:
    return float(min((t.bytes for t in (*step.read, *step.written)), default=4))


def _log(values: Floats) -> Floats:
    found: Floats = np.log2(np.maximum(np.asarray(values, float), 1e-12))
    return found
