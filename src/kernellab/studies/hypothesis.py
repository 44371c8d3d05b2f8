"""A hypothesis: what is claimed, of which population, and by which rule it stands or falls. Written before any trial.

One rule for all: a part is confirmed when its whole interval lies on the predicted side of the bound, rejected when the
whole interval lies on the other side, inconclusive between, or with fewer values than the sample size asks for. The
hypothesis is confirmed when every part that can be tested here is, and rejected when one of them is.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from kernellab.core.ids import digest
from kernellab.core.records import Param
from kernellab.core.settings import DeviceName, EffortName

Words = Annotated[str, Field(min_length=1)]
ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class Options(Strict):
    """Of a statistic."""

    def named(self) -> dict[str, list[Param]]:
        """Parameters of the candidates that must exist, with the choices of theirs that are spoken of."""
        return {}


class Population(Strict):
    """What the claim is about on one kind of device.

    tasks        built-in names, or one task file beside the hypothesis
    dtypes       variants of the built-in tasks; empty: as the names say
    candidates   names of built-in recipes, or candidate files beside the hypothesis; empty: every built-in recipe
    space        choices to which a candidate's parameters are restricted
    vary         a parameter that is tried at all of its choices in every context of the others
    most         combinations (with `vary`: contexts) of a candidate; more are drawn at random by the first seed
    distributions   examine every trial under each of these, one verdict a distribution
    """

    device: DeviceName
    tasks: Annotated[list[Words], Field(min_length=1)]
    shapes: Annotated[list[Words], Field(min_length=1)]
    dtypes: list[Words] = []
    candidates: list[Words] = []
    space: dict[str, Annotated[list[Param], Field(min_length=1)]] = {}
    vary: str = ""
    most: int = Field(24, ge=1, le=10_000)
    distributions: list[Words] = []


class Rule(Strict):
    side: Literal["at-least", "at-most"]
    bound: float

    def words(self, level: float) -> str:
        far, near = ("below", "at or above") if self.side == "at-least" else ("above", "at or below")
        return (
            f"confirmed if the {100 * level:g} % interval lies {near} {self.bound:g}, rejected if it lies {far}, "
            "inconclusive otherwise"
        )


class Part(Strict):
    """One prediction. `where` restricts the evidence to trials with these parameter values; `device`, where given, says
    on which kind of device the prediction is made: recipes of another kind have parameters of their own."""

    name: Words
    device: DeviceName | None = None
    prediction: Words
    statistic: Words
    options: dict[str, Any] = {}
    where: dict[str, Param] = {}
    rule: Rule


class Hypothesis(Strict):
    """`sample`: the least number of values behind an interval. `seeds`: one whole replicate of the experiment each."""

    id: Annotated[str, Field(pattern=f"^{ID.pattern}$")]
    title: Words
    claim: Words
    why: str = ""
    level: float = Field(0.95, gt=0.5, lt=1)
    sample: int = Field(ge=1)
    seeds: Annotated[list[int], Field(min_length=1)]
    effort: EffortName = "quick"
    torch: bool = False
    population: Annotated[list[Population], Field(min_length=1)]
    part: Annotated[list[Part], Field(min_length=1)]

    @model_validator(mode="after")
    def _sound(self) -> Hypothesis:
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError("a seed comes twice: it would repeat a replicate, not add one")
        for device in {p.device for p in self.population}:
            names = [p.name for p in self.parts(device)]
            if not names or len(set(names)) != len(names):
                raise ValueError(f"the population on '{device}' needs a part, and no two of the same name")
        return self

    @property
    def digest(self) -> str:
        """Of what the file says, not of how it is written: comments and layout do not count."""
        return digest(self.content())

    def content(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def on(self, device: str) -> list[Population]:
        return [p for p in self.population if p.device == device]

    def parts(self, device: str) -> list[Part]:
        """The predictions for this kind of device; the claim rests on the first."""
        return [p for p in self.part if p.device in (None, device)]


def difference(registered: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """Where two hypotheses differ, one line a place."""
    return [f"{place}: registered {old!r}, now {new!r}" for place, old, new in changes(registered, given)]


def changes(first: dict[str, Any], second: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Every place at which two bodies differ, with what stands there in either ('nothing' for nothing)."""
    old, new = dict(_leaves(first)), dict(_leaves(second))
    places = sorted({*old, *new})
    return [(p, old.get(p, "nothing"), new.get(p, "nothing")) for p in places if old.get(p) != new.get(p)]


def _leaves(value: Any, place: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [leaf for k, v in value.items() for leaf in _leaves(v, f"{place}.{k}" if place else str(k))]
    if isinstance(value, list) and any(isinstance(v, dict) for v in value):
        return [leaf for n, v in enumerate(value) for leaf in _leaves(v, f"{place}[{n}]")]
    return [(place, value)]
