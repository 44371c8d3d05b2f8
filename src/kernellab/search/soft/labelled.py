"""Labelled trials: candidates whose fate is known, as a folder of two JSONL files or from the ledger of any run.

trials.jsonl has a line for each trial with the hash of its source, sources.jsonl a line for each source. The halves of
a split hold whole families, so that mutants of one kernel are never on both sides.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from kernellab.core.errors import UsageError
from kernellab.core.ids import canonical_json, digest, sha256_hex
from kernellab.core.records import Param, Record
from kernellab.core.settings import BackendName
from kernellab.search.soft.fate import Fate, SoftKind

TRIALS, SOURCES = "trials.jsonl", "sources.jsonl"


class Labelled(Record):
    """`source` is a SHA-256. `family` is shared by files made from one another; `operator` is that of a mutant.

    `threads`: how many it was judged with; `wall_s`: what building and judging took.
    """

    source: str
    task: str
    backend: BackendName
    params: dict[str, Param] = Field(default_factory=dict)
    family: str
    origin: str
    operator: str = ""
    what: str = ""
    threads: int = 1
    fate: Fate
    wall_s: float


@dataclass(frozen=True)
class LabelledSet:
    trials: tuple[Labelled, ...]
    sources: Mapping[str, str]

    @property
    def digest(self) -> str:
        return digest([t.model_dump(mode="json") for t in self.trials])

    def text(self, trial: Labelled) -> str:
        return self.sources[trial.source]

    def only(self, trials: Sequence[Labelled]) -> LabelledSet:
        return LabelledSet(tuple(trials), {t.source: self.sources[t.source] for t in trials})

    def answering(self, kind: SoftKind) -> LabelledSet:
        """The trials that give the true answer to a verifier's question."""
        return self.only([t for t in self.trials if t.fate.fails(kind) is not None])


def family_of(origin: str) -> str:
    """Cheats of one trick are alike, and so are the two stencils of one algorithm."""
    name = origin.replace("3x3", "").replace("5x5", "")
    if name.startswith("cheat_"):
        return "_".join(name.split("_")[:2])
    return name


def write_labelled(labelled: LabelledSet, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    used = dict.fromkeys(t.source for t in labelled.trials)
    rows = [t.model_dump(mode="json", exclude_defaults=True) for t in labelled.trials]
    _write(folder / TRIALS, rows)
    _write(folder / SOURCES, [{"sha": sha, "text": labelled.sources[sha]} for sha in used])


def _write(path: Path, rows: Iterable[Any]) -> None:
    path.write_bytes(b"".join(canonical_json(row) + b"\n" for row in rows))


def read_labelled(folder: Path) -> LabelledSet:
    """A folder as `write_labelled` makes it. A source that does not have its hash is refused."""
    trials = tuple(_read(folder / TRIALS, Labelled.model_validate))
    sources = dict(_read(folder / SOURCES, _source))
    for trial in trials:
        if trial.source not in sources:
            raise UsageError(f"{folder / SOURCES} lacks the source {trial.source[:12]}", "make the set again")
    return LabelledSet(trials, sources)


def _source(row: Any) -> tuple[str, str]:
    sha, text = str(row["sha"]), str(row["text"])
    if sha256_hex(text.encode()) != sha:
        raise ValueError(f"the text of {sha[:12]} has another hash")
    return sha, text


def _read(path: Path, make: Any) -> list[Any]:
    found = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as err:
        raise UsageError(
            f"{path} cannot be read: {err.strerror}",
            "give a folder with trials.jsonl and sources.jsonl, or a run folder",
        ) from None
    for number, line in enumerate(lines, 1):
        try:
            found.append(make(json.loads(line)))
        except (ValueError, KeyError, TypeError, ValidationError) as err:
            said = " ".join(str(err).split())[:200]
            raise UsageError(f"{path}, line {number} is not a labelled trial: {said}", "make the set again") from None
    return found


@dataclass(frozen=True)
class Split:
    """Two halves, and the families of each."""

    train: LabelledSet
    test: LabelledSet
    seed: int

    def families(self) -> dict[str, list[str]]:
        return {name: sorted({t.family for t in half.trials}) for name, half in self.halves()}

    def halves(self) -> tuple[tuple[str, LabelledSet], tuple[str, LabelledSet]]:
        return ("train", self.train), ("test", self.test)


def split(labelled: LabelledSet, kind: SoftKind, seed: int, most: int = 0) -> Split:
    """Families dealt out by a seed, the large ones first, each to the half that lacks its trials more.

    `most` trials a half (0: all), as many that fail as pass where there are enough of both.
    """
    usable = labelled.answering(kind)
    rng = random.Random(f"{seed} {kind}")
    members: dict[str, list[Labelled]] = defaultdict(list)
    for trial in usable.trials:
        members[trial.family].append(trial)
    names = sorted(members)
    rng.shuffle(names)
    names.sort(key=lambda n: -len(members[n]))
    sides: tuple[list[Labelled], list[Labelled]] = ([], [])
    for name in names:
        sides[_lacking(sides, members[name], kind)].extend(members[name])
    for side in sides:
        if len({t.fate.fails(kind) for t in side}) < 2:
            raise UsageError(
                f"too few labelled trials for {kind}: each half needs some that fail and some that do not",
                "give a larger set, or another --seed",
            )
    train, test = (usable.only(_balanced(side, kind, most, rng)) for side in sides)
    return Split(train, test, seed)


def _lacking(sides: tuple[list[Labelled], list[Labelled]], members: list[Labelled], kind: SoftKind) -> int:
    """The half that has fewer of what a family mostly is."""
    failing = sum(bool(t.fate.fails(kind)) for t in members) * 2 > len(members)
    counts = [sum(bool(t.fate.fails(kind)) == failing for t in side) for side in sides]
    return int(counts[1] < counts[0])


def _balanced(trials: list[Labelled], kind: SoftKind, most: int, rng: random.Random) -> list[Labelled]:
    if not most or len(trials) <= most:
        return trials
    failing = [t for t in trials if t.fate.fails(kind)]
    passing = [t for t in trials if not t.fate.fails(kind)]
    from_failing = min(len(failing), max(most // 2, most - len(passing)))
    chosen = rng.sample(failing, from_failing) + rng.sample(passing, min(len(passing), most - from_failing))
    return [t for t in trials if t in chosen]
