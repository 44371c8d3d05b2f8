"""Recorded spaces that nobody recorded: real graphs and generated candidates, with speeds that a test plants."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from tests.unit.lower.graphs import record_of

from kernellab.build.base import Candidate
from kernellab.core.records import Param
from kernellab.learn.prior.boost import Boosting
from kernellab.learn.prior.spaces import RecordedSpace, Tried
from kernellab.learn.prior.train import Training
from kernellab.lower.candidates import written
from kernellab.propose.recipe import Recipe, space_in
from kernellab.search.prior.features import Site
from kernellab.search.prior.rates import rates_of

H200 = "NVIDIA H200 (sm_90a, 132 SMs)"
QUICK = Training(boosting=Boosting(trees=40, depth=3, bags=2))
Speed = Callable[[str, Mapping[str, Param]], float | None]


def site_of(name: str, language: str = "triton", times: int = 64, device: str = H200) -> Site:
    record = record_of(name)
    sizes = {s.name: s.example * times for s in record.symbols}
    found = written(record, language, sizes)
    return Site(sizes, rates_of(device), found, [space_in(w.text) for w in found])


def recipes_of(site: Site) -> list[Recipe]:
    return [Recipe(Candidate(w.text, w.name), dict(s), w.form) for w, s in zip(site.written, site.spaces, strict=True)]


def every(space: Mapping[str, object], step: int = 1, stop: int | None = None) -> list[dict[str, Param]]:
    """Its combinations, or one in `step` of the first `stop`: a space may have hundreds of thousands."""
    picked = itertools.islice(itertools.product(*space.values()), 0, stop, step)  # type: ignore[call-overload]
    return [dict(zip(space, picks, strict=True)) for picks in picked]


def planted(name: str, speed: Speed, structure: str = "") -> RecordedSpace:
    """Every combination of the graph's candidates, as fast as `speed` says of its form and parameters."""
    site = site_of(name)
    tried = [
        Tried(number, params, speed(found.form, params))
        for number, found in enumerate(site.written)
        for params in every(site.spaces[number])
    ]
    return RecordedSpace(name, structure or name, dict(site.dims), "cuda", site, tuple(tried), f"run of {name}")


def eight_warps(form: str, params: Mapping[str, Param]) -> float | None:
    """Eight warps are fast; blocks of 4096 do not build; loops over rows are slower."""
    if params.get("BLOCK") == 4096:
        return None
    return (3.0 if params.get("WARPS") == 8 else 1.0) * (0.7 if "loop" in form else 1.0)
