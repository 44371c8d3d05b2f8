"""Evidence with known truth: trials whose speed-ups are what a function of their parameters says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

from tests.unit.search.memory.specimens import duplicate, measured

from kernellab.core.records import AnyTrial, Param
from kernellab.studies.evidence import Evidence

Truth = Callable[..., float]


def grid(
    truth: Truth, space: dict[str, Sequence[Param]], seeds: Iterable[int] = (1, 2), shapes: Iterable[int] = (512,),
    **changes: Any,
) -> Evidence:  # fmt: skip
    """Every combination at every shape in every replicate; `truth` gets the parameters and N."""
    trials: list[AnyTrial] = []
    for seed, n in product(seeds, shapes):
        for values in product(*space.values()):
            params = dict(zip(space, values, strict=True))
            speedup = truth(N=n, **params)
            trials.append(measured(len(trials), speedup, params=params, dims={"M": 256, "N": n}, seed=seed, **changes))
    return Evidence(trials)


def idle(
    space: dict[str, Sequence[Param]], real: dict[str, Sequence[Param]] | None = None, shapes: Iterable[int] = (512,)
) -> Evidence:
    """Two replicates in which `space` changes no machine code: each kernel of `real` is measured once in each."""
    trials: list[AnyTrial] = []
    for seed, n in product((1, 2), shapes):
        for kernel in product(*(real or {}).values()):
            first = len(trials)
            for values in product(*space.values()):
                params = {**dict(zip(real or {}, kernel, strict=True)), **dict(zip(space, values, strict=True))}
                common: dict[str, Any] = {"params": params, "dims": {"M": 256, "N": n}, "seed": seed}
                number = len(trials)
                speedup = 1.0 + 0.1 * len(str(kernel))
                trials.append(
                    measured(first, speedup, **common) if number == first else duplicate(number, first, **common)
                )
    return Evidence(trials)
