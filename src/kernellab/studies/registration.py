"""What a study writes down before its first trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, TypeAdapter

from kernellab.core.records import Param
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.records import EntryRecord
from kernellab.studies.hypothesis import Hypothesis

Spaces = Mapping[str, Mapping[str, Sequence[Param]]]
"""For each candidate the choices of its parameters."""


class OtherRun(EntryRecord):
    """A run of another device that a study compares with: its name, root and device."""

    run: str
    root: str
    device: str


class Registration(EntryRecord):
    """Readable by itself: the whole hypothesis with its digest, and what follows from it.

    `candidates`: sources by name. `loans`: how many trials of the other runs follow as "borrowed" entries. `spaces`: the
    choices of every candidate as [parameter, choices], in their order, which decides what a sample of them is; None in
    records from before they were written down. `earlier`: studies with this id that the same key had registered before.
    """

    id: str
    title: str
    claim: str
    statistic: str
    prediction: str
    rule: str
    n: int
    level: float
    seeds: list[int]
    device: str
    candidates: dict[str, str]
    others: list[OtherRun]
    loans: int
    digest: str
    hypothesis: dict[str, Any]
    spaces: dict[str, list[list[Any]]] | None = None
    earlier: list[str] = Field(default_factory=list)

    @property
    def choices(self) -> Spaces | None:
        return None if self.spaces is None else {name: dict(space) for name, space in self.spaces.items()}


STUDY = EntryKind("study", TypeAdapter(Registration))


def registration(
    hypothesis: Hypothesis, device: str, candidates: Mapping[str, str], others: Sequence[OtherRun], loans: int,
    spaces: Spaces | None, earlier: Sequence[str] = (),
) -> Registration:  # fmt: skip
    """What a hypothesis is registered as."""
    first = hypothesis.parts(device)[0]
    given: dict[str, Any] = {"earlier": list(earlier)} if earlier else {}
    if spaces is not None:
        given["spaces"] = {k: [[p, list(c)] for p, c in v.items()] for k, v in spaces.items()}
    return Registration(
        id=hypothesis.id,
        title=hypothesis.title,
        claim=hypothesis.claim,
        statistic=first.statistic,
        prediction=first.prediction,
        rule=first.rule.words(hypothesis.level),
        n=hypothesis.sample,
        level=hypothesis.level,
        seeds=hypothesis.seeds,
        device=device,
        candidates=dict(candidates),
        others=list(others),
        loans=loans,
        digest=hypothesis.digest,
        hypothesis=hypothesis.content(),
        **given,
    )
